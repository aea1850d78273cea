"""Which partitions of a keyed table are due, from the columns of its files.

Called by planning, inspection and observers, so that all of them agree. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import flagged, integers, with_columns
from lithify.formats.mixed.figures import PartitionFigures
from lithify.formats.mixed.partition_sums import partition_sums
from lithify.formats.mixed.trigger_options import MajorOptions
from lithify.formats.mixed.triggers import NEVER, are_due, due_millis, verdicts
from lithify.formats.protocol.model import TriggerVerdict

FULL = "Full"


@dataclass(frozen=True, slots=True)
class Due:
    """A partition that is due.

    Attributes:
        folder: its folder.
        trigger: the trigger that fired.
        reason: the numbers behind it.
    """

    folder: str
    trigger: str
    reason: str


def judged(files: pa.Table, options: MajorOptions, now_millis: int) -> pa.Table:
    """The figures of each partition and what is due in it.

    Args:
        files: files with the columns of `file_columns.FILES`.
        options: from which figures on partitions are due.
        now_millis: the time, in milliseconds since 1970.

    Returns:
        The columns of `partition_sums`; `due_files` and `full_files`, the files that a minor and a full
        compaction would rewrite, as far as sums tell; `valid_until`, when the partition becomes due by time
        alone, null for never.
    """
    sums = partition_sums(files, options.small_file_size, options.hive_folder)
    figures = figures_of(sums)
    until, is_due = due_millis(figures, options), are_due(figures, options, now_millis)
    changes = integers(sums["change_files"])
    merged = integers(sums["base_files"]) + changes
    small = np.where(changes > 0, integers(sums["small_base_files"]) + changes, merged)
    valid_until = pa.array(until, pa.int64(), mask=is_due | (until == NEVER))
    return with_columns(
        sums,
        due_files=np.where(is_due, small, 0),
        full_files=np.where(_has_work(sums), merged, 0),
        valid_until=valid_until,
    )


def due_partitions(
    files: pa.Table, options: MajorOptions, now_millis: int, *, is_full: bool
) -> Iterator[Due]:
    """The partitions that a run merges, in the order of their folders; arguments are those of `judged`."""
    figures = judged(files, options, now_millis).sort_by("group")
    chosen = integers(figures["full_files" if is_full else "due_files"]) > 0
    for row in flagged(figures, chosen).to_pylist():
        fired = [each for each in verdicts_of(row, options, now_millis) if each.fired]
        if fired:
            yield Due(row["group"], str(fired[0].trigger), fired[0].detail)
        else:
            yield Due(row["group"], FULL, f"{row['base_files']} base files, {row['change_files']} changes")


def verdicts_of(row: Mapping[str, Any], options: MajorOptions, now_millis: int) -> list[TriggerVerdict]:
    """The verdict of each trigger on a partition, given its row of `judged`."""
    one = {name: pa.array([value]) for name, value in row.items() if isinstance(value, int)}
    return verdicts(figures_of(pa.table(one)), options, now_millis, 0)


def figures_of(sums: pa.Table) -> PartitionFigures:
    """The sums of partitions as triggers have them."""
    optimized, first = integers(sums["optimized"]), integers(sums["first_change"])
    return PartitionFigures(
        change_files=integers(sums["change_files"]),
        small_base_files=integers(sums["small_base_files"]),
        base_bytes=integers(sums["base_bytes"]),
        insert_bytes=integers(sums["insert_bytes"]),
        delete_bytes=integers(sums["delete_bytes"]),
        base_deletes=integers(sums["position_files"]),
        outside_files=integers(sums["outside_files"]),
        since_millis=np.where(optimized > 0, optimized, first),
    )


def _has_work(sums: pa.Table) -> np.ndarray:
    """Which partitions have changes, deletes, files that Hive should read, or several base files."""
    work = sum(integers(sums[name]) for name in ("change_files", "position_files", "outside_files"))
    return np.asarray((work > 0) | (integers(sums["base_files"]) > 1))
