"""Whether partitions are due for a major compaction, and why: the triggers of the seed.

Called by planners and observers: `fired` for all partitions at once, `verdicts` for those that are shown.
Only changes above the optimized line count. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np

from lithify.amounts import bytes_text, count_of, moment_text, seconds_text
from lithify.columns.column_groups import Flags, Numbers
from lithify.formats.mixed.figures import PartitionFigures
from lithify.formats.mixed.trigger_options import MajorOptions
from lithify.formats.protocol.model import TriggerVerdict

NEVER = np.iinfo(np.int64).max
"""When partitions are due for which time alone does nothing."""


class MajorTrigger(StrEnum):
    """Why a partition is due, the most telling first."""

    DELETE_BYTES = "DeleteBytes"
    DELETE_RATIO = "DeleteRatio"
    SMALL_FILES = "SmallFiles"
    INTERVAL = "Interval"


def fired(figures: PartitionFigures, options: MajorOptions, now_millis: int) -> Mapping[MajorTrigger, Flags]:
    """For which partitions each trigger has fired; triggers that are off are left out.

    Args:
        figures: the figures of the partitions.
        options: from which figures on they are due.
        now_millis: the time, in milliseconds since 1970.
    """
    found: dict[MajorTrigger, Flags] = {}
    if options.delete_bytes is not None:
        found[MajorTrigger.DELETE_BYTES] = figures.delete_bytes >= options.delete_bytes
    if options.delete_ratio is not None:
        found[MajorTrigger.DELETE_RATIO] = _has_many_deletes(figures, options, options.delete_ratio)
    if options.small_files is not None:
        found[MajorTrigger.SMALL_FILES] = _has_small_files(figures, options, options.small_files)
    if options.changes_millis is not None or options.base_millis is not None:
        found[MajorTrigger.INTERVAL] = due_millis(figures, options) <= now_millis
    return found


def are_due(figures: PartitionFigures, options: MajorOptions, now_millis: int) -> Flags:
    """Which partitions are due for any reason; arguments are those of `fired`."""
    flags = fired(figures, options, now_millis).values()
    return np.asarray(np.logical_or.reduce([np.zeros(len(figures), np.bool_), *flags]))


def due_millis(figures: PartitionFigures, options: MajorOptions) -> Numbers:
    """When partitions become due by time alone, in milliseconds since 1970; `NEVER` if they do not."""
    has_changes, has_base_work = figures.change_files > 0, _has_base_work(figures, options)
    found = np.full(len(figures), NEVER)
    for millis, is_asked in ((options.base_millis, has_base_work), (options.changes_millis, has_changes)):
        if millis is not None:
            found = np.where(is_asked, np.minimum(found, figures.since_millis + millis), found)
    return found


def verdicts(
    figures: PartitionFigures, options: MajorOptions, now_millis: int, row: int
) -> list[TriggerVerdict]:
    """The verdict of each trigger on one partition, with the arguments of `fired`."""
    details = {
        MajorTrigger.DELETE_BYTES: _delete_bytes,
        MajorTrigger.DELETE_RATIO: _delete_ratio,
        MajorTrigger.SMALL_FILES: _small_files,
        MajorTrigger.INTERVAL: _interval,
    }
    return [
        TriggerVerdict(trigger, fired=bool(flags[row]), detail=details[trigger](figures, options, row))
        for trigger, flags in fired(figures, options, now_millis).items()
    ]


def _has_many_deletes(figures: PartitionFigures, options: MajorOptions, ratio: float) -> Flags:
    """Few deletes do not count: where there are no base files yet, their share would always be large."""
    deletes, rows = figures.delete_bytes, figures.base_bytes + figures.insert_bytes
    is_enough = deletes >= max(1, options.least_delete_bytes)
    return np.asarray(is_enough & (deletes >= ratio * rows))


def _has_small_files(figures: PartitionFigures, options: MajorOptions, count: int) -> Flags:
    """Base files alone do not count while each may be the only one of its node."""
    small = figures.change_files + figures.small_base_files
    can_be_fewer = (figures.change_files > 0) | (figures.small_base_files > options.nodes)
    return np.asarray(can_be_fewer & (small >= count))


def _has_base_work(figures: PartitionFigures, options: MajorOptions) -> Flags:
    """Whether rewriting the base files alone gains something."""
    work = figures.base_deletes + figures.outside_files
    return np.asarray((figures.small_base_files > options.nodes) | (work > 0))


def _delete_bytes(figures: PartitionFigures, options: MajorOptions, row: int) -> str:
    deletes, limit = int(figures.delete_bytes[row]), options.delete_bytes or 0
    each = bytes_text(limit // options.nodes)
    return (
        f"deletes of {bytes_text(deletes)} to merge, due from {bytes_text(limit)} on, "
        f"{each} for each of {count_of(options.nodes, 'node')}"
    )


def _delete_ratio(figures: PartitionFigures, options: MajorOptions, row: int) -> str:
    deletes, percent = int(figures.delete_bytes[row]), 100 * (options.delete_ratio or 0)
    rows = int(figures.base_bytes[row] + figures.insert_bytes[row])
    share = f"{100 * deletes / rows:.1f} % of {bytes_text(rows)}" if rows else f"{bytes_text(deletes)} of 0 B"
    least = bytes_text(options.least_delete_bytes)
    return f"deletes have {share}, due from {percent:g} % and {least} on"


def _small_files(figures: PartitionFigures, options: MajorOptions, row: int) -> str:
    changes, small = int(figures.change_files[row]), int(figures.small_base_files[row])
    parts = f"{count_of(small, 'base file')} below {bytes_text(options.small_file_size)}"
    if changes:
        parts = f"{count_of(changes, 'change file')} to merge and {parts}"
    return f"{parts}, due from {count_of(options.small_files or 0, 'file')} on"


def _interval(figures: PartitionFigures, options: MajorOptions, row: int) -> str:
    """States when it was optimized, not how long ago, so that the text does not change."""
    if figures.change_files[row]:
        what, millis = "changes are merged", options.changes_millis
    elif _has_base_work(figures, options)[row]:
        what, millis = "base files are rewritten", options.base_millis
    else:
        return "there is nothing to merge or to rewrite"
    when = "not by time alone" if millis is None else f"after {seconds_text(millis // 1000)}"
    return f"optimized or first written {_moment_text(int(figures.since_millis[row]))}; {what} {when}"


def _moment_text(millis: int) -> str:
    """A time; anyone may write such that Python does not have."""
    with suppress(ValueError, OverflowError, OSError):
        if millis > 0:
            return f"at {moment_text(datetime.fromtimestamp(millis // 1000, UTC))}"
    return "at an unknown time"
