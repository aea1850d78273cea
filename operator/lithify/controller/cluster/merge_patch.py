"""JSON merge patches (RFC 7386): applying one, and finding the one between two objects.

Called by `folder` and by `reconciling.status`. Pure; neither argument is ever changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ABSENT = object()


def merge(target: object, patch: object) -> Any:
    """The target with the patch merged in. Nulls in the patch remove, lists replace."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, change in patch.items():
        if change is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), change)
    return merged


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest patch that turns the old object into the new one, which has no nulls."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name, _ABSENT)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := difference(before, value):
                patch[name] = inner
        elif type(before) is not type(value) or before != value:
            patch[name] = value
    return patch
