"""The merge tree of one bucket: its files as sorted runs, newest first.

Called by every planner of primary-key tables. Follows Paimon's `Levels` and `SortedRun`: a level-0 file is a
run by itself, the files of a higher level form one run together. The position of a run in `Levels.runs`
is its *run number*: lower is newer, and it breaks ties between records that are equal in key and sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from lithify.errors import CorruptTable
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.universal.levels import Levels, SortedRun


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
