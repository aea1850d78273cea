"""Parses untrusted JSON (snapshots, schemas, tags) within bounds.

Called by code that reads such files. Pure. Refuses values that Python's parser accepts but that cause
failures later: deep nesting, unbounded numbers, lone surrogates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_MOST_DEPTH = 64
"""Maximum nesting depth of values; types of a table's columns rarely reach ten."""


def parse_object(text: str) -> Mapping[str, Any]:
    """Parses a JSON object.

    Args:
        text: its size is limited by the caller.

    Raises:
        ValueError: it is not an object, or one that no writer writes.
    """
    try:
        found = json.loads(text, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004  # of the file, not of an argument
    _check_depth(found)
    try:
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("it has half a character") from error
    return found


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(_MOST_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)  # type: ignore[attr-defined]
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {_MOST_DEPTH} levels")


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")
