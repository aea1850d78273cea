"""The records of a round in the order in which Paimon adds them to a merge function.

Made by the merge functions of this package. A *position* is an index in that order, oldest record of a
key first; a *row* is an index in the batch. Each operation is one pass over an array for all keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lithify.columns.order import IntPart, dense_rank
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask


class OrderedRecords:
    """Records ordered by key, then from oldest to newest.

    Attributes:
        rows: the row of each position.
        starts: the position of the oldest record of each key.
        keys: the key number of each position, ascending from 0.
        retracts: mask of the positions whose record retracts its key.
    """

    def __init__(self, groups: Groups) -> None:
        self.rows: IntPart = groups.order
        self.starts: IntPart = groups.starts
        self.keys: IntPart = np.repeat(np.arange(len(groups)), groups.sizes)
        self.retracts: Mask = groups.retracts[self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def positions(self) -> IntPart:
        """Every position."""
        return np.arange(len(self.rows))

    @cached_property
    def ends(self) -> IntPart:
        """The position of the newest record of each key."""
        return np.append(self.starts[1:], len(self.rows)) - 1

    def last(self, chosen: Mask) -> IntPart:
        """The last chosen position of each key, -1 for none; cheap if few are chosen."""
        places = np.flatnonzero(chosen)
        keys = self.keys[places]
        ends = np.concatenate((keys[1:] != keys[:-1], np.ones(min(1, len(keys)), dtype=bool)))
        last = np.full(len(self.starts), -1)
        last[keys[ends]] = places[ends]
        return last

    def first(self, chosen: Mask) -> IntPart:
        """The first chosen position of each key, -1 for none."""
        first = np.minimum.reduceat(np.where(chosen, self.positions, len(self)), self.starts)
        return np.where(first == len(self), -1, first)

    def last_greatest(self, ranks: IntPart, chosen: Mask) -> IntPart:
        """For each key, the last chosen position with the greatest rank, -1 for none."""
        ranks = np.where(chosen, ranks, np.iinfo(np.int64).min)
        greatest = np.maximum.reduceat(ranks, self.starts)
        return self.last(chosen & (ranks == greatest[self.keys]))

    def rows_at(self, positions: IntPart) -> IntPart:
        """The row at each position, -1 for -1."""
        return np.where(positions < 0, -1, self.rows[positions])


@dataclass(frozen=True, slots=True)
class Ranked:
    """The order of a sequence group: an integer for each position, comparable between positions.

    Attributes:
        ranks: larger for newer records of the group.
        present: mask of records with a value in any sequence field; other records do not change the group.
    """

    ranks: IntPart
    present: Mask


def is_behind(ranks: IntPart, chosen: Mask, keys: IntPart) -> Mask:
    """Whether an earlier chosen record of the same key has a greater rank.

    Args:
        ranks: ranks of some records in order.
        chosen: mask of the records that count.
        keys: key number of each record, ascending.
    """
    if not len(ranks):
        return np.zeros(0, dtype=bool)
    ranks = dense_rank(ranks)
    height = int(ranks.max()) + 2
    floors = keys * height
    highest = np.maximum.accumulate(floors + np.where(chosen, ranks + 1, 0))
    before = np.concatenate(([0], highest[:-1]))
    return before > floors + ranks + 1
