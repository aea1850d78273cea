"""Owners of objects that cannot be read are told once, and nothing else is done for these objects."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from lithify.controller.api import Object
from lithify.controller.reconciling.reporting import Reports
from lithify.controller.reconciling.store import Store
from lithify.controller.reconciling.unreadable import unreadable
from lithify.errors import ClusterRefused, InvalidResource
from lithify.resources.names import COMPACTION, LAKE_TABLE, OWN_KINDS, POLICY, ObjectKey, ResourceKind
from lithify.resources.objects import UNREADABLE, Metadata

KEY = ObjectKey("team", "odd")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PROBLEMS = (("spec", "Input should be an object"), ("status.lastRun.time", "Input should be a time"))


class World:
    """Reports over a store; what is written, posted and reconciled is noted."""

    def __init__(self, *, refusing: bool = False) -> None:
        self.store = Store()
        self.written: list[tuple[str, ObjectKey, Object, str]] = []
        self.posted: list[tuple[str, str, str, str, str]] = []
        self.reconciled: list[ObjectKey] = []
        self._refusing = refusing
        world: Any = SimpleNamespace(store=self.store, api=self, recorder=self, now=lambda: NOW)
        self.reports = Reports(world)

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object:
        if self._refusing:
            raise ClusterRefused("patch", "spec is not valid")
        self.written.append((kind.name, key, patch, subresource))
        return {}

    async def post(
        self, kind: ResourceKind, about: Metadata, severity: str, reason: str, message: str
    ) -> None:
        self.posted.append((kind.name, about.uid, severity, reason, message))

    def set(self, kind: ResourceKind, *, uid: str = "u", problem: str = "", **body: Any) -> None:
        metadata = {"name": KEY.name, "namespace": KEY.namespace, "uid": uid, "generation": 3}
        problems = (("", problem),) if problem else PROBLEMS
        found = unreadable({"metadata": metadata, **body}, InvalidResource(kind.name, KEY.name, problems))
        assert found is not None
        self.store.unreadable[kind.name, KEY] = found

    def look(self, kind: ResourceKind) -> float | None:
        async def reconcile(key: ObjectKey) -> float | None:
            self.reconciled.append(key)
            return 7.0

        return asyncio.run(self.reports.beside(kind, reconcile)(KEY))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", OWN_KINDS, ids=lambda kind: kind.name)
def test_others_are_reconciled(kind: ResourceKind) -> None:
    world = World()
    assert world.look(kind) == 7.0
    assert (world.reconciled, world.written, world.posted) == ([KEY], [], [])


@pytest.mark.parametrize("kind", OWN_KINDS, ids=lambda kind: kind.name)
def test_the_owner_is_told_once(kind: ResourceKind) -> None:
    world = World()
    world.set(kind)
    assert [world.look(kind), world.look(kind)] == [None, None]
    (said,) = world.posted
    assert said[:4] == (kind.name, "u", "Warning", UNREADABLE)
    assert all(text in said[4] for problem in PROBLEMS for text in problem)
    assert world.reconciled == []


def test_status_says_so_in_the_words_of_kstatus() -> None:
    world = World()
    world.set(POLICY)
    world.look(POLICY)
    ((kind, key, patch, subresource),) = world.written
    assert (kind, key, subresource) == ("CompactionPolicy", KEY, "status")
    assert patch["status"]["observedGeneration"] == 3
    said = {one["type"]: (one["status"], one["reason"]) for one in patch["status"]["conditions"]}
    assert said == {"Ready": ("False", UNREADABLE), "Stalled": ("True", UNREADABLE)}


def test_what_nobody_can_read_of_a_status_is_taken_away() -> None:
    world = World()
    world.set(LAKE_TABLE)
    world.look(LAKE_TABLE)
    ((_, _, patch, _),) = world.written
    assert patch["status"].keys() == {"observedGeneration", "conditions", "lastRun"}
    assert patch["status"]["lastRun"] is None


def test_the_status_of_a_run_is_left_alone() -> None:
    world = World()
    world.set(COMPACTION)
    world.look(COMPACTION)
    assert world.written == []


def test_a_new_operator_does_not_repeat_what_status_says_already() -> None:
    old = World()
    old.set(LAKE_TABLE)
    old.look(LAKE_TABLE)
    ((_, _, patch, _),) = old.written
    new = World()
    new.set(LAKE_TABLE, **patch)
    new.look(LAKE_TABLE)
    assert (new.written, new.posted) == ([], [])


@pytest.mark.parametrize("change", [{"uid": "another"}, {"problem": "another"}])
def test_another_object_or_problem_is_told_again(change: dict[str, Any]) -> None:
    world = World()
    world.set(POLICY)
    world.look(POLICY)
    world.set(POLICY, **change)
    world.look(POLICY)
    assert len(world.posted) == len(world.written) == 2


def test_a_status_that_is_refused_leaves_the_event() -> None:
    world = World(refusing=True)
    world.set(POLICY)
    world.look(POLICY)
    assert len(world.posted) == 1


@pytest.mark.parametrize(
    "body",
    [{}, {"metadata": None}, {"metadata": {"name": "x"}}, {"metadata": {"name": 7, "namespace": "y"}}],
)
def test_what_has_no_name_cannot_be_told(body: Object) -> None:
    assert unreadable(body, InvalidResource("Kind", "any", PROBLEMS)) is None


@pytest.mark.parametrize(
    "status", [None, [], {"conditions": None}, {"conditions": ["x"]}, {"conditions": [{}]}]
)
def test_a_status_of_any_shape_says_nothing(status: Any) -> None:
    body = {"metadata": {"name": "x", "namespace": "y"}, "status": status}
    found = unreadable(body, InvalidResource("Kind", "x", PROBLEMS))
    assert found is not None
    assert not found.is_said
