"""The records of whole keys, with the boundaries between keys: the input of a merge function.

Created by `merge` in each round, read by `functions`. Records are not moved; only their positions are
ordered. A function gathers just the columns that it needs, in the order that it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import (
    IntPart,
    Part,
    rank_rows,
    sorted_stably,
)
from lithify.engine.rewrite.records import Mask, RecordLayout


class Groups:
    """Groups of records with equal keys; every group has all records of its key that take part in the pass.

    Attributes:
        rows: the records of the round, in no particular order. Some may be in no group. Texts, binaries and
            lists have 64-bit offsets if the round is very large.
        layout: which columns order them.
        runs: the number of each record's run in the whole unit; the newest run is 0.
        starts: positions in `order` at which groups begin, ascending.

    Args:
        by_key: positions in `rows` ordered by key and, within a key, in the order of `rows`.
        rises: whether `by_key` is the order of records already.
    """

    def __init__(
        self,
        rows: pa.RecordBatch,
        layout: RecordLayout,
        runs: IntPart,
        by_key: IntPart,
        starts: IntPart,
        *,
        rises: bool,
    ) -> None:
        self.rows = rows
        self.layout = layout
        self.runs = runs
        self.starts = starts
        self._by_key = by_key
        self._rises = rises

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> IntPart:
        """Number of records of each group."""
        return np.diff(self.starts, append=len(self._by_key))

    @property
    def ends(self) -> IntPart:
        """Positions in `order` at which groups end."""
        return np.append(self.starts[1:], len(self._by_key))

    @cached_property
    def order(self) -> IntPart:
        """Positions in `rows`, by key, then sequence, then run: the newest record of a group is last."""
        return self._by_key if self._rises else self._sorted(self._by_key, self._ages)

    @cached_property
    def retracts(self) -> Mask:
        """Mask of the rows that retract their key."""
        return self.layout.retracts(self.rows)

    @property
    def members(self) -> IntPart:
        """The position in `rows` of one record of each group: the only one, if there is only one."""
        return self._by_key[self.starts]

    def column(self, name: str) -> pa.Array:
        """The values of a column in `order`."""
        return pc.take(self.rows.column(name), pa.array(self.order), boundscheck=False)

    def newest(self) -> IntPart:
        """The position in `rows` of the newest record of each group. Cheaper than `order`."""
        if self._rises or "order" in self.__dict__:
            return self.order[self.ends - 1]
        ages = self._ages[self._by_key]
        largest = np.repeat(np.maximum.reduceat(ages, self.starts), self.sizes)
        newest: IntPart = self._by_key[ages == largest]
        return newest

    def oldest(self) -> IntPart:
        """The position in `rows` of the oldest record of each group. Cheaper than `order`."""
        if self._rises or "order" in self.__dict__:
            return self.order[self.starts]
        ages = self._ages[self._by_key]
        smallest = np.repeat(np.minimum.reduceat(ages, self.starts), self.sizes)
        oldest: IntPart = self._by_key[ages == smallest]
        return oldest

    def newest_of(self, among: Mask) -> IntPart:
        """The position in `rows` of the newest record of each group for which `among` holds, -1 if none.

        Args:
            among: one value per row of `rows`.
        """
        places = np.where(among[self.order], np.arange(len(self.order)), -1)
        last = np.maximum.reduceat(places, self.starts)
        return np.where(last < 0, -1, self.order[last])

    def order_within(self, parts: Sequence[Part]) -> IntPart:
        """Positions in `rows`, by key, then by `parts` of the rows; rows with equal parts stay in `order`."""
        return self._sorted(self.order, rank_rows(parts))

    def numbers_of(self, positions: IntPart) -> IntPart:
        """The group number of each of these positions in `rows`, -1 for a row that is in no group."""
        numbers = np.full(self.rows.num_rows, -1, dtype=np.int64)
        numbers[self._by_key] = self._numbers
        return numbers[positions]

    def only(self, chosen: Mask) -> Groups:
        """Selects groups; `chosen` has one value per group."""
        sizes = self.sizes[chosen]
        return Groups(
            self.rows,
            self.layout,
            self.runs,
            # NumPy selects by positions several times faster than by a mask that has no pattern.
            self._by_key[np.flatnonzero(np.repeat(chosen, self.sizes))],
            np.cumsum(sizes) - sizes,
            rises=self._rises,
        )

    def among(self, chosen: Mask) -> tuple[Groups, Mask]:
        """Selects records; groups that are left without any are omitted.

        Args:
            chosen: one value per row of `rows`.

        Returns:
            The groups, and a mask of the present groups that are among them.
        """
        is_chosen = chosen[self._by_key]
        counts = np.add.reduceat(is_chosen, self.starts, dtype=np.int64)
        left = counts > 0
        sizes = counts[left]
        by_key = self._by_key[is_chosen]
        starts = np.cumsum(sizes) - sizes
        return Groups(self.rows, self.layout, self.runs, by_key, starts, rises=self._rises), left

    def has_any(self, among: Mask) -> Mask:
        """Mask of the groups with a record for which `among` holds (one value per row of `rows`)."""
        found: Mask = np.logical_or.reduceat(among[self._by_key], self.starts)
        return found

    def spread(self, of_groups: Mask) -> Mask:
        """For each row of `rows`, the value of its group; False for rows in no group."""
        found = np.zeros(self.rows.num_rows, dtype=bool)
        found[self._by_key] = np.repeat(of_groups, self.sizes)
        return found

    @property
    def _numbers(self) -> IntPart:
        """The group number of each record, in key order."""
        return numbers_of_groups(self.starts, len(self._by_key))

    @cached_property
    def _ages(self) -> IntPart:
        """A non-negative number for each row: among the records of a key, the newest has the largest."""
        return rank_rows([*self.layout.sequence_parts(self.rows), self.runs.max() - self.runs])

    def _sorted(self, order: IntPart, ranks: IntPart) -> IntPart:
        return order[sorted_stably(rank_rows([self._numbers, ranks[order]]))[1]]


def numbers_of_groups(starts: IntPart, total: int) -> IntPart:
    """The group number of each of `total` records, given where groups start; none is empty."""
    # Counting the groups that have begun is much faster than repeating each of their numbers.
    numbers = np.zeros(total, dtype=np.int64)
    numbers[starts[1:]] = 1
    return np.cumsum(numbers, out=numbers)
