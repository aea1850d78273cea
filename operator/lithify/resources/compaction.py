"""The Compaction resource: one run, like a Job. It compacts a table, or does maintenance by its `kind`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from lithify.resources.maintenance import OrphanRemoval, RunKind
from lithify.resources.modelling import (
    MESSAGE_LENGTH,
    NAME_LENGTH,
    Rule,
    Time,
    matching,
    name_rule,
    part,
    rules,
)
from lithify.resources.objects import (
    CONDITIONS,
    Condition,
    ConditionStatus,
    Metadata,
    Reference,
    condition_of,
)
from lithify.resources.policy import Approval, PartitionValues
from lithify.resources.table import BucketBlock, SnapshotText

MOST_NAME_LENGTH = 52
"""The longest name of a Compaction: the names of its pods, which are longer, have at most 63 characters."""
SUCCEEDED = "Succeeded"
"""The type of the condition that summarizes a Compaction."""


class RunStrategy(StrEnum):
    """How much a run compacts."""

    MINOR = "Minor"
    FULL = "Full"


class Reason(StrEnum):
    """Stage or result of a run: the reason of the condition `Succeeded`, shown by `kubectl get` as STATUS."""

    PENDING = "Pending"
    QUEUED = "Queued"
    SUSPENDED = "Suspended"
    AWAITING_APPROVAL = "AwaitingApproval"
    SUBMITTING = "Submitting"
    PLANNING = "Planning"
    WAITING_FOR_EXECUTORS = "WaitingForExecutors"
    RUNNING = "Running"
    COMMITTING = "Committing"
    SEARCHING_COMMIT = "SearchingCommit"
    BACKING_OFF = "BackingOff"

    COMPACTED = "Compacted"
    MAINTAINED = "Maintained"
    NOTHING_TO_DO = "NothingToDo"
    PLANNED = "Planned"

    INVALID_SPEC = "InvalidSpec"
    TABLE_NOT_FOUND = "TableNotFound"
    UNSUPPORTED = "Unsupported"
    ACCESS_DENIED = "AccessDenied"
    STORAGE_UNAVAILABLE = "StorageUnavailable"
    CORRUPT_TABLE = "CorruptTable"
    CANARY_FAILED = "CanaryFailed"
    IMAGE_ERROR = "ImageError"
    SCHEDULING_TIMED_OUT = "SchedulingTimedOut"
    DRIVER_FAILED = "DriverFailed"
    OUT_OF_MEMORY = "OutOfMemory"
    DRIVER_LOST = "DriverLost"
    COMMIT_CONFLICT = "CommitConflict"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    CANCELLED = "Cancelled"
    ROLLED_BACK = "RolledBack"

    @property
    def status(self) -> ConditionStatus:
        """Whether a run with this reason has succeeded, has failed, or is unfinished."""
        if self in _UNFINISHED:
            return ConditionStatus.UNKNOWN
        return ConditionStatus.TRUE if self in _SUCCESSES else ConditionStatus.FALSE

    @property
    def is_final(self) -> bool:
        """Whether a run with this reason is finished."""
        return self not in _UNFINISHED

    @property
    def has_driver(self) -> bool:
        """Whether a run with this reason has, or may have, a driver."""
        return self in _DRIVEN

    @property
    def is_waiting(self) -> bool:
        """Whether a run with this reason waits until it may begin its next attempt."""
        return self in _WAITING


_DRIVEN = frozenset(
    {
        Reason.SUBMITTING,
        Reason.PLANNING,
        Reason.WAITING_FOR_EXECUTORS,
        Reason.RUNNING,
        Reason.COMMITTING,
    }
)
_WAITING = frozenset(
    {
        Reason.PENDING,
        Reason.QUEUED,
        Reason.SUSPENDED,
        Reason.AWAITING_APPROVAL,
        Reason.BACKING_OFF,
    }
)
_UNFINISHED = _DRIVEN | _WAITING | {Reason.SEARCHING_COMMIT}
_KNOWN = {reason.value: reason for reason in Reason}
_ENDS = {
    ConditionStatus.UNKNOWN: Reason.PENDING,
    ConditionStatus.TRUE: Reason.NOTHING_TO_DO,
    ConditionStatus.FALSE: Reason.DRIVER_FAILED,
}
_SUCCESSES = frozenset({Reason.COMPACTED, Reason.MAINTAINED, Reason.NOTHING_TO_DO, Reason.PLANNED})


_MESSAGE = (
    "a Compaction is one run: only suspend, cancel, approved and ttlSecondsAfterFinished can be changed"
)
FIXED = Rule("self == oldSelf", _MESSAGE)


@part(
    Rule(
        "has(self.partitions) == has(oldSelf.partitions) && has(self.buckets) == has(oldSelf.buckets) "
        "&& has(self.activeDeadlineSeconds) == has(oldSelf.activeDeadlineSeconds) "
        "&& has(self.cause) == has(oldSelf.cause) && has(self.orphans) == has(oldSelf.orphans)",
        _MESSAGE,
    ),
    Rule(
        "self.kind == 'Compact' || (self.strategy == 'Minor' && self.approval == 'Automatic' "
        "&& (!has(self.partitions) || size(self.partitions) == 0) "
        "&& (!has(self.buckets) || size(self.buckets) == 0))",
        "maintenance is of the whole table: strategy, partitions, buckets and approval are those of "
        "compactions; use dryRun to see what would be done",
        ".kind",
    ),
    Rule(
        "!has(self.orphans) || self.kind == 'RemoveOrphans'",
        "orphans belongs to the kind RemoveOrphans",
        ".orphans",
    ),
    Rule("self.approved || !oldSelf.approved", "an approval cannot be taken back; set cancel", ".approved"),
    Rule(
        "self.cancel || !oldSelf.cancel",
        "a cancellation cannot be taken back; create another Compaction",
        ".cancel",
    ),
    Rule(
        "!self.dryRun || self.approval == 'Automatic'",
        "a dry run changes nothing, so there is nothing to approve",
        ".approval",
    ),
)
class CompactionSpec:
    """What to do with a table. Like a Job's, most of it is immutable."""

    table_ref: Reference = Field(description="The LakeTable.", json_schema_extra=rules(FIXED))
    kind: RunKind = Field(
        default=RunKind.COMPACT,
        description="Compact, or the maintenance to do instead. A kind that the table's format lacks ends "
        "with Unsupported.",
        json_schema_extra=rules(FIXED),
    )
    orphans: OrphanRemoval | None = Field(
        default=None,
        description="Which orphan files a run of kind RemoveOrphans removes. Unset: none are, only listed.",
        json_schema_extra=rules(FIXED),
    )
    strategy: RunStrategy = Field(
        default=RunStrategy.MINOR,
        description="Minor: files selected by a trigger in each bucket or partition. Full: all files, to the "
        "top level.",
        json_schema_extra=rules(FIXED),
    )
    partitions: tuple[PartitionValues, ...] = Field(
        default=(),
        description="Only partitions with the values of one of these. Empty: all.",
        max_length=256,
        json_schema_extra=rules(FIXED),
    )
    buckets: tuple[Annotated[int, Field(ge=0, le=2147483647)], ...] = Field(
        default=(),
        description="Only these buckets. Empty: all.",
        max_length=1024,
        json_schema_extra=rules(FIXED),
    )
    dry_run: bool = Field(
        default=False, description="Plans only; status shows the plan.", json_schema_extra=rules(FIXED)
    )
    approval: Approval = Field(
        default=Approval.AUTOMATIC,
        description="Manual: waits after planning for `approved: true`.",
        json_schema_extra=rules(FIXED),
    )
    approved: bool = Field(default=False, description="Lets a run with manual approval go on.")
    suspend: bool = Field(
        default=False,
        description="Starts no driver. A running driver is stopped, and another one started later.",
    )
    cancel: bool = Field(default=False, description="Ends the run.")
    active_deadline_seconds: int | None = Field(
        default=None,
        description="Maximum seconds of the run, including waits, except for suspension and approval.",
        ge=10,
        le=2592000,
        json_schema_extra=rules(FIXED),
    )
    ttl_seconds_after_finished: int | None = Field(
        default=None,
        description="Deletes the Compaction this many seconds after its end. Default: the policy's.",
        ge=0,
        le=31536000,
    )
    cause: str | None = Field(
        default=None,
        description="Why it was requested; the operator writes what it observed.",
        max_length=MESSAGE_LENGTH,
        json_schema_extra=rules(FIXED),
    )


