"""Before an operator is uninstalled: every driver is ended and let go, whatever state it is in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from lithify.controller.api import Object
from lithify.controller.cluster.table_lock import TableLocks
from lithify.controller.driver import (
    DriverOrder,
    DriverPhase,
    DriverState,
    Member,
    SharedDriver,
    SharedDrivers,
)
from lithify.controller.reconciling.shutdown import Shutdown
from lithify.errors import ClusterRefused, ClusterUnavailable
from lithify.resources.names import LABEL_LOCK, LEASE, ObjectKey, ResourceKind

HOME = "lithify"
GRACE = 30.0
ORDERS, ITEMS, OTHER = ObjectKey("lake", "orders-1"), ObjectKey("lake", "items-1"), ObjectKey("sea", "fish-1")


@dataclass
class Drivers:
    """A launcher of drivers that end some seconds after they were asked to."""

    takes: dict[ObjectKey, float]
    now: float = 0.0
    refusals: int = 0
    broken: dict[ObjectKey, Exception] = field(default_factory=dict)
    stopped: dict[ObjectKey, float] = field(default_factory=dict)
    released: list[tuple[ObjectKey, str, bool]] = field(default_factory=list)

    shared: SharedDrivers | None = None

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def all(self) -> list[tuple[ObjectKey, str]]:
        self._answer()
        return [(key, f"{key.name}-uid") for key in self.takes]

    async def observe(self, key: ObjectKey) -> DriverState | None:
        self._answer(key)
        asked = self.stopped.get(key)
        has_ended = asked is not None and self.now >= asked + self.takes[key]
        phase = DriverPhase.ENDED if has_ended or self.takes[key] < 0 else DriverPhase.RUNNING
        uid = f"{key.name}-uid"
        return DriverState(key.name, uid, "owner", 1, phase, terminating=asked is not None)

    async def stop(self, key: ObjectKey, driver_uid: str) -> None:
        self._answer(key)
        assert key not in self.stopped, "asked twice"
        self.stopped[key] = self.now

    async def release(self, key: ObjectKey, driver_uid: str, *, remove: bool) -> None:
        self._answer(key)
        self.released.append((key, driver_uid, remove))

    async def start(self, order: DriverOrder) -> DriverState:
        raise AssertionError("nothing is started any more")

    async def watch(self) -> None:
        raise AssertionError

    def on_change(self, tell: Callable[[ObjectKey], None]) -> None:
        raise AssertionError

    def _answer(self, key: ObjectKey | None = None) -> None:
        if key in self.broken:
            raise self.broken[key]
        if self.refusals:
            self.refusals -= 1
            raise ClusterUnavailable("look", "no answer")


@dataclass
class Shared:
    """One driver that two Compactions share; it ends when asked to, or never."""

    ends: bool
    actions: list[str] = field(default_factory=list)

    async def all(self) -> list[SharedDriver]:
        is_over = self.ends and "stop" in self.actions
        phase = DriverPhase.ENDED if is_over else DriverPhase.RUNNING
        state = DriverState("pod", "pod-1", "", 1, phase, terminating="stop" in self.actions)
        return [SharedDriver(ORDERS, state, (Member(ORDERS, "a"), Member(ITEMS, "b")))]

    async def observe(self, lead: ObjectKey) -> SharedDriver | None:
        (found,) = await self.all()
        return found

    async def stop(self, driver: SharedDriver) -> None:
        self.actions.append("stop")

    async def release(self, driver: SharedDriver) -> None:
        self.actions.append("release")

    async def start(self, orders: Sequence[DriverOrder]) -> None:
        raise AssertionError("nothing is started any more")

    async def stop_member(self, driver: SharedDriver, uid: str) -> None:
        raise AssertionError("all of it is ended")


@dataclass
class Leases:
    """An `Api` that knows the locks of some Compactions."""

    held: dict[str, ObjectKey]

    async def list(self, kind: ResourceKind, namespace: str | None = None, labels: str = "") -> list[Object]:
        assert (kind, namespace) == (LEASE, HOME)
        return [self._lease(name) for name in self.held]

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        return self._lease(key.name) if key.name in self.held else None

    async def delete(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        assert uid == f"{key.name}-uid"
        del self.held[key.name]

    async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
        raise AssertionError

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        raise AssertionError

    def _lease(self, name: str) -> dict[str, Any]:
        holder = self.held[name]
        metadata = {"name": name, "uid": f"{name}-uid", "labels": {LABEL_LOCK: "true"}}
        return {"metadata": metadata, "spec": {"holderIdentity": f"{holder.namespace}/{holder.name}/run"}}


def depart(
    drivers: Drivers, held: dict[str, ObjectKey] | None = None, **changes: Any
) -> tuple[ObjectKey, ...]:
    locks = TableLocks(Leases({} if held is None else held), HOME)
    shutdown = Shutdown(drivers, locks, ticks=lambda: drivers.now, sleep=drivers.sleep)
    return asyncio.run(replace(shutdown, **changes).run(GRACE))


@pytest.mark.parametrize(
    ("takes", "left", "seconds"),
    [
        pytest.param({}, (), 0.0, id="nobody is there"),
        pytest.param({ORDERS: -1.0}, (), 0.0, id="one that has ended already"),
        pytest.param({ORDERS: 3.0, ITEMS: 5.0}, (), 5.0, id="those that end are waited for"),
        pytest.param({ORDERS: 3.0, ITEMS: 1e9}, (ITEMS,), GRACE, id="one on a lost node is not, for ever"),
    ],
)
def test_every_driver_is_let_go_and_removed(
    takes: dict[ObjectKey, float], left: tuple[ObjectKey, ...], seconds: float
) -> None:
    drivers = Drivers(takes)
    assert depart(drivers) == left
    assert drivers.released == [(key, f"{key.name}-uid", True) for key in takes]
    assert drivers.now == seconds


@pytest.mark.parametrize(("ends", "left"), [(True, ()), (False, (ORDERS, ITEMS))])
def test_a_driver_that_several_share_is_ended_and_let_go_once(
    ends: bool, left: tuple[ObjectKey, ...]
) -> None:
    shared, held = Shared(ends), {"orders": ORDERS, "items": ITEMS}
    assert depart(Drivers({}, shared=shared), held) == left
    assert shared.actions == ["stop", "release"]
    assert set(held.values()) == set(left), "tables that may still be worked at stay locked"


def test_requests_that_are_not_answered_are_repeated() -> None:
    drivers = Drivers({ORDERS: 2.0}, refusals=7)
    assert depart(drivers) == ()
    assert [key for key, _, _ in drivers.released] == [ORDERS]


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(ClusterRefused("look", "forbidden"), id="one that nobody may look at"),
        pytest.param(ClusterUnavailable("look", "cannot be decoded"), id="one that is never answered for"),
        pytest.param(RecursionError("too deep"), id="one that cannot be read"),
    ],
)
def test_one_bad_driver_costs_only_itself(problem: Exception) -> None:
    drivers = Drivers({ITEMS: 1.0, ORDERS: 3.0, OTHER: 2.0}, broken={ITEMS: problem})
    held = {"one": ORDERS, "two": ITEMS, "three": OTHER}
    assert depart(drivers, held) == (ITEMS,)
    assert [key for key, _, _ in drivers.released] == [ORDERS, OTHER]
    assert held == {"two": ITEMS}


def test_tables_are_unlocked_unless_a_driver_may_still_be_at_work() -> None:
    held = {"one": ORDERS, "two": ITEMS, "three": ObjectKey("lake", "without-a-driver")}
    assert depart(Drivers({ORDERS: 1.0, ITEMS: 1e9}), held) == (ITEMS,)
    assert held == {"two": ITEMS}


def test_locks_of_namespaces_that_another_operator_looks_after_stay() -> None:
    held = {"one": ORDERS, "two": OTHER}
    depart(Drivers({ORDERS: 1.0}), held, namespaces=("lake",))
    assert held == {"two": OTHER}
