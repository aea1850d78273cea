"""The real shell around the state machine, in the world of the machine's own tests.

Every request of the shell is a point at which the test may leave it: to let others work, to have the request
fail, or to kill the operator. There is no event loop: the test itself resumes what waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from types import coroutine
from typing import Any

from lithify.controller.api import Object
from lithify.controller.cluster.merge_patch import merge
from lithify.controller.cluster.table_lock import TableLocks
from lithify.controller.deciding.admission import Caps
from lithify.controller.driver import DriverOrder, DriverState, SharedDrivers
from lithify.controller.observing.request import ALL_TABLES, PlanRequest, TableFilter, TableList
from lithify.controller.reconciling.compactions import Compactions
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.intake import Intake
from lithify.controller.reconciling.observation_scheduler import ObservationScheduler
from lithify.controller.reconciling.queue import Queue
from lithify.controller.reconciling.recorder import Recorder
from lithify.controller.reconciling.searches import Begin
from lithify.controller.reconciling.secrets import Secrets
from lithify.controller.reconciling.slots import Slots
from lithify.controller.reconciling.store import Store
from lithify.controller.running.facts import UNKNOWN, Unknown
from lithify.controller.running.reconcile_input import is_plan_only
from lithify.controller.telemetry.credentials import CatalogCredentials
from lithify.controller.telemetry.metrics import Metrics, new_registry
from lithify.errors import (
    CatalogUnavailable,
    ClusterConflict,
    ClusterError,
    ClusterExists,
    ClusterUnavailable,
)
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import PlanFound, RunFound
from lithify.resources.compaction import CompactionStatus
from lithify.resources.modelling import plain, read
from lithify.resources.names import (
    CATALOG,
    COMPACTION,
    EVENT,
    LAKE_TABLE,
    LEASE,
    POLICY,
    ObjectKey,
    ResourceKind,
)
from support.running.runs import FOUND
from support.running.runs import POLICY as RULES
from support.running.world import World

TEAM = "sales"


@coroutine
def _leave() -> Generator[None, None, None]:
    """A point at which the test may leave the shell."""
    yield


@dataclass
class Leases:
    """The Leases of the API server, by name."""

    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    made: int = 0

    def put(self, body: Object) -> dict[str, Any]:
        self.made += 1
        found = dict(body)
        uid = found["metadata"].get("uid", f"lease-{self.made}")
        found["metadata"] = {**found["metadata"], "uid": uid, "resourceVersion": str(self.made)}
        self.bodies[found["metadata"]["name"]] = found
        return found


@dataclass
class Server:
    """An `Api` over the world. It fails as the world says, before or after a write took effect."""

    world: World
    leases: Leases

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        await _leave()
        if kind is LEASE:
            self._answer()
            return self.leases.bodies.get(key.name)
        assert kind is COMPACTION
        run = self.world.runs.get(key.name)
        return None if run is None else plain(run)

    async def list(self, kind: ResourceKind, namespace: str | None = None, labels: str = "") -> list[Object]:
        assert kind is LEASE
        await _leave()
        self._answer()
        return list(self.leases.bodies.values())

    async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
        await _leave()
        if kind is EVENT:
            return body
        assert kind is LEASE
        self._answer()
        with self._faults():
            if body["metadata"]["name"] in self.leases.bodies:
                raise ClusterExists("create", "exists")
            return self.leases.put(body)

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        await _leave()
        if kind is COMPACTION:
            assert subresource == "status"
            return self._write_status(key, patch)
        self._answer()
        with self._faults():
            known = self.leases.bodies.get(key.name)
            if known is None:
                return None
            if known["metadata"]["resourceVersion"] != patch["metadata"]["resourceVersion"]:
                raise ClusterConflict("patch", "changed")
            return self.leases.put(merge(known, patch))

    async def delete(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        await _leave()
        assert kind is LEASE
        self._answer()
        with self._faults():
            known = self.leases.bodies.get(key.name)
            if known is not None and known["metadata"]["uid"] == uid:
                del self.leases.bodies[key.name]

    def _write_status(self, key: ObjectKey, patch: Object) -> Object | None:
        fault, self.world.fault = self.world.fault, None
        run = self.world.runs.get(key.name)
        if fault == "before":
            raise ClusterUnavailable("patch", "no answer")
        if run is None:
            return None
        if run.metadata.resource_version != patch["metadata"]["resourceVersion"]:
            raise ClusterConflict("patch", "changed")
        status = read(CompactionStatus, merge(plain(run.status), patch["status"]))
        assert self.world.write_status(run, status)
        if fault == "after":
            raise ClusterUnavailable("patch", "no answer")
        return plain(self.world.runs[key.name])

    def _answer(self) -> None:
        if not self.world.lock_answers:
            raise ClusterUnavailable("lease", "no answer")

    def _faults(self) -> Faults:
        return Faults(self.world)


@dataclass
class Faults:
    """Fails once, before or after what is done inside."""

    world: World
    fault: str | None = None

    def __enter__(self) -> None:
        self.fault, self.world.fault = self.world.fault, None
        if self.fault == "before":
            raise ClusterUnavailable("write", "no answer")

    def __exit__(self, kind: object, *_: object) -> None:
        if self.fault == "after" and kind is None:
            raise ClusterUnavailable("write", "no answer")


@dataclass
class Drivers:
    """A `Launcher` over the world's pods."""

    world: World
    actions: int = 0

    @property
    def shared(self) -> SharedDrivers | None:
        return None

    async def start(self, order: DriverOrder) -> DriverState:
        await _leave()
        name = order.key.name
        run = self.world.runs.get(name)
        with Faults(self.world):
            self.actions += 1
            if run is not None and run.metadata.uid == order.uid:
                assert not is_plan_only(run), "a driver is started where the operator plans itself"
                self.world.start(run)
            elif name not in self.world.pods:
                raise ClusterUnavailable("start", "its owner is gone")
        found = self._seen(name)
        assert isinstance(found, DriverState)
        return found

    async def observe(self, key: ObjectKey) -> DriverState | None:
        await _leave()
        found = self._seen(key.name)
        if found is UNKNOWN:
            raise ClusterUnavailable("look", "no answer")
        assert not isinstance(found, Unknown)
        return found

    async def stop(self, key: ObjectKey, driver_uid: str) -> None:
        await _leave()
        with Faults(self.world):
            self.actions += 1
            pod = self.world.pods.get(key.name)
            if pod is not None and pod.uid == driver_uid:
                pod.terminating = True

    async def release(self, key: ObjectKey, driver_uid: str, *, remove: bool) -> None:
        await _leave()
        with Faults(self.world):
            self.actions += 1
            self.world.release(key.name, driver_uid, remove=remove)

    async def all(self) -> list[tuple[ObjectKey, str]]:
        found = self.world.pods.items()
        return [(ObjectKey(TEAM, name), pod.uid) for name, pod in found if not pod.released]

    async def watch(self) -> None:
        raise AssertionError

    def on_change(self, tell: Callable[[ObjectKey], None]) -> None:
        raise AssertionError

    def _seen(self, name: str) -> DriverState | Unknown | None:
        return self.world.look(name)


