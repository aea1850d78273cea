"""The controller's metrics, for Prometheus.

The controller calls the methods of `Metrics`; `server` shows the registry. Each call is a few dictionary
operations. Figures of tables are summed at each scrape, so that a change of one costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.metrics import disable_created_metrics

from lithify.controller.telemetry import series
from lithify.controller.telemetry.collectors import OTHER, RunCollector, TableCollector, help_of
from lithify.controller.telemetry.series import SECTIONS, Series, Shape
from lithify.errors import Failure
from lithify.resources.compaction import (
    SUCCEEDED,
    Compaction,
    CompactionStatus,
    Reason,
    ResultSummary,
    RunStrategy,
)
from lithify.resources.maintenance import RunKind
from lithify.resources.names import (
    EVENT,
    LEASE,
    NETWORK_POLICY,
    OWN_KINDS,
    POD,
    SECRET,
    ObjectKey,
    ResourceKind,
)
from lithify.resources.objects import condition_of
from lithify.resources.table import LakeTableStatus, TableHealth

_KINDS = frozenset(kind.name for kind in (*OWN_KINDS, POD, SECRET, EVENT, LEASE, NETWORK_POLICY))
_READS = frozenset({"GET", "LIST", "WATCH"})
_VERBS = _READS | {"POST", "PUT", "PATCH", "DELETE"}
_RESULTS = frozenset({"changed", "unchanged", "failed", "timed-out", "not-asked"})
_MOST_PAYERS = 2000
"""Number of policies with series of their own."""
_ENDINGS = frozenset({"done", "conflict", "failed"})
_LAUNCHES = frozenset({"started", "found", "refused", "unavailable"})


def new_registry() -> CollectorRegistry:
    """A registry with figures of this process: memory, processor time, open files."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


