"""The plan of one partition or bucket: which files are joined, and why.

Called by the adapter's planner and observer. Pure: the same files, options and time always give the same
plan.

Paimon's coordinator of tables without buckets lives as long as a streaming job: leftovers that are too few
for a bin wait until no file has come during several of its plans, and in a batch job for ever. Here a plan
remembers nothing, so the age of the newest leftover decides, and a full compaction takes them at once. A full
compaction also drops all deleted rows, while Paimon's coordinator leaves large files with few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lithify.amounts import bytes_text, count_of, seconds_text, wall_text
from lithify.clock import wall_millis
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.planning.bin_packing.packing import (
    Bin,
    Packed,
    has_many_deleted,
    pack,
    pack_fully,
)
from lithify.formats.paimon.planning.bin_packing.policy import PackingOptions
from lithify.formats.paimon.planning.bin_packing.runs import full_run, minor_runs
from lithify.formats.paimon.planning.work import FULL, BucketWork, Idle
from lithify.formats.protocol.model import TriggerVerdict
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy

NOTHING_SMALL = "there are no small files to join"
"""Why a bucket has no work under `Strategy.FULL`."""

NOTHING_SMALL_OR_DELETED = "there are no small files to join, and no deleted rows to drop"
"""Why a bucket of a table with deletion vectors has no work under `Strategy.FULL`."""


class PackingTrigger(StrEnum):
    """Why files are joined."""

    SMALL_FILES = "SmallFiles"
    LEFTOVERS = "OldSmallFiles"
    DELETED_ROWS = "DeletedRows"


@dataclass(frozen=True, slots=True)
class PackedUnit(BucketWork):
    """The compaction of one bucket, or of one partition of a table without buckets.

    Attributes:
        bucket: the bucket.
        bins: the files that are joined, each bin on its own.
        verdict: the trigger that fired.
    """

    bucket: BucketId
    bins: tuple[Bin, ...]
    verdict: TriggerVerdict

    @property
    def merges(self) -> tuple[tuple[DataFile, ...], ...]:
        """The rewritten files, bin by bin."""
        return self.bins

    @property
    def output_level(self) -> int | None:
        """Files have no levels."""
        return None

    @property
    def drop_deletes(self) -> bool:
        """There are no rows that retract others."""
        return False


def plan_bucket(
    bucket: Bucket, options: PackingOptions, strategy: Strategy, now: datetime
) -> PackedUnit | Idle:
    """Plans one bucket. `now` is an aware time in the table's time zone."""
    if strategy is Strategy.FULL:
        bins = _full_bins(bucket, options)
        return PackedUnit(bucket.id, bins, FULL) if bins else Idle(bucket.id, nothing_to_do(options))
    if options.is_ordered:
        bins = minor_runs(bucket.files, options)
        verdict = _small_files(bins, bucket.files, options)
        return PackedUnit(bucket.id, bins, verdict) if bins else Idle(bucket.id, NO_TRIGGER)
    packed = pack(bucket.files, options)
    fired = next((verdict for verdict in _of_packed(bucket, packed, options, now) if verdict.fired), None)
    if fired is None:
        return Idle(bucket.id, NO_TRIGGER)
    return PackedUnit(bucket.id, packed.bins or (packed.leftovers,), fired)


def verdicts(bucket: Bucket, options: PackingOptions, now: datetime) -> list[TriggerVerdict]:
    """What each trigger of a minor compaction says of a bucket."""
    if options.is_ordered:
        return [_small_files(minor_runs(bucket.files, options), bucket.files, options)]
    return _of_packed(bucket, pack(bucket.files, options), options, now)


def nothing_to_do(options: PackingOptions) -> str:
    """Why a bucket has no work under `Strategy.FULL`."""
    return NOTHING_SMALL if options.delete_ratio is None else NOTHING_SMALL_OR_DELETED


def leftovers_due_millis(bucket: Bucket, options: PackingOptions, now: datetime) -> int | None:
    """When a bucket's leftovers become due, by the writers' wall clock; None if they do not by time alone."""
    if options.is_ordered:
        return None
    packed = pack(bucket.files, options)
    return None if packed.bins else packed.leftovers_due_millis(options, wall_millis(now))


def _full_bins(bucket: Bucket, options: PackingOptions) -> tuple[Bin, ...]:
    if options.is_ordered:
        run = full_run(bucket.files, options)
        return (run,) if run else ()
    return pack_fully(bucket.files, options)


def _of_packed(
    bucket: Bucket, packed: Packed, options: PackingOptions, now: datetime
) -> list[TriggerVerdict]:
    """What each trigger says of a bucket without order, the most telling first."""
    deleted = [] if options.delete_ratio is None else [_deleted_rows(packed, options)]
    small = _small_files(packed.small_bins, bucket.files, options)
    return [*deleted, small, _leftovers(packed, options, now)]


def _deleted_rows(packed: Packed, options: PackingOptions) -> TriggerVerdict:
    """Small files with any deleted rows are rewritten, and large ones with many."""
    files = [file for one in packed.vector_bins for file in one]
    many, percent = sum(has_many_deleted(file, options) for file in files), 100 * (options.delete_ratio or 0)
    detail = f"{count_of(len(files), 'file')} with deleted rows to drop, {many} of them above {percent:g} %"
    if not files:
        detail = f"no file has more than {percent:g} % deleted rows, and no small file has any"
    return TriggerVerdict(PackingTrigger.DELETED_ROWS, fired=bool(files), detail=detail)


def _small_files(
    bins: tuple[Bin, ...], files: tuple[DataFile, ...], options: PackingOptions
) -> TriggerVerdict:
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


def _leftovers(packed: Packed, options: PackingOptions, now: datetime) -> TriggerVerdict:
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
