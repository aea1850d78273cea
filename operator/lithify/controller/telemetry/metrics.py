"""What the controller counts and measures, for Prometheus.

The controller calls the methods of `Metrics`; `server` shows the registry. Each call is a few dictionary
operations. Figures of tables are added up when they are asked for, so that a change of one costs nothing.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import disable_created_metrics
from prometheus_client.registry import Collector

from lithify.controller.telemetry import series
from lithify.controller.telemetry.series import SECTIONS, TABLE_SERIES, Series, Shape
from lithify.errors import Failure
from lithify.resources.compaction import SUCCEEDED, CompactionStatus, Reason, ResultSummary, Strategy
from lithify.resources.names import EVENT, LEASE, NETWORK_POLICY, OWN_KINDS, POD, SECRET, Kind, ObjectKey
from lithify.resources.objects import READY, condition_of
from lithify.resources.table import LakeTableStatus, ObservationSummary

OTHER = "Other"
"""Stands for label values that nobody expected, so that there are never many."""
_REASON = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_MOST_REASONS = 64
_KINDS = frozenset(kind.name for kind in (*OWN_KINDS, POD, SECRET, EVENT, LEASE, NETWORK_POLICY))
_READS = frozenset({"GET", "LIST", "WATCH"})
_VERBS = _READS | {"POST", "PUT", "PATCH", "DELETE"}
_RESULTS = frozenset({"changed", "unchanged", "failed", "timed-out"})
_ENDINGS = frozenset({"done", "conflict", "failed"})
_LAUNCHES = frozenset({"started", "found", "refused", "unavailable"})


def new_registry() -> CollectorRegistry:
    """A registry with what is known of this process: memory, processor time, open files."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


