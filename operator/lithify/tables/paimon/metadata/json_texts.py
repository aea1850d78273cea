"""JSON that somebody else wrote: snapshots, schemas, tags. Parsed within bounds.

Called by those who read such files. Pure. What Python's parser lets through and others stumble over later is
refused here: deep nesting, numbers without end, halves of characters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_MOST_DEPTH = 64
"""How deep values may nest; types of a table's columns rarely come to ten."""


def parse_object(text: str) -> Mapping[str, Any]:
    """Reads a JSON object.

    Args:
        text: bounded by whoever has read it.

    Raises:
        ValueError: it is none, or one that no writer writes.
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