@part()
class StopStatus:
    """Why the driver was asked to end."""

    reason: str = Field(description="The run's reason if the driver reports no other outcome.", max_length=63)
    message: str = Field(default="", description="Why, for people.", max_length=MESSAGE_LENGTH)
    time: Time = Field(description="When it was asked to end.")


@part()
class DriverStatus:
    """The driver of the current attempt."""

    name: str = Field(description="Its pod, or its process.", max_length=NAME_LENGTH)
    uid: str | None = Field(
        default=None, description="Which pod of that name; unset until it is known.", max_length=64
    )
    start_time: Time | None = Field(default=None, description="When it began to run.")
    missing_since: Time | None = Field(default=None, description="Since when it cannot be found.")
    gated: bool | None = Field(
        default=None, description="It waits for a queue, for example one of Kueue's, to admit it."
    )
    stopping: StopStatus | None = Field(default=None, description="Set once it has been asked to end.")


@part()
class SearchStatus:
    """The search of the table for commits of the run, and how the run goes on if there is none."""

    deadline: Time = Field(description="When the search is given up.")
    reason: str = Field(description="How the attempt, or the run, ended otherwise.", max_length=63)
    message: str = Field(default="", description="Why, for people.", max_length=MESSAGE_LENGTH)
    failure: str | None = Field(
        default=None, description="The kind of failure, if another attempt may follow.", max_length=63
    )


