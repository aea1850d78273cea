"""Statuses that users wrote: whatever they say, they decide about no object of another namespace."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest

from lithify.controller.deciding.admission import Caps
from lithify.controller.reconciling.slots import Slots
from lithify.controller.reconciling.store import Store
from lithify.controller.running.facts import RunFacts
from lithify.controller.running.failures import memory_factor
from lithify.controller.running.machine import step
from lithify.controller.telemetry.metrics import Metrics, new_registry
from lithify.resources.compaction import Compaction, CompactionStatus
from lithify.resources.names import COMPACTION, LABEL_TABLE, LAKE_TABLE, ResourceKind
from lithify.resources.reading import read_object
from lithify.resources.table import LakeTable, LakeTableStatus
from support.operators.objects import compaction, lake_table
from support.statuses import statuses

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RUNS, TABLES = statuses(CompactionStatus), statuses(LakeTableStatus)
AGES = "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"


def stored(kind: ResourceKind, body: dict[str, Any], namespace: str, status: dict[str, Any]) -> Any:
    """An object as the operator reads it from the API server."""
    name = body["metadata"]["name"]
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"{namespace}-{name}",
        "creationTimestamp": "2026-01-01T11:00:00Z",
        "labels": {LABEL_TABLE: "t"},
    }
    return read_object(kind, {**body, "metadata": metadata, "status": status})


def table(namespace: str, status: dict[str, Any]) -> LakeTable:
    body = lake_table("t", catalog="lake", policy="default")
    found: LakeTable = stored(LAKE_TABLE, body, namespace, status)
    return found


def run(number: int, status: dict[str, Any]) -> Compaction:
    found: Compaction = stored(COMPACTION, compaction(f"run-{number}", "t"), "hostile", status)
    return found


def is_held_up(forged: list[dict[str, Any]]) -> bool:
    """Whether a table waits because of the statuses of runs in another namespace."""
    store = Store()
    mine = table("mine", {})
    for one in (mine, table("hostile", {})):
        store.tables.put(one)
    for number, status in enumerate(forged):
        store.compactions.put(run(number, status))
    slots = Slots(store, Caps(total=2, per_namespace=1), lambda: 0.0)
    return slots.limit_of_table(mine, 1, NOON) is not None


def at_work(**changes: Any) -> dict[str, Any]:
    """The status of a run that claims to be running."""
    condition = {
        "type": "Succeeded",
        "status": "Unknown",
        "reason": "Running",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }
    return {"conditions": [condition], "attempts": 1, **changes}


@pytest.mark.parametrize("time", AGES)
@pytest.mark.parametrize("reason", ["Compacted", "Running"])
def test_the_time_of_a_run_holds_up_no_other_namespace(time: str, reason: str) -> None:
    forged = at_work(startTime=time)
    forged["conditions"][0] |= {"reason": reason, "status": "True"}
    assert not is_held_up([forged])


def test_forged_runs_take_no_more_slots_than_their_namespace_has() -> None:
    assert not is_held_up([at_work() for _ in range(5)])


def test_a_run_shares_no_slot_with_a_driver_of_another_namespace() -> None:
    store = Store()
    driver = {"lead": "run-0", "leadUid": "a-driver-of-mine"}
    for namespace in ("mine", "hostile", "third"):
        store.tables.put(table(namespace, {}))
    for namespace in ("mine", "hostile"):
        shared = compaction("run-0", "t")
        store.compactions.put(stored(COMPACTION, shared, namespace, at_work(sharedRun=driver)))
    slots = Slots(store, Caps(total=2), lambda: 0.0)
    assert slots.limit_of_table(table("third", {}), 1, NOON) is not None


@settings(deadline=None)
@given(forged=st.lists(RUNS, max_size=4))
def test_no_status_holds_up_another_namespace(forged: list[dict[str, Any]]) -> None:
    assert not is_held_up(forged)


@settings(deadline=None)
@given(forged=RUNS)
def test_every_status_of_a_run_has_a_next_step(forged: dict[str, Any]) -> None:
    found = run(0, forged)
    assert step(found, RunFacts(), NOON).status is not None
    assert memory_factor(found) >= 1


@settings(deadline=None)
@given(runs=st.lists(RUNS, max_size=3), tables=st.lists(TABLES, max_size=3))
def test_metrics_can_be_scraped_with_every_status(
    runs: list[dict[str, Any]], tables: list[dict[str, Any]]
) -> None:
    registry = new_registry()
    metrics = Metrics(registry, per_table=True)
    for number, status in enumerate(tables):
        found = table(f"hostile-{number}", status)
        metrics.table_changed(found.metadata.key, found.status, found.spec.identifier)
    for number, status in enumerate(runs):
        metrics.compaction_changed(run(number, status).metadata.key, run(number, status))
    assert b"lithify_tables" in generate_latest(registry)
