"""Orders of rows by some of their columns, as table options name them.

Read by format adapters, which validate options; `order` and `engine.rewrite` compare values. Imports nothing,
so that looking at a table needs no code that merges or sorts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class SequenceField:
    """A column whose value decides which of two records of a key is newer; null is older than any value."""

    name: str
    ascending: bool = True


class SortStrategy(StrEnum):
    """How rows are ordered by several columns."""

    ORDER = "order"
    ZORDER = "zorder"
    HILBERT = "hilbert"
