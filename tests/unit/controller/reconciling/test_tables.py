"""A table's decisions rest on an observation that is younger than the end of its last run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest

from lithify.controller.api import Object
from lithify.controller.cluster.merge_patch import merge
from lithify.controller.cluster.table_lock import TableLocks
from lithify.controller.deciding.admission import Caps
from lithify.controller.reconciling.compactions import Compactions
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.observation_scheduler import ObservationScheduler
from lithify.controller.reconciling.queue import Item, Queue
from lithify.controller.reconciling.recorder import Recorder
from lithify.controller.reconciling.secrets import Secrets
from lithify.controller.reconciling.slots import Slots
from lithify.controller.reconciling.store import Store
from lithify.controller.reconciling.tables import Tables
from lithify.controller.telemetry.credentials import CatalogCredentials
from lithify.controller.telemetry.metrics import Metrics, new_registry
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import CommittedRun, ObservationRequest
from lithify.resources.catalog import Catalog, CatalogSpec
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.modelling import plain
from lithify.resources.names import ANNOTATION_COMMITTED, COMPACTION, LEASE, ObjectKey, ResourceKind
from lithify.resources.objects import Condition, Metadata
from lithify.resources.policy import CompactionPolicy, CompactionPolicySpec
from support.cases import case
from support.deciding.situations import BUSY, NOON, QUIET, table
from support.running.runs import run_of

KEY = ObjectKey("lake", "orders")


class Noon:
    def now(self) -> datetime:
        return NOON

    def sleep(self, seconds: float) -> None:
        raise AssertionError


@dataclass
class Server:
    """An `Api` that writes statuses, and counts the Compactions that are created."""

    created: list[str] = field(default_factory=list)
    bodies: dict[str, Object] = field(default_factory=dict)
    recorded: dict[str, Object] = field(default_factory=dict)
    creating: set[ObjectKey] = field(default_factory=set)
    seen_as_creating: list[bool] = field(default_factory=list)

    async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
        if kind is not COMPACTION:
            return body
        self.created.append(body["metadata"]["name"])
        metadata = {"uid": f"run-{len(self.created)}", "resourceVersion": "1", **body["metadata"]}
        self.bodies[metadata["name"]] = {**body, "metadata": metadata}
        return self.bodies[metadata["name"]]

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        assert subresource == "status"
        if kind is COMPACTION:
            self.recorded[key.name] = patch["status"]
            self.seen_as_creating.append(key in self.creating)
            version = str(int(patch["metadata"]["resourceVersion"]) + 1)
            patch = {**patch, "metadata": {"resourceVersion": version}}
            self.bodies[key.name] = merge({**self.bodies[key.name]}, patch)
            return self.bodies[key.name]
        return merge(plain(table()), patch)

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        assert kind is LEASE
        return None

    async def list(self, kind: ResourceKind, namespace: str | None = None, labels: str = "") -> list[Object]:
        raise AssertionError

    async def delete(self, kind: ResourceKind, key: ObjectKey, **_: Any) -> None:
        raise AssertionError


@dataclass
class Observer:
    """Says that the table is busy, or what it is told to say."""

    says: Observation = BUSY
    asked: list[ObservationRequest] = field(default_factory=list)

    async def observe(self, request: ObservationRequest, timeout: float) -> Observation | None:
        self.asked.append(request)
        return self.says


class NoDrivers:
    """A `Launcher` without drivers."""

    shared = None

    async def observe(self, key: ObjectKey) -> None:
        return None


class Stage:
    """A table with its reconciler, its observations and its runs."""

    def __init__(self, **catalog: Any) -> None:
        self.server, self.observer, self.store = Server(), Observer(), Store()
        self.registry = new_registry()
        metrics, told = Metrics(self.registry), asyncio.Event()
        self.told = told
        self.scheduler = ObservationScheduler(
            self.observer, lambda _: told.set(), lambda *_: told.set(), metrics.observed
        )
        context: Any = Context(
            api=self.server,
            store=self.store,
            queue=Queue({}, lambda: 0.0),
            launcher=NoDrivers(),
            observer=Any,
            scheduler=self.scheduler,
            secrets=Secrets(self.server, CatalogCredentials()),
            locks=TableLocks(self.server, "lake"),
            slots=Slots(self.store, Caps(), lambda: 0.0),
            recorder=Recorder(self.server, Noon(), "operator"),
            metrics=metrics,
            clock=Noon(),
            conf_problem=lambda _: None,
            creating=self.server.creating,
        )
        self.tables = Tables(context)
        around = Metadata(name="warehouse", namespace="lake", uid="c")
        self.store.catalogs.put(Catalog(metadata=around, spec=CatalogSpec(warehouse="/w", **catalog)))
        around = Metadata(name="default", namespace="lake", uid="p")
        self.store.policies.put(CompactionPolicy(metadata=around, spec=CompactionPolicySpec()))
        self.store.tables.put(table())

    async def observe(self) -> None:
        """Waits for the end of the observation that the last reconcile requested."""
        work = asyncio.create_task(self.scheduler.work())
        async with asyncio.timeout(2):
            await self.told.wait()
        self.told.clear()
        work.cancel()

    async def reconcile(self) -> list[str]:
        """Reconciles the table once; the names of all Compactions created so far."""
        await self.tables.reconcile(KEY)
        return self.server.created

    async def drain(self) -> set[Item]:
        """Takes everything from the queue."""
        queue, found = self.tables.context.queue, set[Item]()
        while queue.depth:
            found.add(item := await queue.get())
            queue.done(item)
        return found

    def announce(self, snapshot: str) -> None:
        """A writer of the table announces a commit."""
        made = self.store.tables.get(KEY)
        assert made is not None
        version = str(int(made.metadata.resource_version or 0) + 1)
        annotations = {ANNOTATION_COMMITTED: snapshot}
        metadata = replace(made.metadata, annotations=annotations, resource_version=version)
        assert self.store.tables.put(replace(made, metadata=metadata))

    def end_run(self, reason: Reason, **status: Any) -> None:
        """The table's run is over, and nobody has been told of it yet."""
        (run,) = self.store.compactions
        run = ended(run, reason, **status)
        self.server.bodies[run.metadata.name] = plain(run)
        self.store.compactions.put(run)


