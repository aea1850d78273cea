"""What /metrics shows of runs at work and runs that wait, also after another operator has taken over."""

from __future__ import annotations

from datetime import datetime
from time import monotonic, sleep
from urllib.request import urlopen

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from infrastructure.chart.judging import ask
from infrastructure.chart.queries import OF_SCRAPES, queries
from infrastructure.cluster.processes import free_ports
from infrastructure.oracle.client import Table
from lithify.resources.compaction import Reason
from support.operators.objects import QUIET
from support.operators.server import COMPACTIONS, PATIENCE
from support.operators.stage import Stage

Shown = dict[tuple[str, tuple[str, ...]], float]
"""Values by the name of a series and its labels' values, in the order of the labels' names."""
BUSY = {"lithify_waiting_compactions": 2.0, "lithify_active_compactions": 3.0}


def page(port: int) -> list[Metric]:
    """All metrics that the operator exports."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return list(text_string_to_metric_families(answer.read().decode()))


def shown(port: int) -> Shown:
    """All series."""
    samples = [sample for family in page(port) for sample in family.samples]
    return {(one.name, tuple(dict(sorted(one.labels.items())).values())): one.value for one in samples}


def until_busy(port: int) -> Shown:
    """All series, as soon as one run is at work and two wait."""
    deadline = monotonic() + PATIENCE
    while True:
        found = shown(port)
        sums = {name: sum(value for (one, _), value in found.items() if one == name) for name in BUSY}
        if sums == BUSY:
            return found
        assert monotonic() < deadline, sums
        sleep(0.2)


def test_runs_at_work_and_waiting_are_counted_by_each_leader(plain: Table, alone: Stage) -> None:
    (port,) = free_ports(1)
    alone.operator.options = ("--launcher", "process", "--listen", f"127.0.0.1:{port}", "--table-metrics")
    alone.operator.restart()
    words = ("orders", "users", "events")
    under = {"triggers": QUIET, "limits": {"activeRuns": 1}}
    first = alone.care_for(alone.copied(plain), under=under)
    others = [alone.care_for(alone.copied(plain, word), word, under=first.policy) for word in words[1:]]
    with alone.holds.armed("planned") as hold:
        run = alone.run(first, "first")
        hold.reached()
        waiting = [alone.run(care, care.lake) for care in others]
        for one in waiting:
            alone.stands(one, Reason.QUEUED)

        before = until_busy(port)
        assert before["lithify_compactions_started_total", ("Full",)] == 1
        alone.operator.kill()
        alone.operator.restart()
        after = until_busy(port)

        began = alone.server.get(COMPACTIONS, run)["status"]["startTime"]
        moment = datetime.fromisoformat(began).timestamp()
        labels = (first.table.name, first.lake, alone.server.namespace)
        for each in (before, after):
            assert each["lithify_oldest_run_start_timestamp_seconds", ()] == moment
            assert each["lithify_table_run_start_timestamp_seconds", labels] == moment
        hold.release()
    for one in (run, *waiting):
        alone.ended(one)
        alone.stands(one, Reason.COMPACTED)
    assert shown(port)["lithify_compactions_started_total", ("Full",)] == len(waiting)
    assert missing_for_queries(page(port)) == []


def missing_for_queries(exported: list[Metric]) -> list[str]:
    """Names that alerts and dashboard use and a page lacks, and such labels of names that have series."""
    ends = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}
    names = {f"{one.name}{end}" for one in exported for end in ends.get(one.type, ("",))}
    labels: dict[str, set[str]] = {}
    for sample in (sample for one in exported for sample in one.samples):
        labels.setdefault(sample.name, set(OF_SCRAPES)).update(sample.labels)
    found = []
    for answer in ask([{"query": query} for _, query in queries()]):
        for name, asked in answer["series"].items():
            found += [] if name in names else [name]
            found += [f"{name}: {label}" for label in {*asked} - labels.get(name, {*asked})]
    return sorted({*found})
