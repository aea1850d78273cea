"""The CompactionPolicy resource: when and how tables are compacted, and limits on resources."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from lithify.resources.figures import with_trigger_groups
from lithify.resources.maintenance import TIME_ZONE_OF_MAINTENANCE, Maintenance
from lithify.resources.modelling import OWN_NAME_LENGTH, Rule, name_rule, part, rules
from lithify.resources.objects import CONDITIONS, Condition, Metadata
from lithify.resources.quantities import Quantity
from lithify.resources.recurrence import FIVE_FIELDS, schedule_field
from lithify.resources.spark_template import SparkTemplate
from lithify.resources.table import TimeZone
from lithify.resources.windows import Window

PartitionValues = Annotated[
    Mapping[Annotated[str, Field(min_length=1, max_length=128)], Annotated[str, Field(max_length=256)]],
    Field(
        min_length=1,
        max_length=16,
        json_schema_extra=rules(
            Rule(
                "self.all(name, name.size() >= 1 && name.size() <= 128)",
                "names of partition columns have 1 to 128 characters",
            )
        ),
    ),
]
"""Values of partition columns; columns that are not named may have any value."""


class Approval(StrEnum):
    """Whether a run needs an approval after it has been planned."""

    AUTOMATIC = "Automatic"
    MANUAL = "Manual"


CHECK_SECONDS = 60
"""Default seconds between two observations of a table."""


@part()
@with_trigger_groups
class Triggers:
    """When a minor compaction is due, by kind of table, as formats declare it (`figures`).

    What is unset is as the table's own options say.
    """


@part(
    Rule(
        "has(self.intervalSeconds) != has(self.schedule)",
        "set exactly one of intervalSeconds and schedule",
    ),
    FIVE_FIELDS,
    Rule(
        "!has(self.startingDeadlineSeconds) || has(self.schedule)",
        "startingDeadlineSeconds needs a schedule",
        ".startingDeadlineSeconds",
    ),
)
class FullCompactions:
    """When tables are compacted fully, regardless of their triggers."""

    interval_seconds: int | None = Field(
        default=None, description="Maximum seconds between two full compactions.", ge=60, le=31536000
    )
    schedule: str | None = schedule_field()
    starting_deadline_seconds: int | None = Field(
        default=None,
        description="A scheduled time that was missed by more seconds than this is skipped.",
        ge=60,
        le=604800,
    )


@part(Rule("self.startHour != self.endHour", "startHour and endHour must differ"))
class OffPeakHours:
    """Hours in which larger compactions are preferred."""

    start_hour: int = Field(description="From this hour on, in the table's time zone.", ge=0, le=23)
    end_hour: int = Field(description="Until this hour, which is not included.", ge=0, le=23)
    size_ratio_percent: int = Field(
        description="Per cent added to the size ratio (compaction.offpeak-ratio).", ge=1, le=10000
    )


@part()
class Limits:
    """Limits on active runs and on what they read."""

    active_runs: int = Field(
        default=4, description="Maximum number of active runs under this policy.", ge=1, le=1000
    )
    bytes_per_hour: Quantity | None = Field(
        default=None, description="Bytes that runs started within one hour may read together."
    )


@part(Rule("has(self.files) || has(self.bytes)", "set files, bytes or both"))
class MinGain:
    """Minimum benefit of a minor compaction; reaching one of several is enough."""

    files: int | None = Field(
        default=None, description="Minimum number of files that it can remove.", ge=1, le=1000000
    )
    bytes: Quantity | None = Field(default=None, description="Minimum size that it reads.")


@part()
class SharedRuns:
    """One Spark application compacts several small tables, each with a Compaction, to save starts."""

    max_tables: int = Field(
        default=20, description="Maximum number of tables of one application.", ge=2, le=50
    )
    max_bytes: Quantity = Field(default="1Gi", description="Maximum bytes that they read together.")
    max_table_bytes: Quantity = Field(
        default="64Mi", description="A run that reads more has an application of its own."
    )
    wait_seconds: int = Field(
        default=30, description="Seconds that a run waits for others to share with.", ge=0, le=3600
    )


@part()
class Retries:
    """How often a run is retried after a failure, by kind of failure."""

    infrastructure: int = Field(
        default=3,
        description="Retries after a lost driver or node, or if storage does not answer.",
        ge=0,
        le=10,
    )
    scheduling: int = Field(
        default=2, description="Retries if the cluster has no resources, or no image.", ge=0, le=10
    )
    conflict: int = Field(
        default=3, description="Retries if other writers changed every group of files.", ge=0, le=10
    )
    out_of_memory: int = Field(
        default=2, description="Retries after a lack of memory; each has 1.5 times as much.", ge=0, le=10
    )
    bug: int = Field(default=1, description="Retries after unexpected failures.", ge=0, le=10)
    backoff_seconds: int = Field(
        default=10,
        description="Seconds before the first retry; they double each time, with jitter.",
        ge=1,
        le=3600,
    )
    max_backoff_seconds: int = Field(
        default=600, description="The longest wait before a retry, in seconds.", ge=1, le=86400
    )


@part()
class Deadlines:
    """How long a run may stay in a stage."""

    queued_seconds: int = Field(
        default=86400, description="Seconds to wait for a slot and for the table's lock.", ge=60, le=604800
    )
    scheduling_seconds: int = Field(
        default=600, description="Seconds from the creation of the driver to its start.", ge=10, le=86400
    )
    planning_seconds: int = Field(default=1800, description="Seconds for planning.", ge=10, le=86400)
    running_seconds: int = Field(default=43200, description="Seconds for rewriting files.", ge=60, le=604800)
    committing_seconds: int = Field(default=1800, description="Seconds for committing.", ge=10, le=86400)
    searching_seconds: int = Field(
        default=1800,
        description="Seconds to search a table that cannot be read for commits of a run.",
        ge=10,
        le=86400,
    )
    lost_seconds: int = Field(
        default=300,
        description="Seconds that a driver may be unreachable, or on a lost node, before it counts as lost.",
        ge=10,
        le=86400,
    )


@part()
class HistoryLimits:
    """Which finished Compactions are kept. The last success is always kept."""

    successful_runs: int = Field(
        default=3, description="Successful Compactions kept for each table.", ge=1, le=100
    )
    failed_runs: int = Field(default=3, description="Failed Compactions kept for each table.", ge=0, le=100)


@part(
    Rule(
        "!has(self.windows) || size(self.windows) == 0 || has(self.timeZone)",
        "windows need a timeZone",
        ".timeZone",
    ),
    Rule(
        "!has(self.full) || !has(self.full.schedule) || has(self.timeZone)",
        "a schedule needs a timeZone",
        ".timeZone",
    ),
    *TIME_ZONE_OF_MAINTENANCE,
    Rule(
        "self.retries.backoffSeconds <= self.retries.maxBackoffSeconds",
        "backoffSeconds must not be above maxBackoffSeconds",
        ".retries",
    ),
    Rule(
        "!has(self.minIntervalSeconds) || !has(self.full) || !has(self.full.intervalSeconds) "
        "|| self.minIntervalSeconds <= self.full.intervalSeconds",
        "minIntervalSeconds must not be above full.intervalSeconds, which it would delay each time",
        ".minIntervalSeconds",
    ),
)
class CompactionPolicySpec:
    """Settings for the tables that follow the policy."""

    suspend: bool = Field(
        default=False,
        description="The operator starts no compactions under this policy. Those that users create go on.",
    )
    check_interval_seconds: int | None = Field(
        default=None,
        description="Seconds between two checks for new snapshots of a table. Default: what "
        f"its option continuous.discovery-interval or its format asks for, else {CHECK_SECONDS}.",
        ge=1,
        le=86400,
    )
    full_check_interval_seconds: int = Field(
        default=3600,
        description="Seconds between two complete observations of a table, which also notice rollbacks.",
        ge=60,
        le=604800,
    )
    triggers: Triggers = Field(default=Triggers(), description="When minor compactions are due.")
    full: FullCompactions | None = Field(
        default=None,
        description="When full compactions are due. Unset: only on request, or after the number of commits "
        "that a table's full-compaction.delta-commits says.",
    )
    time_zone: TimeZone | None = Field(
        default=None, description="Time zone of windows and schedule, for example Europe/Berlin."
    )
    windows: tuple[Window, ...] = Field(
        default=(), description="When compactions may start. Empty: at any time.", max_length=16
    )
    maintenance: Maintenance = Field(
        default=Maintenance(), description="When old snapshots expire, orphan files are removed, and so on."
    )
    off_peak: OffPeakHours | None = Field(
        default=None, description="Hours in which larger compactions are preferred."
    )
    partitions: tuple[PartitionValues, ...] = Field(
        default=(),
        description="Only partitions with the values of one of these, such as {region: eu}; columns that are "
        "not named may have any value. Empty: all.",
        max_length=64,
    )
    partition_idle_seconds: int | None = Field(
        default=None,
        description="Full compactions take only partitions without writes for this many seconds.",
        ge=60,
        le=31536000,
    )
    min_interval_seconds: int | None = Field(
        default=None,
        description="Minimum seconds between the table's last compaction and the next automatic one.",
        ge=1,
        le=2592000,
    )
    min_gain: MinGain | None = Field(
        default=None,
        description="Minor compactions with a smaller benefit are held back; reaching one of the two is "
        "enough. Unset: none is held back.",
    )
    shared_runs: SharedRuns | None = Field(
        default=None,
        description="Small tables of one Catalog share Spark applications. Unset: each has its own.",
    )
    limits: Limits = Field(default=Limits(), description="Limits on active runs and on what they read.")
    priority: int = Field(default=100, description="Order of waiting runs; higher goes first.", ge=0, le=1000)
    approval: Approval = Field(
        default=Approval.AUTOMATIC, description="Manual: each run waits, planned, for `approved: true`."
    )
    canary: bool = Field(
        default=False,
        description="Each run compacts a copy of the table first, a branch, and goes on only if a foreign "
        "reader finds the same rows in it as before. Takes twice as long or longer. Tables without such "
        "canaries end with Unsupported.",
    )
    yield_to_writers: bool = Field(
        default=False,
        description="Snapshots of compactions let Polaris and Lakekeeper, where this is enabled there, "
        "remove them in favour of a writer's commit. The Compaction is RolledBack then, and its table is due "
        "again by its triggers. Concerns tables of Iceberg in a REST catalog only.",
    )
    retries: Retries = Field(default=Retries(), description="How often a failed run is retried.")
    deadlines: Deadlines = Field(default=Deadlines(), description="How long a run may stay in a stage.")
    spark: SparkTemplate = Field(default=SparkTemplate(), description="The Spark application.")
    history: HistoryLimits = Field(
        default=HistoryLimits(), description="Which finished Compactions are kept."
    )
    ttl_seconds_after_finished: int | None = Field(
        default=None,
        description="Deletes finished Compactions after this many seconds, except the last success.",
        ge=0,
        le=31536000,
    )


@part()
class CompactionPolicyStatus:
    """The observed state of the policy."""

    observed_generation: int = Field(
        default=-1, description="The last generation of the spec that was processed.", ge=-1
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Ready: schedule and time zone can be understood.",
        max_length=8,
        json_schema_extra=CONDITIONS,
    )
    tables: int | None = Field(default=None, description="Number of LakeTables that follow it.", ge=0)


@part(name_rule("CompactionPolicy", OWN_NAME_LENGTH))
class CompactionPolicy:
    """When and how tables are compacted, and limits on resources."""

    metadata: Metadata
    spec: CompactionPolicySpec
    status: CompactionPolicyStatus = CompactionPolicyStatus()