def ended(run: Compaction, reason: Reason, **fields: Any) -> Compaction:
    said = Condition(type="Succeeded", status=reason.status, reason=reason.value, last_transition_time=NOON)
    metadata = replace(run.metadata, resource_version=str(int(run.metadata.resource_version) + 1))
    status = replace(run.status, conditions=(said,), completion_time=NOON, **fields)
    return replace(run, metadata=metadata, status=status)


@pytest.mark.asyncio
async def test_a_run_that_ends_starts_no_other_by_what_was_seen_before() -> None:
    """CI had this: the next reconcile came before the end was announced, and saw the files of before."""
    stage = Stage()
    assert await stage.reconcile() == []
    await stage.observe()
    (first,) = await stage.reconcile()
    stage.end_run(Reason.COMPACTED)
    assert await stage.reconcile() == [first]
    stage.observer.says = QUIET
    await stage.observe()
    assert await stage.reconcile() == [first]
    assert len(stage.observer.asked) == 2


@pytest.mark.asyncio
async def test_a_table_that_is_busy_afterwards_is_compacted_again() -> None:
    stage = Stage()
    await stage.reconcile()
    await stage.observe()
    await stage.reconcile()
    stage.end_run(Reason.COMPACTED)
    await stage.reconcile()
    await stage.observe()
    assert len(await stage.reconcile()) == 2


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("reason", "is_full"),
    [(Reason.COMPACTED, False), (Reason.DRIVER_FAILED, True)],
    ids=["success", "failure"],
)
async def test_after_a_failure_everything_is_observed(reason: Reason, is_full: bool) -> None:
    stage = Stage()
    await stage.reconcile()
    await stage.observe()
    await stage.reconcile()
    stage.end_run(reason)
    await stage.reconcile()
    await stage.observe()
    assert [request.is_full for request in stage.observer.asked] == [False, is_full]


@pytest.mark.asyncio
async def test_runs_that_were_over_when_the_operator_started_ask_for_nothing() -> None:
    stage = Stage()
    old = ended(
        replace(
            run_of("old", "uid-old"),
            metadata=Metadata(name="old", namespace="lake", uid="old", resource_version="1"),
        ),
        Reason.COMPACTED,
    )
    stage.store.compactions.put(old)
    await stage.reconcile()
    await stage.observe()
    await stage.reconcile()
    assert len(stage.observer.asked) == 1


