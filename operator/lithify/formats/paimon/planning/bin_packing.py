"""The plan of one partition or bucket without levels: which files are joined, and why.

Called by the adapter's planner and observer. Pure: `engine.pack` decides.

Paimon's coordinator of tables without buckets lives as long as a streaming job: leftovers that are too few
for a bin wait until no file has come during several of its plans, and in a batch job for ever. It also leaves
large files with few deleted rows, which a full compaction here rewrites.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from lithify.engine.pack.bins import Bin
from lithify.engine.pack.options import PackingOptions
from lithify.engine.pack.triggers import due_bins, full_bins, nothing_to_do
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.planning.files import BY_SEQUENCE
from lithify.formats.paimon.planning.work import FULL, BucketWork, Idle
from lithify.formats.protocol.model import TriggerVerdict
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy


@dataclass(frozen=True, slots=True)
class PackedUnit(BucketWork):
    """The compaction of one bucket, or of one partition of a table without buckets.

    Attributes:
        bucket: the bucket.
        bins: the files that are joined, each bin on its own.
        verdict: the trigger that fired.
        output_level: files have no levels.
        drop_deletes: there are no rows that retract others.
    """

    bucket: BucketId
    bins: tuple[Bin[DataFile], ...]
    verdict: TriggerVerdict
    output_level: int | None = field(default=None, init=False)
    drop_deletes: bool = field(default=False, init=False)

    @property
    def merges(self) -> tuple[tuple[DataFile, ...], ...]:
        """The rewritten files, bin by bin."""
        return self.bins


def plan_bucket(
    bucket: Bucket, options: PackingOptions, strategy: Strategy, now: datetime
) -> PackedUnit | Idle:
    """Plans one bucket. `now` is an aware time in the table's time zone."""
    if strategy is Strategy.FULL:
        bins = full_bins(bucket.files, options, BY_SEQUENCE)
        return PackedUnit(bucket.id, bins, FULL) if bins else Idle(bucket.id, nothing_to_do(options))
    due = due_bins(bucket.files, options, now, BY_SEQUENCE)
    return Idle(bucket.id, NO_TRIGGER) if due is None else PackedUnit(bucket.id, *due)
