"""Which of some items belong to each of many rows: items with the row's key, from a certain number on.

Items are sorted by key and number, so those of a row are adjacent: each row has a range of them, found by
binary search. Ranges are expanded to pairs only for rows that somebody asks for, so that many items for many
rows with one key do not multiply. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

import numpy as np

from lithify.columns.column_groups import Flags, Numbers

Side: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class SortedRanges:
    """Items of one kind, and the range of items that belongs to each row.

    Attributes:
        order: the items, sorted.
        starts: for each row, the first of its items in `order`.
        ends: the end of its items.
    """

    order: Numbers
    starts: Numbers
    ends: Numbers

    @property
    def counts(self) -> Numbers:
        """The number of items of each row."""
        return self.ends - self.starts

    def without(self, rows: Flags) -> SortedRanges:
        """The same, with no items for some rows."""
        return SortedRanges(self.order, self.starts, np.where(rows, self.starts, self.ends))

    def sums(self, values: Numbers) -> Numbers:
        """For each row, the sum over its items of a value that each item has."""
        totals = np.concatenate([[0], np.cumsum(values[self.order])])
        return cast(Numbers, totals[self.ends] - totals[self.starts])


@dataclass(frozen=True, slots=True)
class Numbered:
    """Rows or items with a key and a number.

    Attributes:
        keys: a whole number each; rows with the key -1 have no items.
        numbers: what is compared among those of one key.
    """

    keys: Numbers
    numbers: Numbers


def sorted_ranges(items: Numbers, of_items: Numbered, of_rows: Numbered, side: Side) -> SortedRanges:
    """Finds the items of each row.

    Args:
        items: the items.
        of_items: their keys and numbers.
        of_rows: those of the rows.
        side: an item belongs to a row if its number is at least that of the row (`left`), or greater
            (`right`).
    """
    none = np.zeros(len(of_rows.keys), dtype=np.int64)
    if not len(items):
        return SortedRanges(items, none, none)
    distinct = np.unique(of_items.numbers)
    step = len(distinct) + 1
    codes = of_items.keys * step + np.searchsorted(distinct, of_items.numbers)
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    since = of_rows.keys * step + np.searchsorted(distinct, of_rows.numbers, side=side)
    starts = np.searchsorted(codes, since)
    ends = np.searchsorted(codes, (of_rows.keys + 1) * step)
    is_keyed = of_rows.keys >= 0
    return SortedRanges(items[order], np.where(is_keyed, starts, 0), np.where(is_keyed, ends, 0))


def expanded(kinds: Sequence[SortedRanges], rows: Numbers) -> tuple[Numbers, Numbers]:
    """The items of several kinds that some rows have: their number for each row, and the items row by row."""
    counts = np.stack([kind.counts[rows] for kind in kinds], axis=1)
    bases = np.cumsum([0, *(len(kind.order) for kind in kinds)])[:-1]
    starts = np.stack([kind.starts[rows] for kind in kinds], axis=1) + bases
    lengths = counts.ravel()
    before = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(starts.ravel() - before, lengths)
    return counts.sum(axis=1), np.concatenate([kind.order for kind in kinds])[places]
