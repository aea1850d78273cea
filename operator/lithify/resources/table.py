"""The LakeTable resource: a table that Lithify compacts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from lithify.formats.protocol.model import MOST_SNAPSHOT_ID, SNAPSHOT_ID, BlockedGroup
from lithify.resources.catalog import OPTION_NAMES, OptionName, OptionValue
from lithify.resources.figures import GROUP_LENGTH, with_blocks
from lithify.resources.modelling import (
    MESSAGE_LENGTH,
    NAME_LENGTH,
    OWN_NAME_LENGTH,
    Rule,
    Time,
    matching,
    name_rule,
    part,
    rules,
)
from lithify.resources.objects import CONDITIONS, Condition, Metadata, Reference, shortened

IDENTIFIER = r"^[^.\s/$]+(\.[^.\s/$]+)+(\$branch_[^\s/$]+)?$"
SnapshotText = Annotated[
    str,
    matching(
        f"^{SNAPSHOT_ID}$",
        "the id of a snapshot is a text of letters, digits and .:_-, such as '42'",
        max_length=MOST_SNAPSHOT_ID,
    ),
]
TimeZone = Annotated[
    str,
    matching(
        r"^[A-Za-z][A-Za-z0-9_+\-/]*$",
        "a time zone is a name of the IANA database, such as Europe/Berlin or UTC",
        min_length=1,
        max_length=64,
    ),
]


FIXED = Rule(
    "self == oldSelf", "a LakeTable is for one table: create another LakeTable instead of changing it"
)


@part()
class LakeTableSpec:
    """Which table, and its settings."""

    catalog_ref: Reference = Field(description="The Catalog of the table.", json_schema_extra=rules(FIXED))
    identifier: str = matching(
        IDENTIFIER,
        "a table is written database.table, in a nested namespace a.b.table, and a branch of it "
        "database.table$branch_name, without blanks and slashes",
        FIXED,
        description="The table, as `database.table`, or as `a.b.table` in formats with nested namespaces; a "
        "branch of it, as `database.table$branch_name`.",
        min_length=1,
        max_length=512,
    )
    policy_ref: Reference = Field(
        default=Reference(name="default"),
        description="The CompactionPolicy to follow. If it does not exist, the table is observed, and the "
        "operator starts no compactions for it.",
    )
    suspend: bool = Field(
        default=False,
        description="The operator starts no compactions for the table, and still observes it. Compactions "
        "that users create go on.",
    )
    table_options: Mapping[OptionName, OptionValue] = Field(
        default_factory=dict,
        description="Table options for compactions only, those that tune compaction and file writing; "
        "they win over the table's own and over the policy's triggers.",
        max_length=32,
        json_schema_extra=rules(OPTION_NAMES),
    )
    check_interval_seconds: int | None = Field(
        default=None,
        description="Seconds between two checks for new snapshots. Default: the policy's.",
        ge=1,
        le=86400,
    )
    priority: int | None = Field(
        default=None,
        description="Order of waiting runs; higher goes first. Default: the policy's.",
        ge=0,
        le=1000,
    )
    time_zone: TimeZone | None = Field(
        default=None,
        description="Time zone of the table's writers, in which Paimon stores creation times. Default: UTC.",
    )


@part()
class SnapshotSummary:
    """The snapshots that the table retains."""

    count: int = Field(description="Number of snapshots.", ge=0)
    oldest_time: Time | None = Field(default=None, description="When the oldest one was committed.")
    expired_bytes: int = Field(
        default=0,
        description="Bytes of data files that only older snapshots than the newest need, as far as known "
        "from observed compactions.",
        ge=0,
    )


@part()
@with_blocks
class ObservationSummary:
    """Figures of the table, from its metadata alone. Every kind of table has these.

    Figures of one kind are a block of their own, unset for the others; formats declare it (`figures`).
    """

    snapshot_id: SnapshotText | None = Field(default=None, description="The newest snapshot.")
    schema_id: int | None = Field(default=None, description="The newest schema.", ge=0)
    partitions: int = Field(default=0, description="Partitions with files.", ge=0)
    files: int = Field(default=0, description="Data files.", ge=0)
    bytes: int = Field(default=0, description="Bytes of them.", ge=0)
    small_files: int = Field(
        default=0, description="Files below the size from which files are left alone.", ge=0
    )
    deleted_rows: int | None = Field(
        default=None,
        description="Deleted rows that files still have; in a merge tree, the rows that delete their key. "
        "Unset if writers did not count them.",
        ge=0,
    )
    delete_percent: int | None = Field(
        default=None,
        description="Deleted rows in per cent of all; in a merge tree, the rows that delete their key. Unset "
        "if writers did not count them.",
        ge=0,
        le=100,
    )
    groups: int = Field(
        default=0,
        description="Groups of files that are compacted by themselves: buckets, or partitions where tables "
        "have no buckets.",
        ge=0,
    )
    due_groups: int = Field(default=0, description="Groups in which a trigger fired.", ge=0)
    due_bytes: int = Field(
        default=0, description="Bytes that a compaction would read because a trigger fired.", ge=0
    )
    snapshots: SnapshotSummary | None = Field(default=None, description="The retained snapshots.")


class TableHealth(StrEnum):
    """The table's health in a word, which `kubectl get` shows as HEALTH."""

    HEALTHY = "Healthy"
    UNKNOWN = "Unknown"
    SUSPENDED = "Suspended"
    FAILING = "Failing"
    BLOCKED = "Blocked"
    NO_POLICY = "NoPolicy"
    INVALID_POLICY = "InvalidPolicy"
    INVALID_OPTION = "InvalidOption"
    NO_CATALOG = "NoCatalog"
    NO_CREDENTIALS = "NoCredentials"
    ACCESS_DENIED = "AccessDenied"
    WAREHOUSE_NOT_FOUND = "WarehouseNotFound"
    NOT_ALLOWED = "NotAllowed"
    CATALOG_DOWN = "CatalogDown"
    OBSERVATION_FAILED = "ObservationFailed"
    TABLE_NOT_FOUND = "TableNotFound"
    UNSUPPORTED = "Unsupported"
    CORRUPT = "Corrupt"

    @property
    def is_well(self) -> bool:
        """Whether the table needs no attention."""
        return self in {TableHealth.HEALTHY, TableHealth.UNKNOWN, TableHealth.SUSPENDED}


