"""Bringing runs together, and letting shared drivers go, with drivers that are only told of."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from lithify.contract.outcome import Outcome
from lithify.controller.driver import DriverOrder, DriverPhase, DriverState, Member, SharedDriver
from lithify.controller.reconciling.queue import Queue
from lithify.controller.reconciling.sharing import Sharing
from lithify.controller.reconciling.store import Store
from lithify.controller.running.facts import Gathering
from lithify.errors import ClusterRefused
from lithify.resources.compaction import (
    SUCCEEDED,
    AutomaticRun,
    Compaction,
    CompactionSpec,
    CompactionStatus,
    Reason,
    SharedRun,
)
from lithify.resources.modelling import read
from lithify.resources.names import COMPACTION, ObjectKey
from lithify.resources.objects import Condition, Metadata, Reference
from lithify.resources.policy import CompactionPolicy
from lithify.resources.table import LakeTable
from support.deciding.situations import NOON
from support.launching.orders import order

LEAD = SharedRun(lead="t0-1", lead_uid="uid-0")
ONE = ObjectKey("lake", "t0-1")


@dataclass
class Drivers:
    """Shared drivers that do what the test says."""

    found: dict[ObjectKey, SharedDriver] = field(default_factory=dict)
    started: list[list[str]] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    refusal: Exception | None = None

    async def start(self, orders: Sequence[DriverOrder]) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.started.append([one.uid for one in orders])
        members = tuple(Member(one.key, one.uid) for one in orders)
        state = DriverState("pod", "pod-1", orders[0].uid, 1, DriverPhase.RUNNING)
        self.found[orders[0].key] = SharedDriver(orders[0].key, state, members)

    async def observe(self, lead: ObjectKey) -> SharedDriver | None:
        return self.found.get(lead)

    async def stop_member(self, driver: SharedDriver, uid: str) -> None:
        self.actions.append(f"stop {uid}")

    async def stop(self, driver: SharedDriver) -> None:
        self.actions.append("stop all")

    async def release(self, driver: SharedDriver) -> None:
        self.actions.append("release")

    async def all(self) -> list[SharedDriver]:
        return list(self.found.values())


class Stage:
    """Three small tables of one policy, with a run each that could start."""

    def __init__(self) -> None:
        self.store, self.drivers, self.moment = Store(), Drivers(), NOON
        rules = {"sharedRuns": {"maxTables": 3, "waitSeconds": 30}}
        metadata = {"name": "small", "namespace": "lake", "uid": "p"}
        self.store.policies.put(read(CompactionPolicy, {"metadata": metadata, "spec": rules}))
        for number in range(3):
            spec = {
                "catalogRef": {"name": "lake"},
                "policyRef": {"name": "small"},
                "identifier": f"db.t{number}",
            }
            metadata = {"name": f"t{number}", "namespace": "lake", "uid": f"t-{number}"}
            self.store.tables.put(read(LakeTable, {"metadata": metadata, "spec": spec}))
            self.put(number, Reason.QUEUED)
        world: Any = SimpleNamespace(
            store=self.store,
            launcher=SimpleNamespace(shared=self.drivers),
            queue=Queue({COMPACTION.name: 0}),
            now=lambda: self.moment,
        )
        self.sharing = Sharing(world)

    def put(self, number: int, reason: Reason, shared: SharedRun | None = None) -> Compaction:
        """A run as it stands now."""
        known = self.store.compactions.get(ObjectKey("lake", f"t{number}-1"))
        version = int(known.metadata.resource_version) + 1 if known is not None else 1
        condition = Condition(
            type=SUCCEEDED, status=reason.status, reason=reason.value, last_transition_time=NOON
        )
        attempts = 0 if reason is Reason.QUEUED else 1
        run = Compaction(
            metadata=Metadata(
                name=f"t{number}-1",
                namespace="lake",
                uid=f"uid-{number}",
                resource_version=str(version),
            ),
            spec=CompactionSpec(table_ref=Reference(name=f"t{number}")),
            status=CompactionStatus(
                conditions=(condition,),
                attempts=attempts,
                shared_run=shared,
                stage_time=self.moment,
                automatic=AutomaticRun(shared_bytes=1000),
            ),
        )
        self.store.compactions.put(run)
        return run

    def run(self, number: int) -> Compaction:
        found = self.store.compactions.get(ObjectKey("lake", f"t{number}-1"))
        assert found is not None
        return found

    def join(self, number: int) -> SharedRun | Gathering | None:
        return self.sharing.join(self.run(number), self.moment)

    def begins(self, number: int) -> Compaction:
        """A run writes down that it shares the driver."""
        run = self.put(number, Reason.SUBMITTING, LEAD)
        self.sharing.moved(run)
        return run

    async def start(self, number: int = 0) -> bool:
        return await self.sharing.start(self.run(number), self.order)

    def order(self, run: Compaction) -> DriverOrder | None:
        return order(key=run.metadata.key, uid=run.metadata.uid)

    def later(self, seconds: float) -> datetime:
        self.moment += timedelta(seconds=seconds)
        return self.moment


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_full_group_shares_the_driver_of_who_came_first(stage: Stage) -> None:
    assert isinstance(stage.join(0), Gathering)
    assert isinstance(stage.join(1), Gathering)
    assert [stage.join(number) for number in (2, 0, 1)] == [LEAD] * 3


def test_alone_when_nobody_comes(stage: Stage) -> None:
    waits = stage.join(0)
    assert isinstance(waits, Gathering)
    stage.moment = waits.until
    assert stage.join(0) is None


def test_who_has_other_wishes_by_then_is_not_waited_for(stage: Stage) -> None:
    stage.join(0)
    stage.join(1)
    stage.put(1, Reason.CANCELLED)
    stage.later(30)
    assert stage.join(0) is None


def test_the_driver_takes_those_whose_status_names_it_and_waits_for_the_rest(stage: Stage) -> None:
    for number in (0, 1, 2, 0, 1):
        stage.join(number)
    stage.begins(0)
    stage.begins(2)
    assert asyncio.run(stage.start()) is False
    stage.begins(1)
    assert asyncio.run(stage.start()) is True
    assert stage.drivers.started == [["uid-0", "uid-1", "uid-2"]]


def test_the_driver_does_not_wait_for_long(stage: Stage) -> None:
    for number in (0, 1, 2, 0, 1):
        stage.join(number)
    stage.begins(0)
    stage.begins(1)
    stage.later(10)
    assert asyncio.run(stage.start()) is True
    assert stage.drivers.started == [["uid-0", "uid-1"]]
    view = asyncio.run(stage.sharing.view(stage.begins(2)))
    assert view.driver is None
    assert view.stranded


def test_who_has_begun_before_the_lead_waits_for_it(stage: Stage) -> None:
    for number in (0, 1, 2):
        stage.join(number)
    view = asyncio.run(stage.sharing.view(stage.begins(1)))
    assert (view.driver, view.stranded) == (None, "")


@pytest.mark.parametrize("reason", [Reason.BACKING_OFF, Reason.CANCELLED, Reason.QUEUED])
def test_who_waits_for_a_lead_that_has_given_up_is_stranded(stage: Stage, reason: Reason) -> None:
    run = stage.begins(1)
    stage.put(0, reason)
    assert asyncio.run(stage.sharing.view(run)).stranded


def test_after_a_restart_status_alone_says_who_shares(stage: Stage) -> None:
    stage.begins(0)
    stage.begins(1)
    assert asyncio.run(stage.start()) is True
    assert stage.drivers.started == [["uid-0", "uid-1"]]


def test_a_refused_driver_leaves_all_to_start_alone(stage: Stage) -> None:
    runs = [stage.begins(number) for number in (0, 1)]
    stage.drivers.refusal = ClusterRefused("start", "too long")
    with pytest.raises(ClusterRefused):
        asyncio.run(stage.start())
    assert all(asyncio.run(stage.sharing.view(run)).stranded for run in runs)


class TestLettingGo:
    @pytest.fixture
    def begun(self, stage: Stage) -> Stage:
        stage.begins(0)
        stage.begins(1)
        asyncio.run(stage.start())
        return stage

    def changed(self, stage: Stage, phase: DriverPhase = DriverPhase.RUNNING, told: str = "") -> None:
        driver = stage.drivers.found[ONE]
        outcomes = {f"uid-{n}": Outcome(run=f"uid-{n}", attempt=1, reason=Reason.COMPACTED) for n in told}
        state = replace(driver.state, phase=phase)
        stage.drivers.found[ONE] = replace(driver, state=state, outcomes=outcomes)

    def test_kept_as_long_as_somebody_needs_it(self, begun: Stage) -> None:
        self.changed(begun, DriverPhase.ENDED, "0")
        begun.put(0, Reason.COMPACTED, LEAD)
        assert asyncio.run(begun.sharing.tend(begun.run(0)))
        assert begun.drivers.actions == []

    def test_let_go_by_the_last(self, begun: Stage) -> None:
        self.changed(begun, DriverPhase.ENDED, "01")
        for number in (0, 1):
            begun.put(number, Reason.COMPACTED, LEAD)
        assert asyncio.run(begun.sharing.tend(begun.run(1)))
        assert begun.drivers.actions == ["release"]

    def test_may_end_by_itself_but_not_for_ever(self, begun: Stage) -> None:
        self.changed(begun, told="01")
        for number in (0, 1):
            begun.put(number, Reason.COMPACTED, LEAD)
        assert not asyncio.run(begun.sharing.tend(begun.run(1)))
        assert begun.drivers.actions == []
        begun.later(60)
        assert not asyncio.run(begun.sharing.tend(begun.run(1)))
        assert begun.drivers.actions == ["stop all"]

    def test_ended_when_nobody_is_left(self, begun: Stage) -> None:
        for number in (0, 1):
            begun.store.compactions.drop(ObjectKey("lake", f"t{number}-1"))
        asyncio.run(begun.sharing.sweep())
        assert begun.drivers.actions == ["stop all"]

    def test_a_run_that_is_gone_is_ended_alone(self, begun: Stage) -> None:
        begun.store.compactions.drop(ObjectKey("lake", "t1-1"))
        asyncio.run(begun.sharing.sweep())
        assert begun.drivers.actions == ["stop uid-1"]
        assert asyncio.run(begun.sharing.is_at_work("lake", "uid-1"))
        self.changed(begun, told="1")
        assert not asyncio.run(begun.sharing.is_at_work("lake", "uid-1"))
        assert asyncio.run(begun.sharing.end_deleted(ONE, "uid-1"))

    def test_the_last_deleted_run_lets_it_go(self, begun: Stage) -> None:
        for number in (0, 1):
            begun.store.compactions.drop(ObjectKey("lake", f"t{number}-1"))
        assert not asyncio.run(begun.sharing.end_deleted(ONE, "uid-1"))
        assert begun.drivers.actions == ["stop all"]
        self.changed(begun, DriverPhase.ENDED)
        assert asyncio.run(begun.sharing.end_deleted(ONE, "uid-1"))
        assert begun.drivers.actions == ["stop all", "release"]
