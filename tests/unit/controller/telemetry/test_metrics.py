"""What the controller tells is what Prometheus reads, with labels of few values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from lithify.controller.telemetry.metrics import OTHER, Metrics, new_registry
from lithify.controller.telemetry.page import render
from lithify.controller.telemetry.series import RENAMED_BY_SCRAPES, SECTIONS, TABLE_SERIES, Series, Shape
from lithify.errors import Failure
from lithify.formats.declared import blocks
from lithify.resources.compaction import (
    Compaction,
    CompactionSpec,
    CompactionStatus,
    Reason,
    ResultSummary,
    RunStrategy,
)
from lithify.resources.modelling import plain
from lithify.resources.names import LAKE_TABLE, ObjectKey, ResourceKind
from lithify.resources.objects import Condition, ConditionStatus, Metadata, Reference
from lithify.resources.table import LakeTableStatus, SnapshotSummary, TableHealth
from support.observations import summary_with

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ORDERS, USERS = ObjectKey("sales", "orders"), ObjectKey("crm", "users")
ALL = tuple(chain.from_iterable(SECTIONS.values()))


def table(
    reason: str = "Loaded",
    tree: Mapping[str, int] | None = None,
    append: Mapping[str, int] | None = None,
    **seen: int,
) -> LakeTableStatus:
    """A table with these figures, and if it has levels with theirs and those of all other kinds."""
    others = {block.name: {} for block in blocks() if block.name not in ("mergeTree", "append")}
    ready = Condition(type="Ready", status=ConditionStatus.TRUE, reason=reason, last_transition_time=NOW)
    snapshots = SnapshotSummary(count=3, expired_bytes=50)
    return LakeTableStatus(
        conditions=(ready,),
        observation=summary_with(
            snapshots=plain(snapshots), mergeTree=tree, append=append, **(others if tree else {}), **seen
        ),
        last_success_time=NOW,
        last_full_time=NOW - timedelta(days=1),
    )


def run_of(
    key: ObjectKey, reason: Reason, started: datetime | None = None, waited: int = 0, word: str = "run"
) -> Compaction:
    """A Compaction of the table of a key."""
    condition = Condition(
        type="Succeeded", status=reason.status, reason=reason.value, last_transition_time=NOW
    )
    return Compaction(
        metadata=Metadata(name=f"{key.name}-{word}", namespace=key.namespace),
        spec=CompactionSpec(table_ref=Reference(name=key.name)),
        status=CompactionStatus(conditions=(condition,), start_time=started, waited_seconds=waited),
    )


def stands(metrics: Metrics, *args: Any, **named: Any) -> None:
    """Tells of a Compaction as the reconciler does."""
    run = run_of(*args, **named)
    metrics.compaction_changed(run.metadata.key, run)


def finished(reason: Reason, result: ResultSummary | None = None) -> CompactionStatus:
    condition = Condition(
        type="Succeeded", status=reason.status, reason=reason.value, last_transition_time=NOW
    )
    return CompactionStatus(
        conditions=(condition,),
        start_time=NOW - timedelta(seconds=90),
        completion_time=NOW,
        result=result,
    )


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def samples(registry: CollectorRegistry) -> Iterator[tuple[Metric, Sample]]:
    return ((family, sample) for family in registry.collect() for sample in family.samples)


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def everything(metrics: Metrics) -> None:
    """Calls every method."""
    seen = table(files=1, tree={"sizeAmplificationPercent": 50})
    metrics.table_changed(ORDERS, seen, "sales.orders")
    metrics.observed("changed", 0.1)
    metrics.observation_age(3.0)
    metrics.catalog_changed(ORDERS, {TableHealth.CATALOG_DOWN})
    metrics.queue(1, 2.0)
    metrics.reconciled("LakeTable", "done", 0.1)
    metrics.waiting(2)
    stands(metrics, ORDERS, Reason.RUNNING, NOW)
    metrics.compaction_started(RunStrategy.MINOR)
    metrics.stage_left(Reason.PLANNING, 3.0)
    metrics.attempt_ended(Failure.CONFLICT)
    compacted = finished(Reason.COMPACTED, ResultSummary(input_files=1))
    metrics.compaction_finished(compacted, RunStrategy.MINOR, ObjectKey("sales", "default"))
    metrics.compaction_rolled_back(RunStrategy.MINOR)
    metrics.launched("started")
    metrics.request("PATCH", LAKE_TABLE, 200, 0.1)
    metrics.leads(True)
    metrics.loop_lag(0.1)


def test_what_is_declared_is_what_is_shown(registry: CollectorRegistry) -> None:
    everything(Metrics(registry, "1.2.3", per_table=True))
    labels: dict[str, set[str]] = {}
    shapes: dict[str, str] = {}
    for family, sample in samples(registry):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        shapes[name] = family.type
        labels.setdefault(name, set()).update(sample.labels.keys() - {"le"})
    assert shapes == {one.name: one.shape.value for one in ALL}
    assert labels == {one.name: set(one.labels) for one in ALL}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_no_label_is_renamed_by_a_scrape(one: Series) -> None:
    assert not {*one.labels} & RENAMED_BY_SCRAPES


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_names_follow_the_conventions(one: Series) -> None:
    assert one.name.startswith("lithify_")
    assert one.name.endswith("_total") == (one.shape is Shape.COUNTER)
    assert not any(word in one.name for word in ("millis", "_ms", "minutes", "kilo", "_kb", "_mb"))
    assert ("_seconds" in one.name) >= any(word in one.name for word in ("duration", "_age", "_lag"))
    assert bool(one.buckets) == (one.shape is Shape.HISTOGRAM)
    assert list(one.buckets) == sorted(set(one.buckets))


def test_tables_are_added_up(registry: CollectorRegistry) -> None:
    metrics = Metrics(registry)
    metrics.table_changed(
        ORDERS,
        table(
            files=10,
            bytes=100,
            due_bytes=60,
            due_groups=2,
            tree={"level0Files": 4, "maxLevel0Files": 1, "sortedRuns": 7},
        ),
    )
    levels = {"level0Files": 3, "maxLevel0Files": 3, "sortedRuns": 9}
    users = table("TableNotFound", files=5, bytes=50, tree=levels)
    metrics.table_changed(USERS, users)
    metrics.table_changed(ObjectKey("a", "new"), LakeTableStatus())
    shown = {family.name: [s.value for s in family.samples] for family in registry.collect()}
    assert {name: shown[f"lithify_{name}"] for name in ("files", "bytes", "level0_files", "debt_bytes")} == {
        "files": [15],
        "bytes": [150],
        "level0_files": [7],
        "debt_bytes": [60],
    }
    assert (shown["lithify_max_sorted_runs"], shown["lithify_max_level0_files"]) == ([9], [3])
    assert (shown["lithify_due_tables"], shown["lithify_due_buckets"]) == ([1], [2])
    assert (shown["lithify_snapshots"], shown["lithify_expired_bytes"]) == ([6], [100])
    for reason in ("Loaded", "TableNotFound", "Unknown"):
        assert value(registry, "lithify_tables", reason=reason) == 1
    metrics.table_changed(ORDERS, table("Gone"))
    metrics.table_changed(USERS, None)
    metrics.table_changed(USERS, None)
    assert value(registry, "lithify_files") == 0
    assert value(registry, "lithify_tables", reason="Loaded") is None


@pytest.mark.parametrize("per_table", [False, True], ids=["without", "with"])
def test_a_tables_own_series_are_there_if_wanted_and_go_with_it(
    registry: CollectorRegistry, per_table: bool
) -> None:
    metrics = Metrics(registry, per_table=per_table)
    seen = table(files=10, due_bytes=60, tree={"sizeAmplificationPercent": 250})
    metrics.table_changed(ORDERS, seen, "shop.orders")
    stands(metrics, ORDERS, Reason.RUNNING, NOW)

    def own() -> dict[str, float]:
        return {
            s.name: s.value
            for _, s in samples(registry)
            if s.labels == {"table_namespace": "sales", "table": "orders", "identifier": "shop.orders"}
        }

    assert (own().keys() == {one.name for one in TABLE_SERIES.values()}) is per_table
    if per_table:
        assert own()["lithify_table_debt_bytes"] == 60
        assert own()["lithify_table_size_amplification_ratio"] == 2.5
        assert own()["lithify_table_run_start_timestamp_seconds"] == NOW.timestamp()
        assert own()["lithify_table_last_success_timestamp_seconds"] == NOW.timestamp()
    metrics.table_changed(ORDERS, None)
    assert own() == {}


@pytest.mark.parametrize("name", ['t"} 1\nlithify_leader 7', "or\x1b[2J\u202eders\r", "a\ud800b", "x" * 5000])
def test_the_name_of_a_table_adds_no_line_and_steers_no_terminal(
    registry: CollectorRegistry, name: str
) -> None:
    metrics = Metrics(registry, per_table=True)
    metrics.table_changed(ORDERS, table(files=10), f"shop.{name}")
    text = generate_latest(registry).decode()
    assert "\nlithify_leader 7" not in text
    assert not {"\x1b", "\u202e", "\r"} & set(text)
    shown = {each.labels["identifier"] for _, each in samples(registry) if "identifier" in each.labels}
    assert len(shown) == 1
    assert len(shown.pop()) <= 256


def test_a_table_without_levels_has_no_series_of_levels(registry: CollectorRegistry) -> None:
    metrics = Metrics(registry, per_table=True)
    levels = {"level0Files": 3, "maxLevel0Files": 3, "sortedRuns": 9}
    metrics.table_changed(USERS, table(files=5, due_bytes=10, due_groups=1, tree=levels), "crm.users")
    files = {"maxSmallFiles": 4}
    orders = table(files=7, bytes=1 << 40, due_bytes=20, due_groups=4, append=files)
    metrics.table_changed(ORDERS, orders, "sales.orders")
    shown = {
        sample.name.removeprefix("lithify_table_")
        for _, sample in samples(registry)
        if sample.labels.get("table") == "orders"
    }
    assert shown == {
        "files",
        "bytes",
        "small_files",
        "debt_bytes",
        "due_buckets",
        "blocked_buckets",
        "consecutive_failures",
        "core_seconds",
        "snapshots",
        "last_success_timestamp_seconds",
        "last_full_timestamp_seconds",
    }
    totals = {name: value(registry, f"lithify_{name}") for name in ("files", "level0_files", "due_buckets")}
    assert totals == {"files": 12, "level0_files": 3, "due_buckets": 5}
    assert (value(registry, "lithify_due_tables"), value(registry, "lithify_max_sorted_runs")) == (2, 9)
    metrics.table_changed(USERS, None)
    assert value(registry, "lithify_max_level0_files") == 0, "an alert needs a value"


def test_compactions_by_where_they_stand(registry: CollectorRegistry) -> None:
    metrics = Metrics(registry)
    stands(metrics, ORDERS, Reason.QUEUED)
    stands(metrics, USERS, Reason.RUNNING)
    stands(metrics, ORDERS, Reason.RUNNING)
    assert value(registry, "lithify_active_compactions", stage="Running") == 2
    assert value(registry, "lithify_active_compactions", stage="Queued") == 0
    stands(metrics, ORDERS, Reason.COMPACTED)
    for _ in range(2):
        metrics.compaction_changed(ObjectKey("crm", "users-run"), None)
    assert value(registry, "lithify_active_compactions", stage="Running") == 0


def test_the_run_at_work_longest(registry: CollectorRegistry) -> None:
    metrics, name = Metrics(registry), "lithify_oldest_run_start_timestamp_seconds"
    assert value(registry, name) is None
    ago = [NOW - timedelta(minutes=minutes) for minutes in (10, 20, 30)]
    stands(metrics, ORDERS, Reason.QUEUED)
    stands(metrics, USERS, Reason.SUSPENDED, ago[2])
    assert value(registry, name) is None, "neither is at work"
    stands(metrics, ORDERS, Reason.BACKING_OFF, ago[1])
    stands(metrics, USERS, Reason.RUNNING, ago[0], word="other")
    assert value(registry, name) == ago[1].timestamp()
    stands(metrics, USERS, Reason.COMMITTING, ago[2], waited=60)
    assert value(registry, name) == ago[2].timestamp() + 60, "what people let it wait does not count"
    for word in ("run", "other"):
        stands(metrics, USERS, Reason.COMPACTED, ago[2], word=word)
    stands(metrics, ORDERS, Reason.CANCELLED, ago[1])
    assert value(registry, name) is None


@pytest.mark.parametrize(
    ("size", "percent", "ratio"),
    [
        pytest.param(1 << 30, 250, 2.5, id="a large table"),
        pytest.param((1 << 30) - 1, 250, 0, id="a table too small to matter"),
        pytest.param(1 << 40, None, 0, id="nothing above level 0"),
    ],
)
def test_amplification_of_the_worst_table(
    registry: CollectorRegistry, size: int, percent: int | None, ratio: float
) -> None:
    metrics = Metrics(registry)
    for key, bytes_, levels in ((ORDERS, size, percent), (USERS, 1 << 31, 0)):
        tree = {"sizeAmplificationPercent": levels}
        metrics.table_changed(key, table(bytes=bytes_, tree=tree))
    shown = "lithify_max_size_amplification_ratio"
    assert value(registry, shown, tables="large") == ratio
    assert value(registry, shown, tables="all") == (percent or 0) / 100


def test_policies_pay_for_their_runs_by_fractions_of_seconds(registry: CollectorRegistry) -> None:
    metrics = Metrics(registry)
    result = ResultSummary(core_seconds=0.25, input_bytes=1000, output_bytes=900)
    for name in ("fast", "fast", "slow"):
        policy = ObjectKey("sales", name)
        metrics.compaction_finished(finished(Reason.COMPACTED, result), RunStrategy.MINOR, policy)
    paid = {"table_namespace": "sales", "policy": "fast"}
    assert value(registry, "lithify_usage_core_seconds_total", **paid) == 0.5
    assert value(registry, "lithify_usage_input_bytes_total", **paid) == 2000
    assert value(registry, "lithify_compaction_core_seconds_total") == 0.75


def test_results_are_added_up(registry: CollectorRegistry) -> None:
    metrics = Metrics(registry)
    result = ResultSummary(input_files=412, output_files=9, input_bytes=1000, skipped_buckets=2)
    metrics.compaction_finished(finished(Reason.COMPACTED, result), RunStrategy.MINOR)
    metrics.compaction_finished(finished(Reason.COMPACTED, result), RunStrategy.FULL)
    metrics.compaction_finished(finished(Reason.COMMIT_CONFLICT), RunStrategy.FULL)
    assert value(registry, "lithify_compactions_finished_total", strategy="Full", reason="Compacted") == 1
    assert (
        value(registry, "lithify_compactions_finished_total", strategy="Full", reason="CommitConflict") == 1
    )
    assert value(registry, "lithify_compaction_input_files_total") == 824
    assert value(registry, "lithify_compaction_skipped_buckets_total") == 4
    seconds = "lithify_compaction_duration_seconds_sum"
    assert value(registry, seconds, strategy="Minor", reason="Compacted") == 90


def test_usual_counters_begin_at_zero(registry: CollectorRegistry) -> None:
    Metrics(registry)
    for strategy in RunStrategy:
        assert value(registry, "lithify_compactions_started_total", strategy=strategy.value) == 0
        labels = {"strategy": strategy.value, "reason": "Compacted"}
        assert value(registry, "lithify_compactions_finished_total", **labels) == 0
    assert value(registry, "lithify_compaction_attempts_total", outcome="succeeded") == 0


def test_requests_and_writes(registry: CollectorRegistry) -> None:
    metrics = Metrics(registry)
    for verb in ("GET", "PATCH", "POST"):
        metrics.request(verb, LAKE_TABLE, 200, 0.1)
    assert value(registry, "lithify_api_writes_total", kind="LakeTable") == 2
    assert value(registry, "lithify_api_requests_total", verb="GET", kind="LakeTable", code="200") == 1


def test_labels_have_few_values_whatever_comes(registry: CollectorRegistry) -> None:
    metrics = Metrics(registry)
    for number in range(500):
        odd = f"Odd{number}"
        metrics.table_changed(ObjectKey("n", odd), table(odd))
        metrics.observed(odd, 0.1)
        metrics.reconciled(odd, odd, 0.1)
        metrics.launched(odd)
        metrics.request(odd, ResourceKind(odd, odd), 1000 + number, 0.1)
        stands(metrics, ObjectKey("n", odd.lower()), Reason.QUEUED)
    assert sum(1 for _ in samples(registry)) < 500
    assert value(registry, "lithify_observations_total", result=OTHER) == 500
    assert value(registry, "lithify_tables", reason=OTHER) == 500 - 64


def test_the_text_for_prometheus_has_each_family_once() -> None:
    registry = new_registry()
    everything(Metrics(registry, "1.2.3", per_table=True))
    text = generate_latest(registry).decode()
    heads = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    assert "_created" not in text
    assert any(head.startswith("process_") for head in heads)


def test_the_page_is_current() -> None:
    page = Path(__file__).parents[4] / "docs" / "metrics.md"
    assert page.read_text(encoding="utf-8") == render(), "run `make docs`"


def test_the_page_maps_names_to_series_that_there_are() -> None:
    known = {one.name for one in ALL}
    _, others = render().split("## Paimon's")
    named = [word.split("{")[0].removeprefix("time() - ") for word in others.split("`") if "lithify_" in word]
    prefixes = {"lithify_", "lithify_table_"}
    assert {name for name in named if name not in prefixes} <= known
    for name in (
        "level0.file.count",
        "compaction.time.ms",
        "compactions.queued.count",
        "total.file.size.bytes",
    ):
        assert f"`{name}`" in others


def test_only_catalogs_in_trouble_have_a_series_for_each_word() -> None:
    metrics = Metrics(new_registry())
    lake, shop = ObjectKey("sales", "lake"), ObjectKey("sales", "shop")

    def troubled() -> set[tuple[str, str]]:
        return {
            (sample.labels["catalog"], sample.labels["health"])
            for family in metrics.registry.collect()
            for sample in family.samples
            if family.name == "lithify_troubled_catalogs" and sample.value == 1
        }

    for key in (lake, shop, lake):
        metrics.catalog_changed(key, {TableHealth.CATALOG_DOWN, TableHealth.ACCESS_DENIED})
    both = {(name, word) for name in ("lake", "shop") for word in ("CatalogDown", "AccessDenied")}
    assert troubled() == both
    metrics.catalog_changed(shop, {TableHealth.ACCESS_DENIED})
    assert troubled() == both - {("shop", "CatalogDown")}
    for key in (lake, lake):
        metrics.catalog_changed(key, ())
    assert troubled() == {("shop", "AccessDenied")}