@part()
class RunSummary:
    """A finished Compaction of the table."""

    name: str = Field(description="Its name.", max_length=NAME_LENGTH)
    strategy: str = Field(description="Its strategy.", max_length=16)
    reason: str = Field(description="How it ended.", max_length=63)
    completion_time: Time = Field(description="When it ended.")
    recorded_time: Time | None = Field(
        default=None,
        description="When the operator recorded it: later if it was down when the run ended.",
    )
    message: str = Field(default="", description="How it ended, for people.", max_length=MESSAGE_LENGTH)
    snapshot_id: SnapshotText | None = Field(default=None, description="The snapshot that it committed.")


@part()
class MaintenanceRecord:
    """The last run of one kind of maintenance, and the next one."""

    kind: str = Field(description="The kind.", max_length=63)
    name: str | None = Field(default=None, description="The last run that ended.", max_length=NAME_LENGTH)
    reason: str | None = Field(default=None, description="How it ended.", max_length=63)
    message: str = Field(default="", description="How it ended, for people.", max_length=MESSAGE_LENGTH)
    completion_time: Time | None = Field(default=None, description="When it ended.")
    recorded_time: Time | None = Field(default=None, description="When the operator recorded it.")
    consecutive_failures: int = Field(default=0, description="Runs that failed since the last success.", ge=0)
    held_until: Time | None = Field(
        default=None, description="After a failure: when the next automatic one may start."
    )
    next_time: Time | None = Field(default=None, description="When the next one is due by its schedule.")


MOST_SECONDS = 1e12
"""Processor seconds of a table: thirty thousand years."""


@part()
class TableUsage:
    """What the Compactions of a table have taken so far, deleted ones included."""

    runs: int = Field(default=0, description="Compactions that ended with a result.", ge=0)
    core_seconds: float = Field(default=0.0, description="Sum of their coreSeconds.", ge=0, le=MOST_SECONDS)
    input_bytes: int = Field(default=0, description="Bytes read.", ge=0)
    output_bytes: int = Field(default=0, description="Bytes written.", ge=0)


@part()
class CancelledRun:
    """A Compaction that the operator began by itself and a user cancelled."""

    name: str = Field(description="Its name.", max_length=NAME_LENGTH)
    completion_time: Time = Field(description="When it ended.")
    table_generation: int = Field(description="The generation of the LakeTable then.", ge=0)
    policy_generation: int = Field(description="The generation of its policy then.", ge=0)


NOT_OBSERVED = "the table has not been observed yet"
"""WHY before the first observation."""
MOST_BLOCKED = 64
"""Number of blocked groups that are remembered; others are retried, after a back-off."""


class BlockReason(StrEnum):
    """Why a group of files cannot be compacted."""

    CORRUPT_FILES = "CorruptFiles"
    UNSUPPORTED_FILES = "UnsupportedFiles"


