"""Sequence numbers of the rows that a compaction of a table without a primary key writes.

Such rows do not store a number. The numbers of a file are in its manifest entry alone, and readers order the
files of a bucket by the smallest. Used by `row_files`. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lithify.formats.paimon.model import DataFile


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """The sequence numbers of the rows of one task, counted from 0.

    Attributes:
        first: number of the first row.
        rows: number of rows.
        last: the largest number that may be used; None if every file starts with `first`, as Java numbers
            the files of tables without buckets.
    """

    first: int
    rows: int
    last: int | None = None

    def of(self, start: int, end: int) -> tuple[int, int]:
        """Smallest and largest number of a file with the rows from `start` up to but not including `end`.

        Where concurrent writers have given numbers twice, there are fewer numbers than rows. Then rows share
        numbers, so that the files of the bucket stay in order.
        """
        if self.last is None:
            return self.first, self.first + max(0, end - start - 1)
        return self._of_row(start), self._of_row(max(start, end - 1))

    def _of_row(self, row: int) -> int:
        if self.last is None:
            return self.first
        span = max(1, self.last - self.first + 1)
        return self.first + (row if self.rows <= span else row * span // self.rows)


def unordered(files: Sequence[DataFile]) -> RowNumbers:
    """The numbers for files whose rows have no order: those of a table without buckets, or clustered ones."""
    return RowNumbers(min(file.min_sequence for file in files), sum(file.rows for file in files))


def ordered(files: Sequence[DataFile], following: DataFile | None) -> RowNumbers:
    """The numbers for adjacent files of a bucket, below those of the file that follows."""
    last = max(file.max_sequence for file in files)
    if following is not None:
        last = min(last, following.min_sequence - 1)
    return RowNumbers(files[0].min_sequence, sum(file.rows for file in files), last)