@part()
class SharedRun:
    """The driver that several Compactions share; it is named after one of them."""

    lead: str = Field(description="The Compaction that it is named after.", max_length=NAME_LENGTH)
    lead_uid: str = Field(description="Its uid.", max_length=64)


@part()
class AutomaticRun:
    """What the operator records of a run that it creates itself.

    Only status proves that: authors of Compactions write labels, annotations and owner references, too.
    """

    shared_bytes: int | None = Field(
        default=None,
        description="About how many bytes it reads, if it may share a driver with other small tables.",
        ge=1,
    )


@part()
class AttemptSummary:
    """One attempt that ended."""

    attempt: int = Field(description="Its number, from 1.", ge=1)
    reason: str = Field(description="How it ended.", max_length=63)
    message: str = Field(default="", description="Why, for people.", max_length=MESSAGE_LENGTH)
    start_time: Time | None = Field(default=None, description="When it began.")
    completion_time: Time = Field(description="When it ended.")


@part()
class FailureCounts:
    """Failed attempts by kind of failure."""

    user: int = Field(default=0, description="Only a person can help.", ge=0)
    infrastructure: int = Field(default=0, description="Drivers, nodes, storage.", ge=0)
    scheduling: int = Field(default=0, description="No resources, or no image.", ge=0)
    conflict: int = Field(default=0, description="Other writers.", ge=0)
    out_of_memory: int = Field(default=0, description="Too little memory.", ge=0)
    bug: int = Field(default=0, description="Unexpected.", ge=0)


@part()
class PlanSummary:
    """What a run does, or a dry run would do."""

    buckets: int = Field(
        description="Groups of files that are compacted: buckets, or parts of partitions.", ge=0
    )
    tasks: int = Field(description="Spark tasks.", ge=0)
    files: int = Field(description="Files that are rewritten.", ge=0)
    bytes: int = Field(description="Bytes of them.", ge=0)
    upgraded_files: int = Field(description="Files that only change their level.", ge=0)
    unread_files: int = Field(
        default=0,
        description=(
            "Those of the upgraded files that may hold deletes which their writer did not count. The "
            "operator opens no data files; the driver looks, and rewrites files that do."
        ),
        ge=0,
    )


_MOST_SECONDS = 1e9
"""Processor seconds of a run: thirty years. Sums of what hostile drivers report stay numbers."""