class Metrics:
    """All series of the operator.

    Args:
        registry: where they are registered.
        version: of this release.
        per_table: whether each table has series of its own.
    """

    def __init__(self, registry: CollectorRegistry, version: str = "", *, per_table: bool = False) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the counters and say nothing that a restart does not
        self.registry = registry
        self._runs = RunCollector()
        self._tables = TableCollector(self._runs, per_table=per_table)
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
        self._troubles: dict[ObjectKey, frozenset[TableHealth]] = {}
        self._payers: set[ObjectKey] = set()
        self._begin_at_zero()
        self._gauges[series.BUILD].labels(version or "unknown").set(1)

    def table_changed(self, key: ObjectKey, status: LakeTableStatus | None, identifier: str = "") -> None:
        """Sets the state of a LakeTable; None if it is gone, which removes its series."""
        self._tables.put(key, status, identifier)

    def observed(self, result: str, seconds: float) -> None:
        """Counts an observation: changed, unchanged, failed, timed-out or not-asked."""
        known = _known(result, _RESULTS)
        self._counters[series.OBSERVATIONS].labels(known).inc()
        self._histograms[series.OBSERVATION_SECONDS].labels(known).observe(seconds)

    def observation_age(self, seconds: float) -> None:
        """Sets the age of the oldest among all tables' last observations."""
        self._gauges[series.OBSERVATION_AGE].set(seconds)

    def catalog_changed(self, key: ObjectKey, words: Iterable[TableHealth]) -> None:
        """Sets what is wrong with a Catalog; nothing if it is gone. Only those in trouble have series."""
        gauge, now = self._gauges[series.TROUBLED_CATALOGS], frozenset(words)
        for word in self._troubles.pop(key, frozenset()) - now:
            gauge.remove(key.namespace, key.name, word.value)
        for word in now:
            gauge.labels(key.namespace, key.name, word.value).set(1)
        if now:
            self._troubles[key] = now

    def queue(self, depth: int, oldest_seconds: float) -> None:
        """Sets the number of queued objects, and how long the first of them has waited."""
        self._gauges[series.QUEUE_DEPTH].set(depth)
        self._gauges[series.QUEUE_AGE].set(oldest_seconds)

    def reconciled(self, kind: str, result: str, seconds: float) -> None:
        """Counts a reconciliation: done, conflict or failed."""
        known = _known(kind, _KINDS)
        self._counters[series.RECONCILES].labels(known, _known(result, _ENDINGS)).inc()
        self._histograms[series.RECONCILE_SECONDS].labels(known).observe(seconds)

    def waiting(self, count: int) -> None:
        """Sets the number of runs, begun or not, that limits hold back."""
        self._gauges[series.WAITING].set(count)

    def compaction_changed(self, key: ObjectKey, run: Compaction | None) -> None:
        """Sets the state of a Compaction; None if it is gone."""
        self._runs.put(key, run)

    def compaction_started(self, work: str) -> None:
        """Counts the first attempt of a Compaction that does this; to be called once for each."""
        self._counters[series.STARTED].labels(_known(work, _WORK)).inc()

    def stage_left(self, stage: Reason, seconds: float) -> None:
        """Measures how long a Compaction was in a stage."""
        self._histograms[series.STAGE_SECONDS].labels(stage.value).observe(max(0.0, seconds))

    def attempt_ended(self, failure: Failure | None) -> None:
        """Counts the end of an attempt; None if it succeeded."""
        outcome = "succeeded" if failure is None else failure.value
        self._counters[series.ATTEMPTS].labels(outcome).inc()

    def compaction_finished(
        self, status: CompactionStatus, work: str, policy: ObjectKey | None = None
    ) -> None:
        """Counts the end of a Compaction, and what it has taken from its table's policy; once for each."""
        condition = condition_of(status.conditions, SUCCEEDED)
        reason = _known(condition.reason if condition else "", frozenset(Reason))
        strategy = _known(work, _WORK)
        self._counters[series.FINISHED].labels(strategy, reason).inc()
        if status.start_time is not None and status.completion_time is not None:
            seconds = (status.completion_time - status.start_time).total_seconds()
            self._histograms[series.RUN_SECONDS].labels(strategy, reason).observe(max(0.0, seconds))
        if status.result is not None:
            self._add(status.result)
        if status.result is not None and policy is not None:
            payer = self._payer(policy)
            for one, field in _USAGE_FIELDS.items():
                self._counters[one].labels(*payer).inc(getattr(status.result, field))

    def compaction_rolled_back(self, work: str) -> None:
        """Counts a Compaction, whose end was counted before, as rolled back."""
        self._counters[series.FINISHED].labels(_known(work, _WORK), Reason.ROLLED_BACK.value).inc()

    def _payer(self, policy: ObjectKey) -> tuple[str, str]:
        """The labels of a policy; `Other` beyond the limit, since tenants can make any number of policies."""
        if policy not in self._payers and len(self._payers) >= _MOST_PAYERS:
            return OTHER, OTHER
        self._payers.add(policy)
        return policy.namespace, policy.name

    def launched(self, result: str) -> None:
        """Counts the start of a driver: started, found, refused or unavailable."""
        self._counters[series.LAUNCHES].labels(_known(result, _LAUNCHES)).inc()

    def request(self, verb: str, kind: ResourceKind, code: int, seconds: float) -> None:
        """Counts a request to the API server; `code` is 0 if there was no response."""
        method, name = _known(verb.upper(), _VERBS), _known(kind.name, _KINDS)
        status = str(code) if 0 <= code < 600 else OTHER  # HTTP has no others
        self._counters[series.REQUESTS].labels(method, name, status).inc()
        self._histograms[series.REQUEST_SECONDS].labels(method, name).observe(seconds)
        if method not in _READS:
            self._counters[series.WRITES].labels(name).inc()

    def leads(self, is_leader: bool) -> None:
        """Sets whether this process leads."""
        self._gauges[series.LEADER].set(is_leader)

    def loop_lag(self, seconds: float) -> None:
        """Sets the recent delay of the event loop."""
        self._gauges[series.LOOP_LAG].set(seconds)

    def _begin_at_zero(self) -> None:
        """Creates the usual counters at zero: `increase` ignores a series' first value."""
        for strategy in RunStrategy:
            self._counters[series.STARTED].labels(strategy.value)
            self._counters[series.FINISHED].labels(strategy.value, Reason.COMPACTED.value)
        self._counters[series.ATTEMPTS].labels("succeeded")

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
    series.TASK_SECONDS: "task_seconds",
    series.ORPHANS: "orphans_deleted",
}

_WORK = frozenset({*map(str, RunStrategy), *map(str, RunKind)} - {RunKind.COMPACT.value})

_USAGE_FIELDS = {
    series.USED_CORE_SECONDS: "core_seconds",
    series.USED_INPUT_BYTES: "input_bytes",
    series.USED_OUTPUT_BYTES: "output_bytes",
}


def _arguments(one: Series) -> tuple[str, str, tuple[str, ...]]:
    return one.name, help_of(one), one.labels


def _known(value: str, allowed: Iterable[str]) -> str:
    return value if value in allowed else OTHER
