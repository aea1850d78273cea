"""The files of one bucket as sorted runs in levels, newest first.

Made by `merge_tree` and `clustering`, which know how rows are sorted. Follows Paimon's `LevelSortedRun`: a
level-0 file is a run by itself, the files of a higher level form one run together. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.formats.paimon.model import DataFile


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files of one level that are one sequence of rows, in its order."""

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
