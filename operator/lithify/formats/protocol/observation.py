"""Observations: what the operator knows of a table without reading its data, the same for every format.

Made by the format adapters, read by `controller.deciding`. Figures that only some kinds of tables have are in
blocks, which the adapter declares (`formats.declarations`); nothing is decided by them, they are only shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lithify.formats.declarations import FigureValue
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.model import BlockedGroup, SnapshotId


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a bucket is due; in formats without buckets, a partition.

    Attributes:
        trigger: name of the trigger that fired, as its format calls it.
        bucket: path of the bucket for which the trigger fired most clearly.
        detail: the numbers behind the trigger, as a sentence for people.
        buckets: number of buckets for which the trigger fired.
        bytes: bytes that a compaction of these buckets would read.
        files: number of files in these buckets.
    """

    trigger: str
    bucket: str
    detail: str
    buckets: int
    bytes: int
    files: int = 0


@dataclass(frozen=True, slots=True)
class KeptSnapshots:
    """The snapshots that the table retains, and who expires them.

    Attributes:
        count: number of snapshots.
        oldest: commit time of the oldest snapshot.
        expired_bytes: lower bound of the bytes of data files in older snapshots but not in the newest.
        writers_expire: whether the table's writers expire snapshots (those of write-only tables do not).
        operator_expires: whether the operator does unless a policy says otherwise, because the writers leave
            it to others; None if this release has no expiry for such tables.
    """

    count: int
    oldest: datetime | None
    expired_bytes: int
    writers_expire: bool
    operator_expires: bool | None = None


@dataclass(frozen=True, slots=True)
class MaintenanceNeed:
    """Maintenance that would do something now, as far as an observation can tell.

    Attributes:
        kind: its kind.
        detail: the numbers behind it, as a sentence for people.
        is_asked: whether the table asks for it: its options say when, and its writers leave it to others.
            Otherwise only a policy can.
        bytes: lower bound of the bytes that it would free; 0 if unknown.
    """

    kind: MaintenanceKind
    detail: str
    is_asked: bool
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class OtherCompactor:
    """Somebody who compacts the table besides its writers and Lithify.

    Attributes:
        name: the service or engine.
        evidence: where it was found: a property, a location, a snapshot; for people.
        remedy: how to leave compaction to Lithify, as a clause for people.
        last_seen: commit time of the last compaction that was found; None if only settings name it.
    """

    name: str
    evidence: str
    remedy: str
    last_seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class CommitCount:
    """Commits since the last full compaction, for tables that ask for one every `wanted` commits.

    Attributes:
        found: number of commits so far; at most `wanted`.
        wanted: number of commits after which a full compaction is due.
        option: the table option that sets `wanted`.
    """

    found: int
    wanted: int
    option: str


@dataclass(frozen=True, slots=True)
class Observation:
    """Result of observing a table once.

    Attributes:
        table_uuid: distinguishes the table from others of the same name.
        snapshot: id of the newest snapshot, None if there is none.
        snapshot_time: commit time of the newest snapshot.
        schema_id: id of the newest schema.
        refusals: why this release cannot compact the table; empty if it can.
        write_only: whether writers leave compaction to others.
        partitions: number of partitions with files.
        files: number of data files.
        bytes: total size of the data files.
        small_files: number of files below the small-file size.
        delete_percent: deleted rows in per cent of all rows (in merge trees, rows that retract their key);
            None if a writer did not count them.
        findings: why a minor compaction is due, strongest first; empty if it is not due.
        partitions_due: the partitions for a minor compaction, if a filter is set.
        full_partitions: the partitions for a full compaction, if a filter or idle time is set.
        full_bytes: bytes that a full compaction would read.
        snapshots: the snapshots that the table retains.
        next_trigger: when the observation changes without a commit (an interval ends, off-peak hours begin, a
            partition becomes idle, a snapshot is old enough to expire); None for never.
        blocked: groups that cannot be compacted.
        commits: commits since the last full compaction; None if the table does not count them.
        check_seconds: observation interval that the table or its format asks for; None for the usual one.
        waits: what files wait for that no trigger takes yet, and which are left out, as sentences for people.
        full_wait: what a full compaction leaves out until later, as a sentence; empty if nothing.
        groups: number of groups with files: buckets in Paimon, partitions where tables have no buckets.
        deleted_rows: deleted rows that files still have; None if a writer did not count them.
        nearest: the figure that is nearest to a trigger, and from where on that fires, as a sentence; empty
            if there is none.
        other_compactors: who else compacts it, as far as the format's metadata says.
        needs: the maintenance that it needs; each kind at most once.
        blocks: figures that its kind of table has, by the names that the adapter has declared.
        rolled_back: the snapshots of the request's committed runs that were rolled back, see
            `engine.observe.rolled_back`.
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
    blocked: tuple[BlockedGroup, ...] = ()
    commits: CommitCount | None = None
    check_seconds: int | None = None
    waits: tuple[str, ...] = ()
    full_wait: str = ""
    groups: int = 0
    deleted_rows: int | None = None
    nearest: str = ""
    other_compactors: tuple[OtherCompactor, ...] = ()
    needs: tuple[MaintenanceNeed, ...] = ()
    blocks: Mapping[str, Mapping[str, FigureValue]] = field(default_factory=dict)
    rolled_back: tuple[SnapshotId, ...] = ()


@dataclass(frozen=True, slots=True)
class RunFound:
    """What a run has committed, according to its snapshots.

    Attributes:
        snapshot: the run's last snapshot.
        base: the snapshot before the run's first.
        input_files: number of files that the run removed.
        output_files: number of files that the run added.
        input_bytes: bytes of the removed files.
        output_bytes: bytes of the added files.
        is_complete: whether the run finished; False if it stopped after one of its steps.
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
    """Figures of the work that a run would do.

    Attributes:
        snapshot: the snapshot that was planned on, None if the table has none.
        groups: number of groups to compact.
        tasks: number of tasks.
        files: number of files to rewrite.
        bytes: bytes to read.
        totals: the adapter's figures, by name; see `Plan.totals`.
        blocked: the first of the groups that cannot be compacted.
        blocked_count: number of all blocked groups, including those skipped because they were known before.
        problem: why the run would fail, if only blocked groups remain.
    """

    snapshot: SnapshotId | None
    groups: int = 0
    tasks: int = 0
    files: int = 0
    bytes: int = 0
    totals: Mapping[str, int] = field(default_factory=dict)
    blocked: tuple[BlockedGroup, ...] = ()
    blocked_count: int = 0
    problem: str = ""