class Metrics:
    """All series of the operator.

    Args:
        registry: takes them.
        version: of this release.
        per_table: whether each table has series of its own.
    """

    def __init__(self, registry: CollectorRegistry, version: str = "", *, per_table: bool = False) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the counters and say nothing that a restart does not
        self.registry = registry
        self._tables = _Tables(per_table=per_table)
        self._runs = _Runs()
        computed = {family.name for part in (self._tables, self._runs) for family in part.describe()}
        kept = [one for part in SECTIONS.values() for one in part if one.name not in computed]
        self._gauges = {
            one: Gauge(*_arguments(one), registry=registry) for one in kept if one.shape is Shape.GAUGE
        }
        self._counters = {
            one: Counter(*_arguments(one), registry=registry) for one in kept if one.shape is Shape.COUNTER
        }
        self._histograms = {
            one: Histogram(*_arguments(one), buckets=one.buckets, registry=registry)
            for one in kept
            if one.shape is Shape.HISTOGRAM
        }
        for part in (self._tables, self._runs):
            registry.register(part)
        self._gauges[series.BUILD].labels(version or "unknown").set(1)

    def table_changed(self, key: ObjectKey, status: LakeTableStatus | None) -> None:
        """A LakeTable says this now; None if it is gone, and its series with it."""
        self._tables.put(key, status)

    def observed(self, result: str, seconds: float) -> None:
        """A look at a table ended: changed, unchanged, failed or timed-out."""
        known = _known(result, _RESULTS)
        self._counters[series.OBSERVATIONS].labels(known).inc()
        self._histograms[series.OBSERVATION_SECONDS].labels(known).observe(seconds)

    def observation_age(self, seconds: float) -> None:
        """How long ago the table was looked at whose last look is the oldest."""
        self._gauges[series.OBSERVATION_AGE].set(seconds)

    def queue(self, depth: int, oldest_seconds: float) -> None:
        """How many objects wait to be reconciled, and how long the first of them has."""
        self._gauges[series.QUEUE_DEPTH].set(depth)
        self._gauges[series.QUEUE_AGE].set(oldest_seconds)

    def reconciled(self, kind: str, result: str, seconds: float) -> None:
        """A reconciliation ended: done, conflict or failed."""
        known = _known(kind, _KINDS)
        self._counters[series.RECONCILES].labels(known, _known(result, _ENDINGS)).inc()
        self._histograms[series.RECONCILE_SECONDS].labels(known).observe(seconds)

    def compaction_changed(self, key: ObjectKey, reason: Reason | None) -> None:
        """A Compaction stands here now; None if it is gone."""
        self._runs.put(key, reason)

    def stage_left(self, stage: Reason, seconds: float) -> None:
        """A Compaction left a stage after so long."""
        self._histograms[series.STAGE_SECONDS].labels(stage.value).observe(max(0.0, seconds))

    def attempt_ended(self, failure: Failure | None) -> None:
        """An attempt ended; None if it succeeded."""
        outcome = "succeeded" if failure is None else failure.value
        self._counters[series.ATTEMPTS].labels(outcome).inc()

    def compaction_finished(self, status: CompactionStatus, strategy: Strategy) -> None:
        """A Compaction has just come to its end; to be called once for each."""
        condition = condition_of(status.conditions, SUCCEEDED)
        reason = _known(condition.reason if condition else "", frozenset(Reason))
        self._counters[series.FINISHED].labels(strategy.value, reason).inc()
        if status.start_time is not None and status.completion_time is not None:
            seconds = (status.completion_time - status.start_time).total_seconds()
            self._histograms[series.RUN_SECONDS].labels(strategy.value, reason).observe(max(0.0, seconds))
        if status.result is not None:
            self._add(status.result)

    def launched(self, result: str) -> None:
        """A driver was to be started: started, found, refused or unavailable."""
        self._counters[series.LAUNCHES].labels(_known(result, _LAUNCHES)).inc()

    def request(self, verb: str, kind: Kind, code: int, seconds: float) -> None:
        """A request to the API server ended; `code` is 0 if there was no answer."""
        method, name = _known(verb.upper(), _VERBS), _known(kind.name, _KINDS)
        status = str(code) if 0 <= code < 600 else OTHER  # there are no others in HTTP
        self._counters[series.REQUESTS].labels(method, name, status).inc()
        self._histograms[series.REQUEST_SECONDS].labels(method, name).observe(seconds)
        if method not in _READS:
            self._counters[series.WRITES].labels(name).inc()

    def leads(self, is_leader: bool) -> None:
        """Whether this process does the work."""
        self._gauges[series.LEADER].set(is_leader)

    def loop_lag(self, seconds: float) -> None:
        """By how much the event loop was late of late."""
        self._gauges[series.LOOP_LAG].set(seconds)

    def _add(self, result: ResultSummary) -> None:
        for one, field in _RESULT_FIELDS.items():
            self._counters[one].inc(getattr(result, field))


_RESULT_FIELDS = {
    series.INPUT_FILES: "input_files",
    series.OUTPUT_FILES: "output_files",
    series.INPUT_BYTES: "input_bytes",
    series.OUTPUT_BYTES: "output_bytes",
    series.INPUT_ROWS: "input_rows",
    series.OUTPUT_ROWS: "output_rows",
    series.UPGRADED_FILES: "upgraded_files",
    series.BUCKETS: "buckets",
    series.SKIPPED_BUCKETS: "skipped_buckets",
    series.TASKS: "tasks",
    series.TASK_RETRIES: "task_retries",
    series.CORE_SECONDS: "core_seconds",
    series.ORPHANS: "orphans_deleted",
}
_OBSERVED = ("files", "bytes", "small_files", "level0_files", "sorted_runs", "due_bytes", "due_buckets")
_SUMS = {
    series.FILES: attrgetter("files"),
    series.BYTES: attrgetter("bytes"),
    series.SMALL_FILES: attrgetter("small_files"),
    series.LEVEL0_FILES: attrgetter("level0_files"),
    series.DEBT_BYTES: attrgetter("due_bytes"),
    series.DUE_BUCKETS: attrgetter("due_buckets"),
}
_MAXIMA = {
    series.MAX_LEVEL0_FILES: attrgetter("level0_files"),
    series.MAX_SORTED_RUNS: attrgetter("sorted_runs"),
}


