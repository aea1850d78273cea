"""Figures of tables and of active Compactions, summed at each scrape of Prometheus.

Fed by `metrics`. A change of a table or a run costs one assignment here, whatever the number of tables.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from lithify.controller.telemetry import series
from lithify.controller.telemetry.series import TABLE_SERIES, Series
from lithify.formats.declarations import Combine, Figure, Kind, Total
from lithify.plain_text import plain_line
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.figures import figures_in
from lithify.resources.names import ObjectKey
from lithify.resources.objects import READY, condition_of
from lithify.resources.table import LakeTableStatus, ObservationSummary, TableHealth

_LONGEST_NAME = 256
"""Characters of a table's name in a label."""
OTHER = "Other"
"""Replaces unexpected label values, so that their number stays bounded."""
_REASON = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_MOST_REASONS = 64
_OBSERVED = ("files", "bytes", "small_files", "due_bytes", "due_groups")
_ALL_PERCENT = 100
_LARGE = 1 << 30
"""Bytes from which a table counts as large: what is wrong with small ones costs little."""
_AT_WORK = frozenset(
    {
        Reason.SUBMITTING,
        Reason.PLANNING,
        Reason.WAITING_FOR_EXECUTORS,
        Reason.RUNNING,
        Reason.COMMITTING,
        Reason.SEARCHING_COMMIT,
        Reason.BACKING_OFF,
    }
)
_SUMS = {
    series.FILES: attrgetter("files"),
    series.BYTES: attrgetter("bytes"),
    series.SMALL_FILES: attrgetter("small_files"),
    series.DEBT_BYTES: attrgetter("due_bytes"),
    series.DUE_BUCKETS: attrgetter("due_groups"),
}


@dataclass(frozen=True, slots=True)
class _Table:
    """The figures of a table that metrics show."""

    reason: str
    health: TableHealth
    failures: int
    identifier: str
    observation: ObservationSummary | None
    last_success: datetime | None
    last_full: datetime | None
    blocked_buckets: int
    core_seconds: float

    def figures(self) -> Iterator[tuple[str, float]]:
        """The known figures, by the fields of `TABLE_SERIES`."""
        seen = self.observation
        yield "failures", self.failures
        yield "core_seconds", self.core_seconds
        if seen is not None:
            yield from ((field, getattr(seen, field)) for field in _OBSERVED)
            yield "blocked_buckets", self.blocked_buckets
            if seen.snapshots is not None:
                yield "snapshots", seen.snapshots.count
            yield from _declared_figures(seen)
        for field, moment in (("last_success", self.last_success), ("last_full", self.last_full)):
            if moment is not None:
                yield field, moment.timestamp()


def _declared_figures(seen: ObservationSummary) -> Iterator[tuple[str, float]]:
    """Figures of the table's kind; other tables have none of these series, rather than zeros."""
    for block, figure, value in figures_in(seen):
        if figure.metric is not None:
            yield series.field_of(block, figure), _measured(figure, value)


def _measured(figure: Figure, value: int | str) -> float:
    """The value of a figure in base units, as Prometheus has it."""
    return float(value) / (_ALL_PERCENT if figure.kind is Kind.PERCENT else 1)