@part()
class CanarySummary:
    """A canary that ran first: the compaction of a copy changed no row."""

    groups: int = Field(default=0, description="Groups of files that it compared.", ge=0)
    rows: int = Field(default=0, description="Rows in them.", ge=0)


@part()
class ResultSummary:
    """What a run did."""

    input_files: int = Field(default=0, description="Files that were rewritten.", ge=0)
    output_files: int = Field(default=0, description="Files that replaced them.", ge=0)
    input_bytes: int = Field(default=0, description="Bytes read.", ge=0)
    output_bytes: int = Field(default=0, description="Bytes written.", ge=0)
    input_rows: int = Field(default=0, description="Rows read.", ge=0)
    output_rows: int = Field(default=0, description="Rows written.", ge=0)
    upgraded_files: int = Field(default=0, description="Files that only changed their level.", ge=0)
    buckets: int = Field(
        default=0, description="Groups of files that were compacted: buckets, or parts of partitions.", ge=0
    )
    skipped_buckets: int = Field(
        default=0,
        description="Groups that were left out: others changed them during the run, or they are blocked.",
        ge=0,
    )
    blocked_buckets: int = Field(
        default=0,
        description="Skipped groups that cannot be compacted until their files change.",
        ge=0,
    )
    skipped_samples: tuple[Annotated[str, Field(max_length=512)], ...] = Field(
        default=(), description="Some of the skipped groups, with the reason.", max_length=5
    )
    tasks: int = Field(default=0, description="Spark tasks.", ge=0)
    task_retries: int = Field(default=0, description="Tries of tasks beyond the first.", ge=0)
    core_seconds: float = Field(
        default=0.0,
        description=(
            "Processor time of the driver and the executors, their JVMs included. In a shared driver, the "
            "time since the run before; the first run has the start of Spark."
        ),
        ge=0,
        le=_MOST_SECONDS,
    )
    task_seconds: float = Field(
        default=0.0, description="Processor time of the tasks alone.", ge=0, le=_MOST_SECONDS
    )
    slot_seconds: float = Field(
        default=0.0,
        description="Time that task slots were busy, waits included.",
        ge=0,
        le=_MOST_SECONDS,
    )
    peak_task_bytes: int = Field(default=0, description="Peak memory of a process that ran a task.", ge=0)
    orphans_deleted: int = Field(
        default=0, description="Files of earlier, dead attempts that were removed.", ge=0
    )
    canary: CanarySummary | None = Field(
        default=None, description="The canary that ran first. Unset: none did."
    )
    recovered: bool = Field(
        default=False, description="The driver was lost after its commit; this was read from the table."
    )


UNDO_LENGTH = 4096
"""The longest sentence that says how to undo a compaction."""
MOST_FIGURES = 16
"""Number of figures of a run of maintenance."""


@part()
class MaintenanceFigure:
    """A number of things that maintenance deletes or rewrites."""

    name: str = matching(
        r"^[a-zA-Z]+$",
        "names of figures have letters only",
        description="What is counted, for example dataFiles.",
        max_length=63,
    )
    count: int = Field(description="How many.", ge=0)


@part()
class MaintenanceSummary:
    """What a run of maintenance did, or a dry run would do."""

    figures: tuple[MaintenanceFigure, ...] = Field(
        default=(),
        description="What was deleted or rewritten, as the format counts.",
        max_length=MOST_FIGURES,
    )
    oldest_snapshot_id: SnapshotText | None = Field(
        default=None, description="The oldest snapshot that is left."
    )
    samples: tuple[Annotated[str, Field(max_length=512)], ...] = Field(
        default=(), description="Some of the files.", max_length=5
    )


MOST_BLOCKED_OF_A_RUN = 16
"""Number of blocked groups that a run reports: its termination message is short."""


