"""Why the files of a group are rewritten, with the numbers, as sentences for people.

Called by planners and observers for the groups that are shown. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from lithify.amounts import bytes_text, count_of, moment_text, seconds_text
from lithify.clock import moment_of
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.protocol.model import TriggerVerdict


class RewriteTrigger(StrEnum):
    """Why files are rewritten."""

    DOUBLED_VECTORS = "SeveralVectors"
    DELETED_ROWS = "DeletedRows"
    DELETE_FILES = "DeleteFiles"
    LARGE_VECTORS = "LargeVectors"
    OVERLAP = "Overlap"
    FILE_SIZES = "FileSizes"
    EQUALITY_DELETES = "EqualityDeletes"
    POSITION_FILES = "PositionFiles"
    SHARED_POSITION_FILES = "SharedPositionFiles"
    DEAD_VECTORS = "DeadVectors"
    DANGLING_DELETES = "DanglingDeletes"


MINOR = frozenset(
    {
        RewriteTrigger.EQUALITY_DELETES,
        RewriteTrigger.POSITION_FILES,
        RewriteTrigger.SHARED_POSITION_FILES,
        RewriteTrigger.DEAD_VECTORS,
    }
)
"""The triggers of minor units, which keep data files."""


def verdicts(
    statistics: Mapping[str, Any], options: PlanningOptions, *, is_sorted: bool
) -> list[TriggerVerdict]:
    """The verdict of each trigger on a group, the most telling first.

    Args:
        statistics: a row of `statistics.group_statistics`.
        options: the options of the plan.
        is_sorted: whether the table has a sort order whose first column has bounds.
    """
    found = [_deleted_rows(statistics, options), _file_sizes(statistics, options)]
    if options.delete_file_threshold is not None:
        found.insert(1, _delete_files(statistics, options.delete_file_threshold))
    if options.vector_rows_threshold is not None:
        found.insert(-1, _large_vectors(statistics, options.vector_rows_threshold))
    if options.overlap_threshold is not None and is_sorted:
        found.insert(-1, _overlap(statistics, options.overlap_threshold))
    if statistics["files_doubled"]:
        found.insert(0, _doubled(statistics))
    if statistics["minor_deletes"]:
        found.append(_equality_deletes(statistics, options))
    if statistics["files_many_positions"]:
        found.append(_position_files(statistics, options))
    if statistics["minor_shared"]:
        found.append(_shared_position_files(statistics, options))
    if statistics["files_half_dead"]:
        found.append(_dead_vectors(statistics, options))
    return found


def dangling_verdict(count: int, options: PlanningOptions) -> TriggerVerdict:
    """The verdict on the deletes of a whole table that apply to no data file."""
    limit = options.dangling_deletes
    applies = "applies" if count == 1 else "apply"
    detail = (
        f"{count_of(count, 'delete')} that {applies} to no data file; dropped by any commit, and by one of "
        f"their own from {limit} on"
    )
    return TriggerVerdict(RewriteTrigger.DANGLING_DELETES, fired=count >= limit, detail=detail)


def _doubled(statistics: Mapping[str, Any]) -> TriggerVerdict:
    files = count_of(statistics["files_doubled"], "file")
    detail = f"{files} with several deletion vectors, which readers refuse; their union counts"
    return TriggerVerdict(RewriteTrigger.DOUBLED_VECTORS, fired=True, detail=detail)


def _deleted_rows(statistics: Mapping[str, Any], options: PlanningOptions) -> TriggerVerdict:
    files, rows = statistics["files_many_deleted"], statistics["rows"]
    share = 100 * statistics["deleted_rows"] / rows if rows else 0.0
    limit = 100 * options.delete_ratio_threshold
    detail = f"{count_of(files, 'file')} with {limit:g} % deleted rows or more; {share:.1f} % in the group"
    return TriggerVerdict(RewriteTrigger.DELETED_ROWS, fired=files > 0, detail=detail)


def _delete_files(statistics: Mapping[str, Any], threshold: int) -> TriggerVerdict:
    files = statistics["files_many_deletes"]
    detail = f"{count_of(files, 'file')} with {threshold} delete files or more"
    return TriggerVerdict(RewriteTrigger.DELETE_FILES, fired=files > 0, detail=detail)


def _large_vectors(statistics: Mapping[str, Any], threshold: int) -> TriggerVerdict:
    files = statistics["files_large_vector"]
    detail = f"{count_of(files, 'file')} with a deletion vector of {threshold} rows or more"
    return TriggerVerdict(RewriteTrigger.LARGE_VECTORS, fired=files > 0, detail=detail)


def _overlap(statistics: Mapping[str, Any], threshold: int) -> TriggerVerdict:
    files, depth = statistics["files_crowded"], statistics["depth"]
    detail = f"{count_of(files, 'file')} where {threshold} or more overlap in the sort order's first column"
    if depth is not None:
        detail += f"; {depth:.1f} on average"
    return TriggerVerdict(RewriteTrigger.OVERLAP, fired=files > 1, detail=detail)


def _file_sizes(statistics: Mapping[str, Any], options: PlanningOptions) -> TriggerVerdict:
    """Fires if files are due that no other trigger demands."""
    small, large, due = (statistics[name] for name in ("small_files", "large_files", "files_rewritten"))
    detail = f"{count_of(small, 'file')} below {bytes_text(options.min_size)}"
    if large:
        detail += f", {large} above {bytes_text(options.max_size)}"
    if due:
        detail += f"; {count_of(due, 'file')} to rewrite"
    else:
        detail += f"; rewritten from {options.min_input_files} side by side on, or if they make a whole file"
        if options.small_millis is not None:
            detail += f", or after {seconds_text(options.small_millis // 1000)}"
    return TriggerVerdict(RewriteTrigger.FILE_SIZES, fired=due > 0 and small + large > 0, detail=detail)


def _equality_deletes(statistics: Mapping[str, Any], options: PlanningOptions) -> TriggerVerdict:
    count, oldest, before = statistics["minor_deletes"], statistics["minor_oldest"], options.equality_before
    has_waited = before is not None and oldest <= before
    since = f"of {moment_text(moment_of(oldest))}" if oldest else "older than all snapshots"
    detail = (
        f"{count_of(count, 'equality delete file')} on files that stay, the oldest {since}; "
        f"turned into positions from {options.equality_files} on"
    )
    if options.equality_millis is not None:
        detail += f", or after {seconds_text(options.equality_millis // 1000)}"
    fired = count >= options.equality_files or has_waited
    return TriggerVerdict(RewriteTrigger.EQUALITY_DELETES, fired=fired, detail=detail)


def _position_files(statistics: Mapping[str, Any], options: PlanningOptions) -> TriggerVerdict:
    files = count_of(statistics["files_many_positions"], "file")
    detail = f"{files} with {options.position_files} position delete files or more, which become one each"
    return TriggerVerdict(RewriteTrigger.POSITION_FILES, fired=True, detail=detail)


def _shared_position_files(statistics: Mapping[str, Any], options: PlanningOptions) -> TriggerVerdict:
    count, limit = statistics["minor_shared"], options.shared_files
    detail = (
        f"{count_of(count, 'position delete file')} about several data files that stay; "
        f"become one for each data file from {limit} on"
    )
    return TriggerVerdict(RewriteTrigger.SHARED_POSITION_FILES, fired=count >= limit, detail=detail)


def _dead_vectors(statistics: Mapping[str, Any], options: PlanningOptions) -> TriggerVerdict:
    dead, limit = statistics["dead_bytes"], options.dead_vector_bytes
    detail = (
        f"{count_of(statistics['files_half_dead'], 'file')} with vectors in Puffin files of which less than "
        f"half is live, {bytes_text(dead)} dead; written again from {bytes_text(limit)} on"
    )
    return TriggerVerdict(RewriteTrigger.DEAD_VECTORS, fired=dead >= limit, detail=detail)
