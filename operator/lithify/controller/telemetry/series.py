"""Every time series of the operator: name, type, labels, meaning.

`metrics` makes them, `page` writes docs/metrics.md of them. Names follow Prometheus's conventions: base
units, `_total` for counters. Labels have few values; only the series of `TABLE_SERIES` have one per table,
and they are off by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from lithify.formats.declarations import Block, Figure, Total
from lithify.resources.figures import BLOCKS


class Shape(StrEnum):
    """Prometheus's types."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Series:
    """A family of time series.

    Attributes:
        name: in full.
        shape: its type.
        meaning: what it measures, as a clause.
        labels: names of its labels.
        buckets: upper bounds of a histogram's buckets, in seconds.
    """

    name: str
    shape: Shape
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _gauge(name: str, meaning: str, *labels: str) -> Series:
    return Series(name, Shape.GAUGE, meaning, labels)


def _counter(name: str, meaning: str, *labels: str) -> Series:
    return Series(name, Shape.COUNTER, meaning, labels)


def _histogram(name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Series:
    return Series(name, Shape.HISTOGRAM, meaning, labels, buckets)


_REQUEST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Buckets up to the timeouts: the API server waits ten seconds for etcd, the client thirty for the API
server."""
_OBSERVATION = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_RUN = (1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 21600.0, 43200.0)
"""Buckets up to the default deadline of a run's longest stage."""

TABLES = _gauge("lithify_tables", "LakeTables, by the reason of their condition Ready", "reason")
TABLES_BY_HEALTH = _gauge("lithify_tables_by_health", "LakeTables, by HEALTH", "health")
DUE_TABLES = _gauge("lithify_due_tables", "LakeTables in which a trigger has fired")
FILES = _gauge("lithify_files", "data files of all tables")
BYTES = _gauge("lithify_bytes", "bytes of these files")
SMALL_FILES = _gauge("lithify_small_files", "files below the size from which files are left alone")
DEBT_BYTES = _gauge("lithify_debt_bytes", "compaction debt: bytes that due compactions would read")
DUE_BUCKETS = _gauge("lithify_due_buckets", "groups of files in which a trigger has fired")
BLOCKED_BUCKETS = _gauge(
    "lithify_blocked_buckets", "groups of files that cannot be compacted until their files change"
)
SNAPSHOTS = _gauge("lithify_snapshots", "retained snapshots of all tables")
EXPIRED_BYTES = _gauge("lithify_expired_bytes", "minimum bytes of files that only older snapshots need")


@dataclass(frozen=True, slots=True)
class DeclaredTotal:
    """A metric over all tables of a figure that a format declares."""

    block: Block
    figure: Figure
    total: Total
    series: Series


def _declared_totals() -> Iterator[DeclaredTotal]:
    for block in BLOCKS:
        for figure in block.figures:
            for total in () if figure.metric is None else figure.metric.totals:
                labels = ("tables",) if total.is_by_size else ()
                series = _gauge(f"lithify_{total.name}", total.meaning, *labels)
                yield DeclaredTotal(block, figure, total, series)


DECLARED_TOTALS = tuple(_declared_totals())

OBSERVATIONS = _counter("lithify_observations_total", "observations of tables, by result", "result")
OBSERVATION_SECONDS = _histogram(
    "lithify_observation_duration_seconds", "duration of an observation of a table", _OBSERVATION, "result"
)
OBSERVATION_AGE = _gauge(
    "lithify_oldest_observation_age_seconds", "age of the oldest among all tables' last observations"
)
TROUBLED_CATALOGS = _gauge(
    "lithify_troubled_catalogs",
    "1 for each Catalog that cannot be used, or not for some of its tables, by HEALTH",
    *("catalog_namespace", "catalog", "health"),
)

QUEUE_DEPTH = _gauge("lithify_queue_depth", "objects queued for reconciliation")
QUEUE_AGE = _gauge("lithify_queue_oldest_age_seconds", "wait of the first object in the queue")
RECONCILES = _counter("lithify_reconciles_total", "reconciliations, by result", "kind", "result")
RECONCILE_SECONDS = _histogram(
    "lithify_reconcile_duration_seconds", "duration of a reconciliation", _REQUEST, "kind"
)

ACTIVE = _gauge("lithify_active_compactions", "unfinished Compactions, by stage", "stage")
WAITING = _gauge(
    "lithify_waiting_compactions",
    "runs that limits hold back: Compactions, and due tables without one",
)
OLDEST_START = _gauge(
    "lithify_oldest_run_start_timestamp_seconds",
    "start of the longest active run; no value while none is active",
)
STARTED = _counter(
    "lithify_compactions_started_total",
    "Compactions whose first attempt began, by strategy or kind of maintenance",
    "strategy",
)
FINISHED = _counter(
    "lithify_compactions_finished_total",
    "Compactions that ended, by strategy or kind of maintenance, and by STATUS. A Compaction that is rolled "
    "back later counts twice: as Compacted and as RolledBack",
    "strategy",
    "reason",
)
RUN_SECONDS = _histogram(
    "lithify_compaction_duration_seconds",
    "time from the first attempt of a Compaction to its end",
    _RUN,
    "strategy",
    "reason",
)
STAGE_SECONDS = _histogram(
    "lithify_compaction_stage_duration_seconds", "how long Compactions stay in a stage", _RUN, "stage"
)
ATTEMPTS = _counter(
    "lithify_compaction_attempts_total", "ended attempts: succeeded, or the kind of failure", "outcome"
)
LAUNCHES = _counter("lithify_driver_launches_total", "starts of drivers, by result", "result")
INPUT_FILES = _counter("lithify_compaction_input_files_total", "files that were rewritten")
OUTPUT_FILES = _counter("lithify_compaction_output_files_total", "files that replaced them")
INPUT_BYTES = _counter("lithify_compaction_input_bytes_total", "bytes read")
OUTPUT_BYTES = _counter("lithify_compaction_output_bytes_total", "bytes written")
INPUT_ROWS = _counter("lithify_compaction_input_rows_total", "rows read")
OUTPUT_ROWS = _counter("lithify_compaction_output_rows_total", "rows written")
UPGRADED_FILES = _counter("lithify_compaction_upgraded_files_total", "files that only changed their level")
BUCKETS = _counter("lithify_compaction_buckets_total", "groups of files that were compacted")
SKIPPED_BUCKETS = _counter(
    "lithify_compaction_skipped_buckets_total",
    "groups of files left out because others changed them during the run, or because they are blocked",
)
TASKS = _counter("lithify_compaction_tasks_total", "Spark tasks")
TASK_RETRIES = _counter("lithify_compaction_task_retries_total", "retries of tasks")
CORE_SECONDS = _counter(
    "lithify_compaction_core_seconds_total", "CPU time of drivers and executors, their JVMs included"
)
TASK_SECONDS = _counter("lithify_compaction_task_seconds_total", "CPU time of the tasks alone")
_PAYER = ("table_namespace", "policy")
"""Who pays for a run: the namespace of its LakeTable, and the policy."""
USED_CORE_SECONDS = _counter(
    "lithify_usage_core_seconds_total",
    "CPU time of drivers and executors, their JVMs included, by namespace and policy",
    *_PAYER,
)
USED_INPUT_BYTES = _counter("lithify_usage_input_bytes_total", "bytes read, by namespace and policy", *_PAYER)
USED_OUTPUT_BYTES = _counter(
    "lithify_usage_output_bytes_total", "bytes written, by namespace and policy", *_PAYER
)
ORPHANS = _counter("lithify_compaction_orphans_deleted_total", "files of dead attempts that were removed")

REQUESTS = _counter(
    "lithify_api_requests_total",
    "requests to the API server; code 0 means no response",
    "verb",
    "kind",
    "code",
)
REQUEST_SECONDS = _histogram(
    "lithify_api_request_duration_seconds", "duration of requests to the API server", _REQUEST, "verb", "kind"
)
WRITES = _counter("lithify_api_writes_total", "requests to the API server that change objects", "kind")

LEADER = _gauge("lithify_leader", "1 if this process leads, 0 if it stands by")
LOOP_LAG = _gauge("lithify_event_loop_lag_seconds", "recent delay of the event loop")
BUILD = _gauge("lithify_build_info", "always 1; the label is the release", "version")

RENAMED_BY_SCRAPES = frozenset(
    {
        "cluster",
        "container",
        "endpoint",
        "instance",
        "job",
        "namespace",
        "node",
        "pod",
        "prometheus",
        "service",
    }
)
"""Labels that a scrape sets itself: ours of that name would become `exported_namespace` and so on."""

TABLE_LABELS = ("table_namespace", "table", "identifier")
"""Namespace and name of the LakeTable, and the table's name in its catalog."""


def field_of(block: Block, figure: Figure) -> str:
    """The key in `TABLE_SERIES` of a figure that a format declares."""
    return f"{block.name}.{figure.name}"


def _declared_series() -> Iterator[tuple[str, str, str]]:
    """The series of single tables that formats declare: key, name and meaning."""
    for block in BLOCKS:
        for figure in block.figures:
            if figure.metric is not None:
                yield field_of(block, figure), figure.metric.name, figure.metric.meaning


TABLE_SERIES: dict[str, Series] = {
    field: _gauge(f"lithify_table_{name}", meaning, *TABLE_LABELS)
    for field, name, meaning in (
        ("files", "files", "data files"),
        ("bytes", "bytes", "bytes of them"),
        ("small_files", "small_files", "files below the size from which files are left alone"),
        *_declared_series(),
        ("due_bytes", "debt_bytes", "bytes that the due compaction would read"),
        ("due_groups", "due_buckets", "groups of files in which a trigger has fired"),
        (
            "blocked_buckets",
            "blocked_buckets",
            "groups of files that cannot be compacted until their files change",
        ),
        ("failures", "consecutive_failures", "compactions that failed since the last success"),
        ("snapshots", "snapshots", "retained snapshots"),
        ("run_start", "run_start_timestamp_seconds", "start of the active run"),
        ("core_seconds", "core_seconds", "CPU time that its compactions have taken so far"),
        ("last_success", "last_success_timestamp_seconds", "when a compaction last succeeded"),
        ("last_full", "last_full_timestamp_seconds", "when a full compaction last succeeded"),
    )
}
"""By the observed field."""

SECTIONS: dict[str, tuple[Series, ...]] = {
    "Tables": (
        TABLES,
        TABLES_BY_HEALTH,
        DUE_TABLES,
        FILES,
        BYTES,
        SMALL_FILES,
        *(each.series for each in DECLARED_TOTALS),
        DEBT_BYTES,
        DUE_BUCKETS,
        BLOCKED_BUCKETS,
        SNAPSHOTS,
        EXPIRED_BYTES,
    ),
    "Observations of tables": (OBSERVATIONS, OBSERVATION_SECONDS, OBSERVATION_AGE, TROUBLED_CATALOGS),
    "Compactions": (
        ACTIVE,
        WAITING,
        OLDEST_START,
        STARTED,
        FINISHED,
        RUN_SECONDS,
        STAGE_SECONDS,
        ATTEMPTS,
        LAUNCHES,
        INPUT_FILES,
        OUTPUT_FILES,
        INPUT_BYTES,
        OUTPUT_BYTES,
        INPUT_ROWS,
        OUTPUT_ROWS,
        UPGRADED_FILES,
        BUCKETS,
        SKIPPED_BUCKETS,
        TASKS,
        TASK_RETRIES,
        CORE_SECONDS,
        TASK_SECONDS,
        ORPHANS,
        USED_CORE_SECONDS,
        USED_INPUT_BYTES,
        USED_OUTPUT_BYTES,
    ),
    "The operator itself": (
        QUEUE_DEPTH,
        QUEUE_AGE,
        RECONCILES,
        RECONCILE_SECONDS,
        REQUESTS,
        REQUEST_SECONDS,
        WRITES,
        LEADER,
        LOOP_LAG,
        BUILD,
    ),
    "One series per table": tuple(TABLE_SERIES.values()),
}
"""All of them, as the page groups them."""
