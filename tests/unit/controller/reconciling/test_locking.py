"""Locks that an older release left, and holders that cannot be looked at."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from lithify.controller.cluster.table_lock import lock_name
from lithify.controller.driver import DriverState
from lithify.controller.reconciling.queue import Queue
from lithify.errors import ClusterRefused, ClusterUnavailable
from lithify.resources.catalog import CatalogSpec
from lithify.resources.compaction import Reason
from lithify.resources.names import LABEL_LOCK, ObjectKey
from support.running.world import World
from unit.controller.reconciling.shell import TEAM, Leases, ShellOperator

NAME = lock_name(TEAM, CatalogSpec(warehouse="/w"), "sales.orders")


def lease(name: str, run: str, uid: str, namespace: str = TEAM) -> dict[str, Any]:
    metadata = {"name": name, "labels": {LABEL_LOCK: "true"}}
    return {"metadata": metadata, "spec": {"holderIdentity": f"{namespace}/{run}/{uid}"}}


def done(work: Coroutine[Any, Any, None]) -> None:
    with suppress(StopIteration):
        while True:
            work.send(None)


def held(leases: Leases) -> dict[str, str]:
    return {name: body["spec"]["holderIdentity"] for name, body in leases.bodies.items()}


@pytest.fixture
def leases() -> Leases:
    return Leases()


@pytest.fixture
def operator(leases: Leases) -> ShellOperator:
    world = World()
    world.create("a")
    made = ShellOperator(world, leases)
    made.hear("a")
    return made


def test_a_lock_of_an_older_release_gets_its_new_name(operator: ShellOperator, leases: Leases) -> None:
    uid = operator.world.runs["a"].metadata.uid
    leases.put(lease("lithify-table-older", "a", uid))
    done(operator.shell.take_over())
    assert held(leases) == {NAME: f"{TEAM}/a/{uid}"}
    done(operator.shell.take_over())
    assert held(leases) == {NAME: f"{TEAM}/a/{uid}"}


@pytest.mark.parametrize(
    "problem", [RecursionError("deep"), ClusterUnavailable("get", "500"), ClusterRefused("get", "403")]
)
def test_a_holder_that_cannot_be_looked_at_keeps_its_lock_and_nobody_elses(
    operator: ShellOperator, leases: Leases, problem: Exception
) -> None:
    for run in ("mad", "gone"):
        leases.put(lease(f"lithify-table-{run}", run, "uid"))
    look = operator.drivers.observe

    async def looks(key: ObjectKey) -> DriverState | None:
        if key.name == "mad":
            raise problem
        return await look(key)

    operator.drivers.observe = looks  # type: ignore[method-assign]
    done(operator.shell.take_over())
    assert list(held(leases)) == ["lithify-table-mad"]


def test_who_holds_a_lock_is_told_within_a_namespace_only(operator: ShellOperator, leases: Leases) -> None:
    leases.put(lease(NAME, "secret-run", "uid", "secret-namespace"))
    look = operator.drivers.observe

    async def looks(key: ObjectKey) -> DriverState | None:
        if key.name == "secret-run":
            raise ClusterRefused("get", "403")
        return await look(key)

    operator.drivers.observe = looks  # type: ignore[method-assign]
    for _ in range(3):
        operator.finish("a")
    run = operator.world.runs["a"]
    assert run.reason is Reason.QUEUED
    text = str(run.status)
    assert "another namespace" in text
    assert "secret" not in text


def test_a_run_that_cannot_be_read_keeps_its_driver(operator: ShellOperator, leases: Leases) -> None:
    for _ in range(4):
        operator.finish("a")
    assert [pod.terminating for pod in operator.world.pods.values()] == [False]
    key = ObjectKey(TEAM, "a")
    operator.store.compactions.drop(key)  # as if what the API server tells of it meant nothing to us
    for _ in range(3):
        done(clear(operator, key))
    assert [pod.terminating for pod in operator.world.pods.values()] == [False]
    operator.world.runs["a"] = replace(
        operator.world.runs["a"], metadata=replace(operator.world.runs["a"].metadata, uid="another")
    )
    done(clear(operator, key))
    assert [pod.terminating for pod in operator.world.pods.values()] == [True]


def test_who_waits_is_woken_when_the_holder_is_deleted(
    operator: ShellOperator, leases: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        operator.finish("a")
    operator.world.create("b")
    for _ in range(3):
        operator.finish("b")
    assert operator.world.runs["b"].reason is Reason.QUEUED
    del operator.world.runs["a"]
    operator.world.pods.clear()
    operator.hear("a")
    woken: list[str] = []
    monkeypatch.setattr(Queue, "add", lambda *of: woken.append(of[-1].name))
    operator.finish("a")
    assert held(leases) == {}
    assert woken == ["b"]


async def clear(operator: ShellOperator, key: ObjectKey) -> None:
    wait = await operator.shell.reconcile(key)
    assert wait is not None
    assert wait >= 1.0
