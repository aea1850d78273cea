"""What the controller knows of a table without reading its data. Plain values, whatever the format.

Made by the format adapters, read by `controller.deciding`. Figures that only some kinds of tables have are a
part of their own, such as `MergeTreeObservation`; decisions are made without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from lithify.tables.model import BlockedBucket, SnapshotId


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a bucket is due; in formats without buckets, a partition.

    Attributes:
        trigger: the trigger that fired, by its name in `planning.triggers`.
        bucket: path of the bucket for which it fired most clearly.
        detail: the numbers behind it, as a sentence for people.
        buckets: how many buckets it fired for.
        bytes: what a compaction of these would read.
        files: how many files these buckets have.
    """

    trigger: str
    bucket: str
    detail: str
    buckets: int
    bytes: int
    files: int = 0


@dataclass(frozen=True, slots=True)
class KeptSnapshots:
    """The snapshots that the table keeps, and who expires them.

    Attributes:
        count: how many there are.
        oldest: when the oldest was committed.
        expired_bytes: bytes of data files that older snapshots hold and the newest does not, at least.
        writers_expire: whether the table's writers expire snapshots (those of write-only tables do not).
    """

    count: int
    oldest: datetime | None
    expired_bytes: int
    writers_expire: bool


@dataclass(frozen=True, slots=True)
class MergeTreeObservation:
    """What only tables have whose files are arranged in levels.

    Attributes:
        buckets: buckets with files.
        level0_files: files of level 0.
        max_level0_files: most files of level 0 in a bucket.
        max_level0_bucket: the bucket with most, None if there are none.
        sorted_runs: most sorted runs in a bucket.
        sorted_runs_bucket: the bucket with most, None if there are none.
        run_trigger: the number of sorted runs from which a bucket is due, None if unknown.
        size_amplification_percent: bytes below the top level by those in it, over all buckets that have files
            above level 0; None if none has.
    """

    buckets: int
    level0_files: int
    max_level0_files: int
    max_level0_bucket: str | None
    sorted_runs: int
    sorted_runs_bucket: str | None
    run_trigger: int | None = None
    size_amplification_percent: int | None = None


@dataclass(frozen=True, slots=True)
class CommitCount:
    """Commits since the last full compaction, where the table asks for one after a number of them.

    Attributes:
        found: commits so far; at most `wanted`.
        wanted: commits after which a full compaction is due.
        option: the table option that says so.
    """

    found: int
    wanted: int
    option: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a table.

    Attributes:
        table_uuid: tells the table from another one of the same name.
        snapshot: the newest snapshot, None if there is none.
        snapshot_time: when it was committed.
        schema_id: the newest schema.
        refusals: why this release cannot compact the table; empty if it can.
        write_only: whether writers leave compaction to others.
        partitions: partitions with files.
        files: data files.
        bytes: bytes of them.
        small_files: files below the size from which a file is left alone.
        delete_percent: deleted rows in per cent of all (in merge trees, rows that retract their key); None if
            a writer did not count them.
        findings: why a minor compaction is due; empty if it is not. The strongest first.
        partitions_due: the partitions that a minor compaction should take, where a filter is set.
        full_partitions: the partitions that a full one should take, where a filter or idle time is set.
        full_bytes: bytes that a full compaction would read.
        snapshots: the snapshots that are kept.
        next_trigger: when something of this changes although nobody writes (an interval ends, off-peak hours
            begin, a partition becomes idle); None for never.
        blocked: buckets that cannot be compacted.
        commits: commits since the last full compaction; None if the table does not count them.
        check_seconds: how often the table asks to be looked at; None if it does not say.
        merge_tree: figures of its levels; None if its files have no levels.
    """

    table_uuid: str
    snapshot: SnapshotId | None
    snapshot_time: datetime | None
    schema_id: int
    refusals: tuple[str, ...]
    write_only: bool
    partitions: int
    files: int
    bytes: int
    small_files: int
    delete_percent: int | None
    findings: tuple[Finding, ...]
    full_bytes: int
    snapshots: KeptSnapshots
    partitions_due: tuple[Mapping[str, str], ...] = ()
    full_partitions: tuple[Mapping[str, str], ...] = ()
    next_trigger: datetime | None = None
    blocked: tuple[BlockedBucket, ...] = ()
    commits: CommitCount | None = None
    check_seconds: int | None = None
    merge_tree: MergeTreeObservation | None = None


@dataclass(frozen=True, slots=True)
class RunFound:
    """What a run has committed, as its snapshots say.

    Attributes:
        snapshot: the last one.
        base: the one before its first.
        input_files: files that it removed.
        output_files: files that it added.
        input_bytes: bytes of the first.
        output_bytes: bytes of the second.
        is_complete: whether the run was through; else a step of it was the last that came about.
    """

    snapshot: SnapshotId
    base: SnapshotId
    input_files: int
    output_files: int
    input_bytes: int
    output_bytes: int
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class PlanFound:
    """What a run would do, in figures.

    Attributes:
        snapshot: the snapshot that was planned on, None if the table has none.
        buckets: buckets that would be compacted.
        tasks: tasks that this would take.
        files: files that would be rewritten.
        bytes: bytes that would be read.
        upgraded_files: files that would be moved to another level in metadata only.
        blocked: buckets that cannot be compacted, the first of them.
        blocked_count: number of all of them, with those that were left out because they were known before.
        problem: why the run would fail, if blocked buckets are all that was left to do.
    """

    snapshot: SnapshotId | None
    buckets: int = 0
    tasks: int = 0
    files: int = 0
    bytes: int = 0
    upgraded_files: int = 0
    blocked: tuple[BlockedBucket, ...] = ()
    blocked_count: int = 0
    problem: str = ""
