"""The merge tree of one bucket: its files as sorted runs, newest first.

Called by every planner of primary-key tables. Follows Paimon's `Levels` and `SortedRun`: a level-0 file is a
run by itself, the files of a higher level form one run together. The position of a run in `Levels.runs`
is its *run number*: lower is newer, and it breaks ties between records that are equal in key and sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lithify.errors import CorruptTable
from lithify.tables.model import DataFile


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files of one level whose key ranges do not overlap, in key order."""

    level: int
    files: tuple[DataFile, ...]

    @property
    def size(self) -> int:
        """Bytes of the run."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Levels:
    """All sorted runs of a bucket, newest first: the level-0 files, then one run per non-empty level."""

    runs: tuple[SortedRun, ...]
    number_of_levels: int

    @property
    def max_level(self) -> int:
        """The level that a full compaction writes to."""
        return self.number_of_levels - 1

    @property
    def highest_non_empty(self) -> int:
        """The highest level that has files, -1 if there is none."""
        return self.runs[-1].level if self.runs else -1

    @property
    def level0(self) -> tuple[SortedRun, ...]:
        """The runs of level 0."""
        return tuple(run for run in self.runs if run.level == 0)

    @property
    def size(self) -> int:
        """Bytes of all runs."""
        return sum(run.size for run in self.runs)

    def run_numbers(self) -> dict[str, int]:
        """Each file's run number, by file name."""
        return {file.name: number for number, run in enumerate(self.runs) for file in run.files}


def build_levels(files: Iterable[DataFile], num_levels: int) -> Levels:
    """Arranges the live files of a bucket into sorted runs.

    The number of levels grows with the files: a table whose `num-levels` was lowered keeps its old levels.

    Raises:
        CorruptTable: two files of one level above 0 overlap.
    """
    by_level: dict[int, list[DataFile]] = {}
    for file in files:
        by_level.setdefault(file.level, []).append(file)
    runs = _level_zero(by_level.pop(0, []))
    runs.extend(_level_run(level, by_level[level]) for level in sorted(by_level))
    return Levels(tuple(runs), max(num_levels, runs[-1].level + 1 if runs else 0))


def _level_zero(files: Iterable[DataFile]) -> list[SortedRun]:
    """Level-0 runs in Paimon's order (`Levels`): largest last sequence number first."""
    ordered = sorted(
        files, key=lambda file: (-file.max_sequence, file.min_sequence, file.created_millis, file.name)
    )
    return [SortedRun(0, (file,)) for file in ordered]


def _level_run(level: int, files: Sequence[DataFile]) -> SortedRun:
    ordered = sorted(files, key=lambda file: file.min_key)
    for before, after in pairwise(ordered):
        if after.min_key <= before.max_key:
            raise CorruptTable(
                after.name,
                f"its keys overlap those of {before.name} although both are of level {level}; "
                "two writers compacted this bucket without checking each other",
            )
    return SortedRun(level, tuple(ordered))