@part()
class CompactionStatus:
    """Stage and result of the run."""

    observed_generation: int = Field(
        default=-1, description="The last generation of the spec that was processed.", ge=-1
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Succeeded summarizes the run; its reason is the STATUS.",
        max_length=8,
        json_schema_extra=CONDITIONS,
    )
    start_time: Time | None = Field(default=None, description="When the first attempt began.")
    completion_time: Time | None = Field(default=None, description="When the run ended.")
    duration: str | None = Field(
        default=None, description="From the first attempt to the end.", max_length=16
    )
    stage_time: Time | None = Field(default=None, description="When its current stage began.")
    waited_seconds: int = Field(
        default=0,
        description="Seconds that it was suspended or awaited approval so far.",
        ge=0,
        le=31_536_000_000,
    )
    attempts: int = Field(default=0, description="Number of attempts begun.", ge=0)
    failures: FailureCounts = Field(default=FailureCounts(), description="Failed attempts by kind.")
    attempt_history: tuple[AttemptSummary, ...] = Field(
        default=(), description="The last attempts that ended.", max_length=5
    )
    next_attempt_time: Time | None = Field(
        default=None, description="While BackingOff: when the next attempt begins."
    )
    driver: DriverStatus | None = Field(default=None, description="The current driver.")
    shared_run: SharedRun | None = Field(
        default=None, description="Set if the driver is, or was, shared with other Compactions."
    )
    search: SearchStatus | None = Field(
        default=None, description="While SearchingCommit: what follows if the table shows no commit."
    )
    automatic: AutomaticRun | None = Field(
        default=None, description="Set by the operator if it created the run itself; unset if a person did."
    )
    progress: str | None = Field(
        default=None,
        description="Tasks done of tasks planned, or executors started of those wanted.",
        max_length=32,
    )
    plan: PlanSummary | None = Field(default=None, description="What it compacts.")
    result: ResultSummary | None = Field(default=None, description="What a compaction did.")
    maintenance: MaintenanceSummary | None = Field(default=None, description="What maintenance did.")
    blocked_buckets: tuple[BucketBlock, ...] = Field(
        default=(),
        description="Groups of files that it could not compact; left out until their files change.",
        max_length=MOST_BLOCKED_OF_A_RUN,
    )
    blocked_bucket_count: int = Field(
        default=0, description="Number of such groups, including those of earlier runs.", ge=0
    )
    files: str | None = Field(
        default=None, description="Files before and after, for example 412→9.", max_length=48
    )
    bytes: str | None = Field(
        default=None, description="Bytes before and after, for example 6.1Gi→5.8Gi.", max_length=48
    )
    base_snapshot_id: SnapshotText | None = Field(
        default=None, description="The snapshot that it was planned on."
    )
    committed_snapshot_id: SnapshotText | None = Field(
        default=None, description="The snapshot that it committed."
    )
    undo: str | None = Field(
        default=None,
        description="How to undo a compaction: the command that goes back to the snapshot before it.",
        max_length=UNDO_LENGTH,
    )
    identifier: str | None = Field(
        default=None, description="The table, as its LakeTable names it.", max_length=512
    )
    table_uuid: str | None = Field(
        default=None, description="The table's UUID when the run began.", max_length=128
    )


@part(name_rule("Compaction", MOST_NAME_LENGTH))
class Compaction:
    """One compaction of one table."""

    metadata: Metadata
    spec: CompactionSpec
    status: CompactionStatus = CompactionStatus()

    @property
    def reason(self) -> Reason:
        """Its stage or result; Pending before the operator has processed it.

        An unknown reason, written by a newer release, is replaced by a general one of the same status.
        """
        condition = condition_of(self.status.conditions, SUCCEEDED)
        if condition is None:
            return Reason.PENDING
        return _KNOWN.get(condition.reason) or _ENDS[condition.status]

    @property
    def message(self) -> str:
        """The reason as a sentence, for people."""
        condition = condition_of(self.status.conditions, SUCCEEDED)
        return condition.message if condition else ""

    @property
    def is_maintenance(self) -> bool:
        """Whether it does something else than compact."""
        return self.spec.kind is not RunKind.COMPACT

    @property
    def work(self) -> str:
        """What it does, in a word: the strategy of a compaction, or the kind of maintenance."""
        return self.spec.kind.value if self.is_maintenance else self.spec.strategy.value

    @property
    def is_automatic(self) -> bool:
        """Whether the operator created it, by its own record; any other run counts as a person's."""
        return self.status.automatic is not None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.reason.is_final