@pytest.mark.asyncio
async def test_a_created_run_is_recorded_as_the_operators_own_before_it_is_reconciled() -> None:
    stage = Stage()
    await stage.reconcile()
    await stage.observe()
    (name,) = await stage.reconcile()
    made = stage.store.compactions.get(ObjectKey("lake", name))
    assert made is not None
    assert made.is_automatic
    assert stage.server.recorded == {name: {"automatic": {}}}
    assert stage.server.seen_as_creating == [True]
    assert stage.tables.context.creating == set()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("announced", "looks"),
    [
        case(["9"], 1, id="what was seen"),
        case(["10"], 2, id="a new one"),
        case(["10", "10"], 2, id="twice"),
        case(["10", "9", "11"], 3, id="two, between them the one that was seen"),
        case([""], 1, id="nothing"),
    ],
)
async def test_an_announced_commit_is_looked_at_once(announced: list[str], looks: int) -> None:
    stage = Stage()
    stage.observer.says = replace(QUIET, snapshot=SnapshotId("9"))
    await stage.reconcile()
    await stage.observe()
    for snapshot in announced:
        stage.announce(snapshot)
        await stage.reconcile()
        if stage.scheduler.seen(KEY).underway:
            await stage.observe()
            await stage.reconcile()
    assert len(stage.observer.asked) == looks


@pytest.mark.asyncio
async def test_a_commit_that_is_announced_during_an_observation_is_seen_by_another_one() -> None:
    stage = Stage()
    stage.observer.says = QUIET
    await stage.reconcile()
    stage.announce("10")
    await stage.reconcile()
    await stage.observe()
    await stage.reconcile()
    await stage.observe()
    assert len(stage.observer.asked) == 2


@pytest.mark.asyncio
async def test_what_was_announced_before_the_operator_started_is_seen_by_its_first_observation() -> None:
    stage = Stage()
    stage.observer.says = QUIET
    stage.announce("10")
    for _ in range(2):
        await stage.reconcile()
        if stage.scheduler.seen(KEY).underway:
            await stage.observe()
    await stage.reconcile()
    assert len(stage.observer.asked) == 1


@pytest.mark.asyncio
async def test_commits_that_are_announced_during_each_observation_hold_back_no_run() -> None:
    stage = Stage()
    await stage.reconcile()
    for number in range(3):
        stage.announce(str(100 + number))
        await stage.reconcile()
        await stage.observe()
        await stage.reconcile()
    assert len(stage.server.created) == 1


@pytest.mark.asyncio
async def test_a_run_that_is_rolled_back_says_so_and_its_table_is_compacted_again() -> None:
    stage = Stage(format="Iceberg")
    context = stage.tables.context
    await stage.reconcile()
    await stage.observe()
    (first,) = await stage.reconcile()
    key = ObjectKey("lake", first)
    stage.end_run(Reason.COMPACTED, base_snapshot_id="40", committed_snapshot_id="41", undo="go back to 40")
    stage.observer.says = QUIET
    await stage.reconcile()
    await stage.observe()
    assert await stage.reconcile() == [first]
    assert stage.observer.asked[-1].committed == (CommittedRun(SnapshotId("40"), SnapshotId("41"), NOON),)
    assert await Compactions(context).reconcile(key) is None
    assert context.store.compactions.get(key) is not None

    stage.observer.says = replace(QUIET, snapshot=SnapshotId("42"), rolled_back=(SnapshotId("41"),))
    stage.scheduler.want(KEY)
    await stage.reconcile()
    await stage.observe()
    await stage.drain()
    await stage.reconcile()
    assert Item(COMPACTION.name, key) in await stage.drain()
    await Compactions(context).reconcile(key)

    run = context.store.compactions.get(key)
    assert run is not None
    assert (run.reason, run.status.undo) == (Reason.ROLLED_BACK, None)
    labels = {"strategy": "Minor", "reason": "RolledBack"}
    assert stage.registry.get_sample_value("lithify_compactions_finished_total", labels) == 1
    await Compactions(context).reconcile(key)
    assert context.store.compactions.get(key) == run
    stage.observer.says = BUSY
    stage.scheduler.want(KEY)
    await stage.reconcile()
    await stage.observe()
    assert len(await stage.reconcile()) == 2
    assert stage.observer.asked[-1].committed == ()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("title", "is_asked"),
    [case("Iceberg", True, id="of tables that may yield"), case("Paimon", False, id="of no others")],
)
async def test_a_run_is_asked_for_once_it_has_ended_though_nothing_was_committed_since(
    title: str, is_asked: bool
) -> None:
    stage = Stage(format=title)
    await stage.reconcile()
    await stage.observe()
    await stage.reconcile()
    stage.end_run(Reason.COMPACTED, base_snapshot_id="40", committed_snapshot_id="41")
    await stage.reconcile()
    await stage.observe()
    _, last = stage.observer.asked
    assert (last.known_snapshot is None, bool(last.committed)) == (is_asked, is_asked)
