"""Why the files of a group are joined, and which: the triggers of packing.

Called by the planners and observers of adapters. Pure: the same files, options and time always give the same
result.

A plan remembers nothing: files that are too few for a bin become due when the newest of them is old enough,
and a full compaction takes them at once. A full compaction also drops all deleted rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from lithify.amounts import bytes_text, count_of, seconds_text, wall_text
from lithify.clock import wall_millis
from lithify.engine.pack.bins import Bin, Packed, has_many_deleted, pack, pack_fully
from lithify.engine.pack.figures import F, Rank
from lithify.engine.pack.options import PackingOptions
from lithify.engine.pack.runs import full_run, minor_runs
from lithify.formats.protocol.model import TriggerVerdict

NOTHING_SMALL = "there are no small files to join"
"""Why a group has no work under `Strategy.FULL`."""

NOTHING_SMALL_OR_DELETED = "there are no small files to join, and no deleted rows to drop"
"""Why a group of a table with deletion vectors has no work under `Strategy.FULL`."""


class PackingTrigger(StrEnum):
    """Why files are joined."""

    SMALL_FILES = "SmallFiles"
    LEFTOVERS = "OldSmallFiles"
    DELETED_ROWS = "DeletedRows"


def full_bins(files: Sequence[F], options: PackingOptions, rank: Rank[F]) -> tuple[Bin[F], ...]:
    """The bins of a full compaction. `rank` counts for ordered groups only."""
    if options.is_ordered:
        run = full_run(files, options, rank)
        return (run,) if run else ()
    return pack_fully(files, options)


def due_bins(
    files: Sequence[F], options: PackingOptions, now: datetime, rank: Rank[F]
) -> tuple[tuple[Bin[F], ...], TriggerVerdict] | None:
    """The bins of a minor compaction and the trigger that fired; None if none has.

    Args:
        files: the files of the group.
        options: the options that steer packing.
        now: an aware time in the table's time zone.
        rank: the order of the files; counts for ordered groups only.
    """
    if options.is_ordered:
        runs = minor_runs(files, options, rank)
        return (runs, _small_files(runs, files, options)) if runs else None
    packed = pack(files, options)
    fired = next((verdict for verdict in _of_packed(files, packed, options, now) if verdict.fired), None)
    return None if fired is None else (packed.bins or (packed.leftovers,), fired)


def verdicts(
    files: Sequence[F], options: PackingOptions, now: datetime, rank: Rank[F]
) -> list[TriggerVerdict]:
    """The verdict of each trigger of a minor compaction, with the arguments of `due_bins`."""
    if options.is_ordered:
        return [_small_files(minor_runs(files, options, rank), files, options)]
    return _of_packed(files, pack(files, options), options, now)


def nothing_to_do(options: PackingOptions) -> str:
    """Why a group has no work under `Strategy.FULL`."""
    return NOTHING_SMALL if options.delete_ratio is None else NOTHING_SMALL_OR_DELETED


def leftovers_due_millis(files: Sequence[F], options: PackingOptions, now: datetime) -> int | None:
    """When a group's leftovers become due, by the writers' wall clock; None if they do not by time alone."""
    if options.is_ordered:
        return None
    packed = pack(files, options)
    return None if packed.bins else packed.leftovers_due_millis(options, wall_millis(now))


def _of_packed(
    files: Sequence[F], packed: Packed[F], options: PackingOptions, now: datetime
) -> list[TriggerVerdict]:
    """The verdict of each trigger on a group without order, the most telling first."""
    deleted = [] if options.delete_ratio is None else [_deleted_rows(packed, options)]
    small = _small_files(packed.small_bins, files, options)
    return [*deleted, small, _leftovers(packed, options, now)]


def _deleted_rows(packed: Packed[F], options: PackingOptions) -> TriggerVerdict:
    """Small files with any deleted rows are rewritten, and large ones with many."""
    files = [file for one in packed.vector_bins for file in one]
    many, percent = sum(has_many_deleted(file, options) for file in files), 100 * (options.delete_ratio or 0)
    detail = f"{count_of(len(files), 'file')} with deleted rows to drop, {many} of them above {percent:g} %"
    if not files:
        detail = f"no file has more than {percent:g} % deleted rows, and no small file has any"
    return TriggerVerdict(PackingTrigger.DELETED_ROWS, fired=bool(files), detail=detail)


def _small_files(bins: tuple[Bin[F], ...], files: Sequence[F], options: PackingOptions) -> TriggerVerdict:
    small = sum(file.size < options.small_file_size for file in files)
    joined = sum(map(len, bins))
    detail = f"{count_of(small, 'file')} below {bytes_text(options.small_file_size)}"
    if bins:
        detail += f"; {joined} files can be joined"
    elif options.is_ordered:
        detail += f", joined from {max(2, options.min_files)} side by side on"
    else:
        detail += f", joined from {max(2, options.min_files)} on"
    return TriggerVerdict(PackingTrigger.SMALL_FILES, fired=bool(bins), detail=detail)


def _leftovers(packed: Packed[F], options: PackingOptions, now: datetime) -> TriggerVerdict:
    """States when the newest came, not how long ago, so that the text does not change."""
    count, millis = len(packed.leftovers), wall_millis(now)
    due = packed.leftovers_due_millis(options, millis)
    if due is None:
        detail = f"{count_of(count, 'small file')}; a file alone stays as it is"
        return TriggerVerdict(PackingTrigger.LEFTOVERS, fired=False, detail=detail)
    detail = (
        f"{count} small files, joined from {options.min_files} on, or when none has come for "
        f"{seconds_text(options.leftover_millis // 1000)}"
    )
    newest = packed.newest_leftover_millis(options, millis)
    if newest is not None:
        detail += f"; the newest came at {wall_text(newest)}, by its writer's clock"
    return TriggerVerdict(PackingTrigger.LEFTOVERS, fired=millis >= due and not packed.bins, detail=detail)