class TableCollector(Collector):
    """Sums the figures of all tables at each scrape."""

    def __init__(self, runs: RunCollector, *, per_table: bool) -> None:
        self._runs = runs
        self._per_table = per_table
        self._known: dict[ObjectKey, _Table] = {}
        self._reasons: set[str] = set()

    def put(self, key: ObjectKey, status: LakeTableStatus | None, identifier: str) -> None:
        """Sets the current state of a LakeTable; None if it is gone."""
        if status is None:
            self._known.pop(key, None)
            return
        ready = condition_of(status.conditions, READY)
        reason = self._bounded(ready.reason if ready else "Unknown")
        self._known[key] = _Table(
            reason=reason,
            health=status.health,
            failures=status.consecutive_failures,
            identifier=plain_line(identifier, _LONGEST_NAME),
            observation=status.observation,
            last_success=status.last_success_time,
            last_full=status.last_full_time,
            blocked_buckets=status.blocked_bucket_count,
            core_seconds=status.usage.core_seconds,
        )

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Returns the families without values."""
        return self._families({})

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Returns the families with current values; called in another thread."""
        return self._families(self._known.copy())

    def _bounded(self, reason: str) -> str:
        if reason not in self._reasons:
            if len(self._reasons) >= _MOST_REASONS or not _REASON.fullmatch(reason):
                return OTHER
            self._reasons.add(reason)
        return reason

    def _families(self, tables: dict[ObjectKey, _Table]) -> Iterator[GaugeMetricFamily]:
        seen = [table.observation for table in tables.values() if table.observation is not None]
        reasons = Tally(table.reason for table in tables.values())
        yield family_of(series.TABLES, [((reason,), count) for reason, count in sorted(reasons.items())])
        words = Tally(table.health for table in tables.values())
        yield family_of(series.TABLES_BY_HEALTH, [((word.value,), words[word]) for word in TableHealth])
        yield family_of(series.DUE_TABLES, [((), sum(one.due_bytes > 0 for one in seen))])
        for one, figure in _SUMS.items():
            yield family_of(one, [((), sum(map(figure, seen)))])
        yield from _declared_totals(seen)
        yield family_of(series.BLOCKED_BUCKETS, [((), sum(one.blocked_buckets for one in tables.values()))])
        kept = [one.snapshots for one in seen if one.snapshots is not None]
        yield family_of(series.SNAPSHOTS, [((), sum(one.count for one in kept))])
        yield family_of(series.EXPIRED_BYTES, [((), sum(one.expired_bytes for one in kept))])
        yield from self._own(tables if self._per_table else {})

    def _own(self, tables: dict[ObjectKey, _Table]) -> Iterator[GaugeMetricFamily]:
        """The series of single tables."""
        families = {field: family_of(one, ()) for field, one in TABLE_SERIES.items()}
        starts = self._runs.starts()
        for key, table in tables.items():
            labels = (key.namespace, key.name, table.identifier)
            for field, value in table.figures():
                families[field].add_metric(labels, value)
            if key in starts:
                families["run_start"].add_metric(labels, starts[key])
        yield from families.values()


def _declared_totals(seen: Iterable[ObservationSummary]) -> Iterator[GaugeMetricFamily]:
    """Totals over the tables that have a figure; 0 where none has: alerts and dashboards need a value."""
    found: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
    for one in seen:
        for field, value in _declared_figures(one):
            found[field].append((value, one.bytes >= _LARGE))
    for each in series.DECLARED_TOTALS:
        values = found[series.field_of(each.block, each.figure)]
        whole = _combined(each.total, (value for value, _ in values))
        if each.total.is_by_size:
            of_large = _combined(each.total, (value for value, is_large in values if is_large))
            yield family_of(each.series, [(("all",), whole), (("large",), of_large)])
        else:
            yield family_of(each.series, [((), whole)])


def _combined(total: Total, values: Iterable[float]) -> float:
    return sum(values) if total.combine is Combine.SUM else max(values, default=0)


@dataclass(frozen=True, slots=True)
class _Run:
    """The figures of an unfinished Compaction."""

    stage: Reason
    table: ObjectKey
    began: float | None

    @classmethod
    def of(cls, run: Compaction) -> _Run:
        status = run.status
        began = None
        if status.start_time is not None and run.reason in _AT_WORK:
            began = status.start_time.timestamp() + status.waited_seconds
        return cls(run.reason, ObjectKey(run.metadata.namespace, run.spec.table_ref.name), began)


class RunCollector(Collector):
    """Counts unfinished Compactions by stage."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, _Run] = {}

    def put(self, key: ObjectKey, run: Compaction | None) -> None:
        """Sets the current state of a Compaction; None if it is gone."""
        if run is None or run.is_over:
            self._known.pop(key, None)
        else:
            self._known[key] = _Run.of(run)

    def starts(self) -> dict[ObjectKey, float]:
        """Start of the longest active run of a table, in seconds since the epoch."""
        found: dict[ObjectKey, float] = {}
        for run in self._known.copy().values():
            if run.began is not None:
                found[run.table] = min(run.began, found.get(run.table, run.began))
        return found

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Returns the families without values."""
        return iter([family_of(series.ACTIVE, ()), family_of(series.OLDEST_START, ())])

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Returns the families with current values; called in another thread."""
        counts = Tally(run.stage for run in self._known.copy().values())
        stages = [reason for reason in Reason if not reason.is_final]
        yield family_of(series.ACTIVE, [((stage.value,), counts[stage]) for stage in stages])
        oldest = min(self.starts().values(), default=None)
        yield family_of(series.OLDEST_START, [] if oldest is None else [((), oldest)])


def family_of(one: Series, values: Iterable[tuple[tuple[str, ...], float]]) -> GaugeMetricFamily:
    """A family of gauges with values by their labels."""
    family = GaugeMetricFamily(one.name, help_of(one), labels=one.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def help_of(one: Series) -> str:
    """The help text that Prometheus shows beside a name."""
    return f"{one.meaning[0].upper()}{one.meaning[1:]}."
