"""The records of the keys of a round in the order in which Paimon adds them to a merge function.

Made by the merge functions of this package. A *position* is a place in that order, oldest record of a key
first; a *row* is a place in the batch. Everything here is one pass over an array, whatever the keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lithify.rewriting.groups import Groups
from lithify.rewriting.order import IntPart, dense_rank
from lithify.rewriting.records import Mask


class OrderedRecords:
    """Records by key and age.

    Attributes:
        rows: the row of each position.
        starts: the position of the oldest record of each key.
        keys: the number of the key of each position, rising from 0.
        retracts: whether the record at each position retracts its key.
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
        """The last chosen position of each key, -1 for none; cheap where few are chosen."""
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
        """The last position of each key among the chosen ones with its greatest rank, -1 for none."""
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
        ranks: larger for what is newer in the group.
        present: whether the record has any value in the group's sequence fields; others change nothing in it.
    """

    ranks: IntPart
    present: Mask


def is_behind(ranks: IntPart, chosen: Mask, keys: IntPart) -> Mask:
    """Whether an earlier chosen record of the same key has a greater rank.

    Args:
        ranks: of some records in order.
        chosen: which of them count.
        keys: the number of the key of each, rising.
    """
    if not len(ranks):
        return np.zeros(0, dtype=bool)
    ranks = dense_rank(ranks)
    height = int(ranks.max()) + 2
    floors = keys * height
    highest = np.maximum.accumulate(floors + np.where(chosen, ranks + 1, 0))
    before = np.concatenate(([0], highest[:-1]))
    return before > floors + ranks + 1