@dataclass
class Observer:
    """Finds what runs have committed to the world's table."""

    world: World

    async def observe(self, request: object, timeout: float) -> None:
        raise AssertionError

    async def find_run(
        self, target: TableAddress, run: str, timeout: float, since: datetime | None = None
    ) -> RunFound | None:
        await _leave()
        if not self.world.catalog_answers:
            raise CatalogUnavailable("lake", "no answer")
        return FOUND if run in self.world.commits else None

    async def plan(self, request: PlanRequest, timeout: float) -> PlanFound:
        await _leave()
        if not self.world.catalog_answers:
            raise CatalogUnavailable("lake", "no answer")
        return PlanFound(snapshot=SnapshotId("7"), groups=3, tasks=120, files=412, bytes=6_550_000_000)

    async def list_tables(
        self, target: TableAddress, timeout: float, wanted: TableFilter = ALL_TABLES
    ) -> TableList:
        raise AssertionError


@dataclass
class WorldClock:
    world: World

    def now(self) -> datetime:
        return self.world.now

    def sleep(self, seconds: float) -> None:
        raise AssertionError


class Aside:
    """What was begun beside everything else; the test goes on with it when it likes."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._work: Coroutine[Any, Any, None] | None = work

    def done(self) -> bool:
        return self._work is None

    def cancel(self) -> None:
        if self._work is not None:
            self._work.close()
            self._work = None

    def go_on(self) -> None:
        try:
            if self._work is not None:
                self._work.send(None)
        except StopIteration:
            self._work = None


class ShellOperator:
    """An operator process: the real shell, and everything that it forgets when it dies."""

    def __init__(self, world: World, leases: Leases, begin: Begin | None = None) -> None:
        self.world = world
        self.leases = leases
        self._elapsed, self._last = 0.0, world.now
        self.store, self.queue = Store(), Queue({}, self._ticks)
        self.drivers = Drivers(world)
        self.aside: list[Aside] = []
        self.busy: dict[str, Coroutine[Any, Any, float | None]] = {}
        self.wake: dict[str, datetime | None] = {}
        api, clock = Server(world, leases), WorldClock(world)
        metrics = Metrics(new_registry())
        observer = Observer(world)
        self._slots = Slots(self.store, Caps(), self._seconds)
        context = Context(
            api=api,
            store=self.store,
            queue=self.queue,
            launcher=self.drivers,
            observer=observer,
            scheduler=ObservationScheduler(observer, lambda _: None, lambda *_: None, metrics.observed),
            secrets=Secrets(api, CatalogCredentials()),
            locks=TableLocks(api, TEAM),
            slots=self._slots,
            recorder=Recorder(api, clock, "operator"),
            metrics=metrics,
            clock=clock,
            conf_problem=lambda _: None,
        )
        self.shell = Compactions(context, begin=begin or self._begin)
        self.intake = Intake(self.store, self.queue)
        for name, pod in world.pods.items():
            if not pod.released:
                self.shell.unreleased.add(ObjectKey(TEAM, name))

    def _seconds(self) -> float:
        return self.world.now.timestamp()

    def _ticks(self) -> float:
        """Seconds that only ever grow, though the clock of the world may be set back."""
        self._elapsed += max(0.0, (self.world.now - self._last).total_seconds())
        self._last = self.world.now
        return self._elapsed

    @property
    def actions(self) -> int:
        return self.drivers.actions

    def _begin(self, work: Coroutine[Any, Any, None]) -> Any:
        self.aside.append(Aside(work))
        return self.aside[-1]

    def names(self) -> list[str]:
        known = {key.name for key in sorted(self.store.compactions.keys())}
        return sorted({*self.world.runs, *self.world.pods, *known, *self.wake})

    def hear(self, name: str) -> None:
        """Takes in events: of the run, and of what surrounds it."""
        version = str(self.world.version + 1)
        self._take(CATALOG, "lake", version, {"warehouse": "/w"}, {})
        self._take(POLICY, "default", version, plain(RULES), {})
        spec = {"catalogRef": {"name": "lake"}, "identifier": "sales.orders"}
        if self.world.problem is None:
            self._take(LAKE_TABLE, "orders", version, spec, {"tableUuid": self.world.table})
        else:
            self.store.tables.drop(ObjectKey(TEAM, "orders"))
        run = self.world.runs.get(name)
        if run is not None:
            self.intake.take(COMPACTION, plain(run), gone=False)
        else:
            self.store.compactions.drop(ObjectKey(TEAM, name))

    def _take(self, kind: ResourceKind, name: str, version: str, spec: object, status: object) -> None:
        metadata = {"name": name, "namespace": TEAM, "uid": name, "resourceVersion": version}
        self.intake.take(kind, {"metadata": metadata, "spec": spec, "status": status}, gone=False)

    def go_on(self, name: str, requests: int) -> None:
        """Does some requests for a run, beginning anew if there is nothing left to do."""
        for aside in self.aside:
            aside.go_on()
        self.aside = [aside for aside in self.aside if not aside.done()]
        work = self.busy.get(name)
        if work is None:
            self.hear(name)
            work = self.shell.reconcile(ObjectKey(TEAM, name))
        self.busy[name] = work
        try:
            for _ in range(requests):
                work.send(None)
        except StopIteration as end:
            del self.busy[name]
            self.wake[name] = None if end.value is None else self._at(end.value)
        except ClusterError:
            del self.busy[name]
            self.wake[name] = self.world.now

    def finish(self, name: str) -> None:
        self.go_on(name, 1000)

    def sweep(self) -> None:
        """What the operator does when it begins to lead, and now and then."""
        work = self.shell.take_over()
        try:
            while True:
                work.send(None)
        except (StopIteration, ClusterError):
            return

    def _at(self, seconds: float) -> datetime:
        from datetime import timedelta

        return self.world.now + timedelta(seconds=seconds)

    def close(self) -> None:
        """The process is killed: what was under way never goes on."""
        for work in self.busy.values():
            work.close()
        self.busy.clear()
        for aside in self.aside:
            if aside._work is not None:
                aside._work.close()


__all__ = ["Awaitable", "Iterator", "Leases", "ShellOperator"]
