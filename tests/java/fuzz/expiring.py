"""Rows of random histories that expire by the time in one of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from java.fuzz.changes import Columns
from java.fuzz.types import Atom

_EXPIRE_TIME, _TIME_FIELD = "record-level.expire-time", "record-level.time-field"
_TIMES = ("INT", "BIGINT", "TIMESTAMP")
_SECONDS = 1_695_000_000
"""The times before about 1973 are due: some of the values that are drawn, whenever a test runs."""


def draw_expiry(random: Random, columns: Columns) -> dict[str, str]:
    """Options by which rows expire, if there is a column with times; it is pinned."""
    times = [
        name for name, kind in columns.now.items() if isinstance(kind, Atom) and kind.name.startswith(_TIMES)
    ]
    if not times:
        return {}
    chosen = random.choice(times)
    columns.pinned.add(chosen)
    return {_EXPIRE_TIME: f"{_SECONDS} s", _TIME_FIELD: chosen}


def expires(options: Mapping[str, str]) -> bool:
    """Whether compactions drop rows that readers still see."""
    return _EXPIRE_TIME in options
