"""How many files an invented table has, in which buckets, levels and key ranges they lie. Numbers only.

Used by `table`, which writes them down. Most buckets are quiet: one large sorted run at the top level, whose
files have disjoint keys, and fewer level-0 files than the trigger. The others are due: their level-0 files
alone reach the trigger. Files of level 0 span nearly all keys of their bucket, as upserts do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]

TRIGGER = 5
"""Paimon's default of num-sorted-run.compaction-trigger."""
TOP_LEVEL = 5
"""With the default of num-levels."""
KEYS = 1 << 40
"""Key numbers are below this."""
REAL_DAY = "2040-01-01"
"""A partition after all invented ones, for files that there really are."""
_MOST_LEVEL_0 = TRIGGER + 4
_FIRST_DAY = date(2026, 1, 1)
_CHUNK = 20_000
"""Files that are invented at a time."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some files of one partition that came in one commit, an array element a file.

    Attributes:
        day: the partition.
        level: of all of them.
        round: commits before theirs; later ones have larger sequence numbers.
        buckets: bucket numbers.
        low: the smallest key number.
        high: the largest.
    """

    day: str
    level: int
    round: int
    buckets: Numbers
    low: Numbers
    high: Numbers

    def __len__(self) -> int:
        return len(self.buckets)


@dataclass(frozen=True, slots=True)
class Shape:
    """An invented table in numbers.

    Attributes:
        files: live files.
        buckets: of all partitions together; a multiple of `partitions`.
        partitions: days.
        due: share of the buckets that have at least as many level-0 files as the trigger.
        seed: the same seed gives the same files.
    """

    files: int = 1_000_000
    buckets: int = 10_000
    partitions: int = 10
    due: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.buckets % self.partitions:
            raise ValueError(f"{self.buckets} buckets do not divide into {self.partitions} partitions")
        if self.files < self.buckets * (1 + _MOST_LEVEL_0):
            raise ValueError(f"{self.files} files are too few for {self.buckets} buckets")
        if self.days[-1] >= REAL_DAY:
            raise ValueError(f"{self.partitions} partitions are too many")

    @property
    def buckets_per_partition(self) -> int:
        """The table's option `bucket`."""
        return self.buckets // self.partitions

    @property
    def days(self) -> list[str]:
        """The partitions."""
        return [str(_FIRST_DAY + timedelta(days=number)) for number in range(self.partitions)]

    def due_buckets(self) -> NDArray[np.bool_]:
        """Which buckets are due; shape (partitions, buckets of each)."""
        chosen = np.zeros(self.buckets, np.bool_)
        order = np.random.default_rng(self.seed).permutation(self.buckets)
        chosen[order[: round(self.due * self.buckets)]] = True
        return chosen.reshape(self.partitions, -1)

    def level0_files(self) -> Numbers:
        """Level-0 files of each bucket; shape (partitions, buckets of each)."""
        random = np.random.default_rng([self.seed, 1])
        size = (self.partitions, self.buckets_per_partition)
        quiet = random.integers(0, TRIGGER - 1, size)
        due = random.integers(TRIGGER, _MOST_LEVEL_0, size)
        return np.where(self.due_buckets(), due, quiet)

    def top_level_files(self) -> Numbers:
        """Top-level files of each bucket; shape (partitions, buckets of each)."""
        each, more = divmod(self.files - int(self.level0_files().sum()), self.buckets)
        counts = np.full(self.buckets, each, np.int64)
        counts[:more] += 1
        return counts.reshape(self.partitions, -1)

    def old_batches(self) -> Iterator[Batch]:
        """All files but those of the newest commit, in the order in which commits added them."""
        for day, counts in zip(self.days, self.top_level_files(), strict=True):
            yield from self._top_level(day, counts)
        for number in range(int(self.level0_files().max()) - 1):
            yield from self._level0(number)

    def new_batches(self) -> Iterator[Batch]:
        """The files of the newest commit; none where no bucket has a file of level 0."""
        last = int(self.level0_files().max())
        yield from self._level0(last - 1) if last else ()

    def _top_level(self, day: str, counts: Numbers) -> Iterator[Batch]:
        """Runs of disjoint key ranges with gaps between, a file each `step` keys."""
        random = np.random.default_rng([self.seed, 2, self.days.index(day)])
        most = max(1, _CHUNK // int(counts.max()))
        for first in range(0, len(counts), most):
            part = counts[first : first + most]
            buckets = np.repeat(np.arange(first, first + len(part)), part)
            numbers = np.arange(len(buckets)) - np.repeat(np.cumsum(part) - part, part)
            step = np.repeat(KEYS // part, part)
            low = numbers * step + random.integers(0, step // 4)
            high = low + random.integers(step // 4, step // 2)
            yield Batch(day, TOP_LEVEL, 0, buckets, low, high)

    def _level0(self, number: int) -> Iterator[Batch]:
        """A commit that adds a file to every bucket that has more than `number` of level 0."""
        for partition, (day, counts) in enumerate(zip(self.days, self.level0_files(), strict=True)):
            random = np.random.default_rng([self.seed, 3, number, partition])
            (buckets,) = np.nonzero(counts > number)
            low = random.integers(0, KEYS // 10, len(buckets))
            high = KEYS - 1 - random.integers(0, KEYS // 10, len(buckets))
            if len(buckets):
                yield Batch(day, 0, number + 1, buckets, low, high)
