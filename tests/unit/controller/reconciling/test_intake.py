"""What an event makes the controller look at: the object itself, and whom its change concerns."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from lithify.controller.api import Object
from lithify.controller.reconciling.intake import Intake
from lithify.controller.reconciling.queue import Queue
from lithify.controller.reconciling.store import Store
from lithify.resources.names import (
    CATALOG,
    COMPACTION,
    LABEL_COMPACTION,
    LAKE_TABLE,
    OWN_KINDS,
    POD,
    POLICY,
    ObjectKey,
    ResourceKind,
)
from support.cases import case

SPECS: Mapping[ResourceKind, Mapping[str, Any]] = {
    CATALOG: {"warehouse": "/w"},
    POLICY: {},
    LAKE_TABLE: {"catalogRef": {"name": "lake"}, "identifier": "sales.orders"},
    COMPACTION: {"tableRef": {"name": "orders"}},
}
NAMES = {CATALOG: "lake", POLICY: "default", LAKE_TABLE: "orders", COMPACTION: "orders-1"}


class World:
    """An intake, and what it adds to the queue."""

    def __init__(self) -> None:
        self.store = Store()
        self.now = 0.0
        self.queue = Queue({}, lambda: self.now)
        self.intake = Intake(self.store, self.queue)
        self.version = 0

    def body(self, kind: ResourceKind, **changes: Any) -> dict[str, Any]:
        self.version += 1
        metadata = {
            "name": NAMES[kind],
            "namespace": "team",
            "uid": f"uid-{kind.name}",
            "resourceVersion": str(self.version),
            **changes.pop("metadata", {}),
        }
        spec = {**SPECS[kind], **changes.pop("spec", {})}
        return {"metadata": metadata, "spec": spec, **changes}

    def take(self, kind: ResourceKind, body: Object, *, gone: bool = False) -> set[tuple[str, str]]:
        """Takes an event in; kind and name of what is to be looked at because of it."""
        self.intake.take(kind, body, gone)
        return self.added()

    def added(self) -> set[tuple[str, str]]:
        async def drain() -> set[tuple[str, str]]:
            found = set()
            self.now += 10
            self.queue._move_due()
            while self.queue.depth:
                item = await self.queue.get()
                self.queue.done(item)
                found.add((item.kind, item.key.name))
            return found

        return asyncio.run(drain())

    def fill(self) -> None:
        for kind in OWN_KINDS:
            self.intake.take(kind, self.body(kind), gone=False)
        self.added()


@pytest.fixture
def world() -> World:
    found = World()
    found.fill()
    return found


TABLE, RUN = ("LakeTable", "orders"), ("Compaction", "orders-1")


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        case(
            POLICY,
            {"spec": {"priority": 5}},
            {("CompactionPolicy", "default"), TABLE, RUN},
            id="a_policy_concerns_its_tables_and_their_open_runs",
        ),
        case(
            CATALOG,
            {"spec": {"warehouse": "/elsewhere"}},
            {("Catalog", "lake"), TABLE, RUN},
            id="a_catalog_concerns_its_tables_and_their_open_runs",
        ),
        case(
            LAKE_TABLE,
            {"spec": {"suspend": True}},
            {TABLE, RUN},
            id="a_table_concerns_its_runs",
        ),
        case(
            LAKE_TABLE,
            {"spec": {"policyRef": {"name": "other"}}},
            {TABLE, ("CompactionPolicy", "default"), ("CompactionPolicy", "other"), RUN},
            id="a_table_concerns_who_counts_it_and_who_no_longer_does",
        ),
        case(COMPACTION, {"spec": {"suspend": True}}, {RUN}, id="a_run_concerns_itself"),
        case(
            LAKE_TABLE,
            {"metadata": {"annotations": {"lithify.dev/requested-at": "now"}}},
            {TABLE},
            id="an_annotation_is_looked_at",
        ),
        case(POLICY, {"status": {"tables": 3}}, {("CompactionPolicy", "default")}, id="a_status_of_others"),
        case(LAKE_TABLE, {}, set(), id="a_change_of_nothing_that_matters"),
    ],
)
def test_a_change_is_looked_at_by_whom_it_concerns(
    world: World, kind: ResourceKind, changes: dict[str, Any], expected: set[tuple[str, str]]
) -> None:
    assert world.take(kind, world.body(kind, **changes)) == expected


def test_runs_that_are_over_do_not_care_about_policies(world: World) -> None:
    since = "2026-01-01T00:00:00Z"
    over = {"type": "Succeeded", "status": "True", "reason": "Compacted", "lastTransitionTime": since}
    world.take(COMPACTION, world.body(COMPACTION, status={"conditions": [over]}))
    assert RUN not in world.take(POLICY, world.body(POLICY, spec={"priority": 5}))


def test_old_news_change_nothing(world: World) -> None:
    old = world.body(LAKE_TABLE, spec={"suspend": True})
    world.take(LAKE_TABLE, world.body(LAKE_TABLE))
    assert world.take(LAKE_TABLE, old) == set()
    known = world.store.tables.get(ObjectKey("team", "orders"))
    assert known is not None
    assert not known.spec.suspend


@pytest.mark.parametrize("kind", OWN_KINDS, ids=lambda kind: kind.name)
def test_a_version_that_is_known_is_not_read_again(world: World, kind: ResourceKind) -> None:
    body = world.body(kind)
    world.take(kind, body)
    assert world.take(kind, {"metadata": body["metadata"], "spec": "not to be read"}) == set()


def test_tables_that_come_together_are_counted_once(world: World) -> None:
    names = [f"orders-{number}" for number in range(50)]
    for name in names:
        world.intake.take(
            LAKE_TABLE, world.body(LAKE_TABLE, metadata={"name": name, "uid": name}), gone=False
        )
    counting = {("CompactionPolicy", "default"), ("Catalog", "lake")}
    assert world.queue.depth == len(names), "the tables do not wait"
    assert world.added() == {("LakeTable", name) for name in names} | counting


@pytest.mark.parametrize("kind", OWN_KINDS, ids=lambda kind: kind.name)
def test_what_is_gone_is_looked_at_once_more(world: World, kind: ResourceKind) -> None:
    assert (kind.name, NAMES[kind]) in world.take(kind, world.body(kind), gone=True)
    assert world.take(kind, world.body(kind), gone=True) == set()
    assert world.take(kind, world.body(kind)) == set(), "a late word of what is gone"


def test_a_new_or_deleted_run_concerns_its_table(world: World) -> None:
    assert world.take(COMPACTION, world.body(COMPACTION), gone=True) == {RUN, TABLE}
    assert world.take(COMPACTION, world.body(COMPACTION, metadata={"uid": "anew"})) == {RUN, TABLE}


def test_a_pod_concerns_its_run(world: World) -> None:
    pod = {"metadata": {"name": "p", "namespace": "team", "labels": {LABEL_COMPACTION: "orders-1"}}}
    assert world.take(POD, pod) == {RUN}
    for labels in (None, {}, {LABEL_COMPACTION: ""}):
        nobodys = {"metadata": {"name": "p", "namespace": "team", "labels": labels}}
        assert world.take(POD, nobodys) == set()


def deep(levels: int = 100_000) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "changes",
    [
        case({"spec": {"identifier": 7}}, id="another type"),
        case({"spec": {"identifier": deep()}}, id="depth"),
        case({"spec": {"identifier": "db.\ud800"}}, id="half a character"),
        case({"spec": {"checkIntervalSeconds": 10**4000}}, id="an absurd number"),
        case({"spec": {"checkIntervalSeconds": float("nan")}}, id="no number"),
        case({"status": {"lastSuccessTime": "0000-01-01T00:00:00Z"}}, id="the year 0"),
        case({"status": []}, id="a status of another shape"),
        case({"status": {"conditions": [7, {}]}}, id="conditions of another shape"),
        case({"metadata": {"labels": {"a": 7}}}, id="labels"),
        case({"metadata": {"ownerReferences": [deep()]}}, id="owners"),
    ],
)
def test_an_object_that_cannot_be_read_is_kept_apart_and_hinders_no_other(
    world: World, changes: dict[str, Any]
) -> None:
    body = world.body(LAKE_TABLE, **changes)
    assert world.take(LAKE_TABLE, body) == {TABLE}, "whose owner is to be told"
    found = world.store.unreadable[LAKE_TABLE.name, ObjectKey("team", "orders")]
    assert (found.metadata.uid, found.is_said) == ("uid-LakeTable", False)
    assert found.problem
    assert world.store.tables.get(ObjectKey("team", "orders")) is not None, "what was known before stays"
    assert TABLE in world.take(POLICY, world.body(POLICY, spec={"priority": 5}))


@pytest.mark.parametrize("kind", [*OWN_KINDS, POD], ids=lambda kind: kind.name)
@pytest.mark.parametrize("gone", [case(True, id="gone"), case(False, id="there")])
@pytest.mark.parametrize(
    "body",
    [
        case({}, id="nothing"),
        case({"metadata": None}, id="no metadata"),
        case({"metadata": []}, id="metadata of another shape"),
        case({"metadata": {"name": "x"}}, id="no namespace"),
        case({"metadata": {"name": ["x"], "namespace": {}}}, id="no names"),
        case({"metadata": {"name": "x", "namespace": "y", "labels": {}}}, id="no label"),
    ],
)
def test_a_body_that_is_no_object_ends_nothing(
    world: World, kind: ResourceKind, gone: bool, body: Object
) -> None:
    before = {kind: len(world.store.tables) for kind in OWN_KINDS}
    world.take(kind, body, gone=gone)
    assert {kind: len(world.store.tables) for kind in OWN_KINDS} == before


def test_what_can_be_read_again_is_looked_at(world: World) -> None:
    world.take(LAKE_TABLE, world.body(LAKE_TABLE, spec={"identifier": 7}))
    assert world.take(LAKE_TABLE, world.body(LAKE_TABLE)) == {TABLE}
    assert world.store.unreadable == {}


def test_of_two_versions_the_newer_counts_whether_it_can_be_read_or_not(world: World) -> None:
    old, older = world.body(LAKE_TABLE, spec={"identifier": 7}), world.body(LAKE_TABLE)
    world.take(LAKE_TABLE, world.body(LAKE_TABLE))
    assert world.take(LAKE_TABLE, old) == set()
    assert world.store.unreadable == {}
    bad = world.body(LAKE_TABLE, spec={"identifier": 7})
    world.take(LAKE_TABLE, bad)
    assert world.take(LAKE_TABLE, older) == set()
    assert world.take(LAKE_TABLE, bad) == set(), "it has been looked at"
    assert world.store.unreadable


def test_what_could_not_be_read_is_cleared_away_once_it_is_gone(world: World) -> None:
    body = world.body(COMPACTION, metadata={"name": "odd", "uid": "odd"}, spec={"strategy": "Sideways"})
    world.take(COMPACTION, body)
    assert world.take(COMPACTION, body, gone=True) == {("Compaction", "odd")}
    assert world.store.unreadable == {}


def test_a_resync_finds_that_it_is_gone(world: World) -> None:
    world.take(POLICY, world.body(POLICY, spec={"priority": "high"}))
    asyncio.run(world.intake.resync(Server({}, {})))
    assert world.store.unreadable == {}
    assert len(world.store.policies) == 0


class Server:
    """An API server that answers lists and single requests from two different moments."""

    def __init__(
        self, listed: Mapping[ResourceKind, list[Object]], there: Mapping[ResourceKind, list[Object]]
    ) -> None:
        self._listed = listed
        self._there = there

    async def list(self, kind: ResourceKind, namespace: str | None = None, labels: str = "") -> list[Object]:
        return self._listed.get(kind, [])

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        found = (body for body in self._there.get(kind, []) if body["metadata"]["name"] == key.name)
        return next(found, None)


@pytest.mark.thorough
def test_a_resync_lets_others_run_and_brings_nothing_back_that_was_deleted_meanwhile(world: World) -> None:
    names = [f"orders-{number}" for number in range(2000)]
    listed = [world.body(LAKE_TABLE, metadata={"name": name, "uid": name}) for name in names]
    last = listed[-1]

    async def resync() -> int:
        work = asyncio.create_task(world.intake.resync(Server({LAKE_TABLE: listed}, {})))
        turns = 0
        while not work.done():
            turns += 1
            if turns == 5:
                world.intake.take(LAKE_TABLE, last, gone=True)
            await asyncio.sleep(0)
        await work
        return turns

    assert asyncio.run(resync()) > 20
    assert world.store.tables.keys() == {ObjectKey("team", name) for name in names[:-1]}


def test_a_resync_finds_what_events_were_lost_for(world: World) -> None:
    changed = world.body(LAKE_TABLE, spec={"suspend": True})
    new = world.body(COMPACTION, metadata={"name": "orders-2", "uid": "new"})
    server = Server({LAKE_TABLE: [changed], COMPACTION: [new]}, {POLICY: [world.body(POLICY)]})
    asyncio.run(world.intake.resync(server))
    added = world.added()
    assert {TABLE, ("Compaction", "orders-2"), RUN, ("Catalog", "lake")} <= added
    assert world.store.compactions.keys() == {ObjectKey("team", "orders-2")}
    assert len(world.store.catalogs) == 0
    assert len(world.store.policies) == 1, "it was made after the list, so it is asked for by name"
