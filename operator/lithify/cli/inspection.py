"""What there is to know of a table without reading data: levels, runs, small files, deletes, triggers.

Called by `lithify inspect` and the demo. Pure but for reading the table's metadata.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from lithify.clock import Clock
from lithify.planning.merge_tree.levels import Levels, build_levels
from lithify.planning.merge_tree.plan import Unit, plan_bucket
from lithify.planning.merge_tree.policy import MergeTreeOptions, Strategy
from lithify.planning.merge_tree.triggers import TriggerVerdict
from lithify.planning.merge_tree.universal import explain
from lithify.tables.format import Selection
from lithify.tables.model import BlockedBucket, Bucket, DataFile, SnapshotId
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.primary_key.blocking import Blocks
from lithify.tables.paimon.table import PaimonTable


@dataclass(frozen=True, slots=True)
class LevelSummary:
    """One level of one bucket."""

    level: int
    runs: int
    files: int
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class BucketInspection:
    """One bucket.

    Attributes:
        bucket: its path.
        levels: its non-empty levels, from 0.
        sorted_runs: sorted runs.
        files: data files.
        bytes: bytes of them.
        rows: rows of them, deletes included.
        small_files: files below the size from which a file is left alone.
        delete_ratio: share of the rows that retract their key; None if a writer did not count them.
        triggers: what each trigger says.
        due: why a minor compaction would do something; None if it would not.
    """

    bucket: str
    levels: tuple[LevelSummary, ...]
    sorted_runs: int
    files: int
    bytes: int
    rows: int
    small_files: int
    delete_ratio: float | None
    triggers: tuple[TriggerVerdict, ...]
    due: str | None


@dataclass(frozen=True, slots=True)
class Inspection:
    """A table.

    Attributes:
        table: `database.table`.
        snapshot: the snapshot that was looked at; None if there is none.
        primary_key: key columns without the partition's.
        partition_keys: partition columns.
        unsupported: why this release cannot compact it.
        buckets: its buckets, but for those that are blocked.
        blocked: buckets whose metadata shows that they cannot be compacted.
    """

    table: str
    snapshot: SnapshotId | None
    primary_key: tuple[str, ...]
    partition_keys: tuple[str, ...]
    unsupported: tuple[str, ...]
    buckets: tuple[BucketInspection, ...]
    blocked: tuple[BlockedBucket, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return asdict(self)


def inspect_table(table: PaimonTable, selection: Selection, clock: Clock) -> Inspection:
    """Looks at the selected buckets in the newest snapshot."""
    view = table.view(selection)
    now = clock.now()
    found, blocked = ([], ()) if view is None else _inspect_buckets(table, view, now)
    return Inspection(
        table=table.name,
        snapshot=view.snapshot_id if view else None,
        primary_key=table.schema.primary_key,
        partition_keys=table.schema.partition_keys,
        unsupported=table.refusals,
        buckets=tuple(found),
        blocked=blocked,
    )


def _inspect_buckets(
    table: PaimonTable, view: View, now: datetime
) -> tuple[list[BucketInspection], tuple[BlockedBucket, ...]]:
    blocks = Blocks(table, view)
    found = []
    for bucket in view.bucket_ids:
        with blocks.isolate(bucket):
            found.append(inspect_bucket(view.bucket(bucket), table.options.policy, now))
    return found, tuple(block.told for block in blocks.sorted_out()[0])


def inspect_bucket(bucket: Bucket, policy: MergeTreeOptions, now: datetime) -> BucketInspection:
    """Looks at one bucket."""
    levels = build_levels(bucket.files, policy.num_levels)
    planned = plan_bucket(bucket, policy, Strategy.MINOR, now)
    return BucketInspection(
        bucket=str(bucket.id),
        levels=summarise(levels),
        sorted_runs=len(levels.runs),
        files=len(bucket.files),
        bytes=bucket.size,
        rows=sum(file.rows for file in bucket.files),
        small_files=sum(file.size < policy.small_file_size for file in bucket.files),
        delete_ratio=_delete_ratio(bucket.files),
        triggers=tuple(explain(levels, policy, now)),
        due=planned.verdict.trigger.value if isinstance(planned, Unit) else None,
    )


def summarise(levels: Levels) -> tuple[LevelSummary, ...]:
    """The non-empty levels of a bucket."""
    summaries = []
    for level in sorted({run.level for run in levels.runs}):
        runs = [run for run in levels.runs if run.level == level]
        files = [file for run in runs for file in run.files]
        size, rows = sum(file.size for file in files), sum(file.rows for file in files)
        summaries.append(LevelSummary(level, len(runs), len(files), size, rows))
    return tuple(summaries)


def _delete_ratio(files: tuple[DataFile, ...]) -> float | None:
    counts = [file.delete_rows for file in files]
    known = [count for count in counts if count is not None]
    rows = sum(file.rows for file in files)
    return None if len(known) < len(counts) else sum(known) / max(1, rows)