@dataclass(frozen=True, slots=True)
class _Table:
    """What is shown of a table."""

    reason: str
    observation: ObservationSummary | None
    last_success: datetime | None
    last_full: datetime | None
    blocked_buckets: int

    def figures(self) -> Iterator[tuple[str, float]]:
        """What is known, by the fields of `TABLE_SERIES`."""
        seen = self.observation
        if seen is not None:
            yield from ((field, getattr(seen, field)) for field in _OBSERVED)
            yield "blocked_buckets", self.blocked_buckets
            if seen.snapshots is not None:
                yield "snapshots", seen.snapshots.count
        for field, moment in (("last_success", self.last_success), ("last_full", self.last_full)):
            if moment is not None:
                yield field, moment.timestamp()


class _Tables(Collector):
    """Adds up what the tables say, each time that it is asked."""

    def __init__(self, *, per_table: bool) -> None:
        self._per_table = per_table
        self._known: dict[ObjectKey, _Table] = {}
        self._reasons: set[str] = set()

    def put(self, key: ObjectKey, status: LakeTableStatus | None) -> None:
        if status is None:
            self._known.pop(key, None)
            return
        ready = condition_of(status.conditions, READY)
        reason = self._bounded(ready.reason if ready else "Unknown")
        self._known[key] = _Table(
            reason=reason,
            observation=status.observation,
            last_success=status.last_success_time,
            last_full=status.last_full_time,
            blocked_buckets=status.blocked_bucket_count,
        )

    def describe(self) -> Iterator[GaugeMetricFamily]:
        return self._families({})

    def collect(self) -> Iterator[GaugeMetricFamily]:
        return self._families(self._known.copy())  # asked for in another thread

    def _bounded(self, reason: str) -> str:
        if reason not in self._reasons:
            if len(self._reasons) >= _MOST_REASONS or not _REASON.fullmatch(reason):
                return OTHER
            self._reasons.add(reason)
        return reason

    def _families(self, tables: dict[ObjectKey, _Table]) -> Iterator[GaugeMetricFamily]:
        seen = [table.observation for table in tables.values() if table.observation is not None]
        reasons = Tally(table.reason for table in tables.values())
        yield _family(series.TABLES, [((reason,), count) for reason, count in sorted(reasons.items())])
        yield _family(series.DUE_TABLES, [((), sum(one.due_buckets > 0 for one in seen))])
        for one, figure in _SUMS.items():
            yield _family(one, [((), sum(map(figure, seen)))])
        for one, figure in _MAXIMA.items():
            yield _family(one, [((), max(map(figure, seen), default=0))])
        yield _family(series.BLOCKED_BUCKETS, [((), sum(one.blocked_buckets for one in tables.values()))])
        kept = [one.snapshots for one in seen if one.snapshots is not None]
        yield _family(series.SNAPSHOTS, [((), sum(one.count for one in kept))])
        yield _family(series.EXPIRED_BYTES, [((), sum(one.expired_bytes for one in kept))])
        families = {field: _family(one, ()) for field, one in TABLE_SERIES.items()}
        for key, table in tables.items() if self._per_table else ():
            for field, value in table.figures():
                families[field].add_metric((key.namespace, key.name), value)
        yield from families.values()


class _Runs(Collector):
    """Counts the Compactions that are not at their end, by where they stand."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, Reason] = {}

    def put(self, key: ObjectKey, reason: Reason | None) -> None:
        if reason is None or reason.is_final:
            self._known.pop(key, None)
        else:
            self._known[key] = reason

    def describe(self) -> Iterator[GaugeMetricFamily]:
        return iter([_family(series.ACTIVE, ())])

    def collect(self) -> Iterator[GaugeMetricFamily]:
        counts = Tally(self._known.copy().values())
        stages = [reason for reason in Reason if not reason.is_final]
        return iter([_family(series.ACTIVE, [((stage.value,), counts[stage]) for stage in stages])])


def _family(one: Series, values: Iterable[tuple[tuple[str, ...], float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(one.name, _help(one), labels=one.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _arguments(one: Series) -> tuple[str, str, tuple[str, ...]]:
    return one.name, _help(one), one.labels


def _help(one: Series) -> str:
    return f"{one.meaning[0].upper()}{one.meaning[1:]}."


def _known(value: str, allowed: Iterable[str]) -> str:
    return value if value in allowed else OTHER