@part()
class BucketBlock:
    """A group of files, in Paimon a bucket, that cannot be compacted while its files stay as they are."""

    bucket: str = Field(description="Its path.", max_length=GROUP_LENGTH)
    reason: str = Field(description="CorruptFiles or UnsupportedFiles.", max_length=63)
    message: str = Field(
        default="",
        description="The file or column that prevents it, and what is wrong with it.",
        max_length=MESSAGE_LENGTH,
    )
    fingerprint: str = Field(
        description="Identifies its files; once they change, the group is tried again.", max_length=64
    )

    @classmethod
    def of(cls, blocked: BlockedGroup, length: int = MESSAGE_LENGTH) -> BucketBlock:
        """A blocked group in status, with a bounded description of its problem."""
        corrupt, unsupported = BlockReason.CORRUPT_FILES, BlockReason.UNSUPPORTED_FILES
        return cls(
            bucket=blocked.group,
            reason=(corrupt if blocked.is_corrupt else unsupported).value,
            message=shortened(blocked.problem, length),
            fingerprint=blocked.fingerprint,
        )


@part()
class LakeTableStatus:
    """The observed state of the table."""

    observed_generation: int = Field(
        default=-1, description="The last generation of the spec that was processed.", ge=-1
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Ready: it can be loaded and compacted, and its last compaction did not fail. "
        "CompactionNeeded: a trigger fired. WriterCompacts: its writers or others compact it, too. "
        "SnapshotsExpire: something expires its snapshots. BucketsBlocked: some groups of files cannot be "
        "compacted. Duplicate: an older LakeTable is for the same table.",
        max_length=16,
        json_schema_extra=CONDITIONS,
    )
    health: TableHealth = Field(
        default=TableHealth.UNKNOWN,
        description="The table's health in a word. Failing: its last compaction failed.",
    )
    table_uuid: str | None = Field(
        default=None, description="Distinguishes a table from another one of the same name.", max_length=128
    )
    observation: ObservationSummary | None = Field(default=None, description="Figures of the table.")
    size: str | None = Field(
        default=None, description="Bytes of its files, for people, such as 6.1Gi.", max_length=16
    )
    debt: str | None = Field(
        default=None,
        description="Bytes that a compaction would read because a trigger fired, for people. Bytes that an "
        "expiry of snapshots would free follow after a plus, as in `1.2Gi+5.0Mi`. Unset if there are none.",
        max_length=32,
    )
    blocked_buckets: tuple[BucketBlock, ...] = Field(
        default=(),
        description="Groups of files that cannot be compacted; left out until their files change.",
        max_length=MOST_BLOCKED,
    )
    blocked_bucket_count: int = Field(
        default=0, description="Number of groups known that cannot be compacted.", ge=0
    )
    due: str | None = Field(
        default=None, description="Why it is compacted next, or why it is not.", max_length=1024
    )
    active_compaction: str | None = Field(
        default=None, description="The active Compaction.", max_length=NAME_LENGTH
    )
    last_compaction: RunSummary | None = Field(default=None, description="The last one that ended.")
    last_failure: RunSummary | None = Field(
        default=None, description="The last one that failed; unset once one succeeds."
    )
    last_success_time: Time | None = Field(
        default=None, description="When a compaction last succeeded, with or without work."
    )
    last_full_time: Time | None = Field(default=None, description="When a full compaction last succeeded.")
    next_full_time: Time | None = Field(default=None, description="When the next full one is due.")
    consecutive_failures: int = Field(
        default=0, description="Compactions that failed since the last success.", ge=0
    )
    held_until: Time | None = Field(
        default=None, description="After a failure: when the next automatic one may start."
    )
    cancelled_run: CancelledRun | None = Field(
        default=None,
        description="No automatic compaction follows this one until the table, the LakeTable or its policy "
        "changes, or retries.maxBackoffSeconds have passed.",
    )
    maintenance: tuple[MaintenanceRecord, ...] = Field(
        default=(),
        description="The last run of each kind of maintenance, and the next one.",
        max_length=16,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["kind"]},
    )
    usage: TableUsage = Field(default=TableUsage(), description="What its Compactions have taken.")
    handled_request: str | None = Field(
        default=None,
        description="The last value of the annotation lithify.dev/requested-at that was handled.",
        max_length=256,
    )
    runs: int = Field(
        default=0, description="Number of Compactions created for it so far; part of their names.", ge=0
    )


@part(name_rule("LakeTable", OWN_NAME_LENGTH))
class LakeTable:
    """A table that is kept compacted."""

    metadata: Metadata
    spec: LakeTableSpec
    status: LakeTableStatus = LakeTableStatus()
