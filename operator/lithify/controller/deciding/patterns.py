"""Matches tables with the patterns of discovery. Pure.

Used by `observing.listing` for each name that a catalog lists, and by `pruning`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


def is_wanted(identifier: str, include: Iterable[str], exclude: Iterable[str]) -> bool:
    """Whether patterns of `database.table` include a table; `exclude` wins."""
    if any(fnmatchcase(identifier, pattern) for pattern in exclude):
        return False
    return any(fnmatchcase(identifier, pattern) for pattern in include)
