"""Nothing that the operator does is repeated fast for long, whatever it is that goes on failing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from lithify.controller.reconciling.loop import work
from lithify.controller.reconciling.pacing import LAST, Backoff, Repeats
from lithify.controller.running.facts import Problem
from lithify.errors import ClusterConflict, ClusterRefused, ClusterUnavailable, NameTaken, NotAllowed
from lithify.resources.compaction import Reason
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, LEASE, POLICY, ObjectKey
from support.cases import case
from support.running.runs import DEADLINES, NOON
from support.running.runs import POLICY as RULES
from support.running.world import World
from unit.controller.reconciling import shell
from unit.controller.reconciling.shell import TEAM, Leases, ShellOperator
from unit.controller.reconciling.virtual_time import run

HOUR = 3600.0
DAY = 86400
MOST_REQUESTS = 400
"""In an hour, for one run: a handful each minute, and more in the beginning."""
NAME = "a"


class Play:
    """One run and its operator, in virtual time; requests are counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        patient = replace(
            DEADLINES, **dict.fromkeys(("queued_seconds", "scheduling_seconds", "running_seconds"), DAY)
        )
        self.world = World(policy=replace(RULES, deadlines=patient))
        self.operator = ShellOperator(self.world, Leases(), asyncio.create_task)
        self.requests = 0
        self.queue = self.operator.shell.context.queue
        self.loop: asyncio.AbstractEventLoop | None = None
        self.queue.ticks = self.seconds
        monkeypatch.setattr(shell, "_leave", self._count)
        monkeypatch.setattr(shell, "RULES", self.world.policy)
        self.world.create(NAME)

    def seconds(self) -> float:
        return asyncio.get_running_loop().time()

    async def _count(self) -> None:
        self.requests += 1
        await asyncio.sleep(0)

    async def lasts(self, seconds: float) -> int:
        """Has the operator work for a while; returns the number of its requests."""
        before = self.requests
        self.queue.add(COMPACTION, ObjectKey(TEAM, NAME))
        others = dict.fromkeys((CATALOG.name, POLICY.name, LAKE_TABLE.name), self._nothing)
        reconcilers = {**others, COMPACTION.name: self._reconcile}
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await work(self.queue, reconcilers, lambda *_: None, 2)
        return self.requests - before

    async def until(self, reason: Reason) -> None:
        """Has the operator work until the run stands where it should."""
        for _ in range(100):
            if self.world.runs[NAME].reason is reason:
                return
            await self.lasts(3.0)
            for pod in self.world.pods.values():
                self.world.advance(pod)
        raise AssertionError(f"it stands at {self.world.runs[NAME].reason}")

    async def _reconcile(self, key: ObjectKey) -> float | None:
        self.world.now = NOON + timedelta(seconds=self.seconds())
        if NAME in self.world.runs or self.operator.store.compactions.get(key) is not None:
            self.operator.hear(NAME)
        return await self.operator.shell.reconcile(key)

    async def _nothing(self, _: ObjectKey) -> float | None:
        return None


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    return Play(monkeypatch)


def failing(error: Exception) -> Callable[..., Awaitable[Any]]:
    async def fail(*_: object, **__: object) -> Any:
        await shell._leave()
        raise error

    return fail


def without_effect() -> Callable[..., Awaitable[Any]]:
    async def act(*_: object, **__: object) -> Any:
        await shell._leave()

    return act


async def loses_its_driver(play: Play) -> None:
    await play.until(Reason.RUNNING)
    play.world.pods.clear()


@dataclass(frozen=True)
class Failing:
    """What goes on failing, from the start or from when the run has got somewhere."""

    breaks: Callable[[Play], None]
    first: Callable[[Play], Awaitable[None]] | None = None


def search_fails(error: Exception) -> Failing:
    def breaks(play: Play) -> None:
        play.operator.shell.context.observer.find_run = failing(error)  # type: ignore[method-assign]

    return Failing(breaks, loses_its_driver)


def catalog_is_gone() -> Failing:
    def breaks(play: Play) -> None:
        play.world.problem = Problem(Reason.INVALID_SPEC, "gone", may_pass=True)

    return Failing(breaks, loses_its_driver)


def launcher_fails(name: str, error: Exception, first: Reason | None = None, **spec: Any) -> Failing:
    def breaks(play: Play) -> None:
        setattr(play.operator.drivers, name, failing(error))
        play.world.edit(NAME, **spec)

    return Failing(breaks, None if first is None else lambda play: play.until(first))


def node_is_lost(*, deleted: bool) -> Failing:
    def breaks(play: Play) -> None:
        for method in ("stop", "release"):
            setattr(play.operator.drivers, method, without_effect())
        if deleted:
            del play.world.runs[NAME]
        else:
            play.world.edit(NAME, cancel=True)

    return Failing(breaks, lambda play: play.until(Reason.RUNNING))


def requests_fail(method: str, kind: Any, error: Exception) -> Failing:
    def breaks(play: Play) -> None:
        api: Any = play.operator.shell.context.api
        answered = getattr(api, method)

        async def request(asked: Any, *arguments: Any, **named: Any) -> Any:
            if asked is not kind:
                return await answered(asked, *arguments, **named)
            await shell._leave()
            raise error

        setattr(api, method, request)

    return Failing(breaks)


REFUSED, UNAVAILABLE = ClusterRefused("request", "forbidden"), ClusterUnavailable("request", "no answer")
CASES = [
    case(search_fails(NotAllowed("lake", "forbidden")), id="the search for a commit is refused"),
    case(search_fails(RuntimeError("a bug")), id="the search for a commit ends unexpectedly"),
    case(catalog_is_gone(), id="there is no catalog to search"),
    case(launcher_fails("start", UNAVAILABLE), id="a quota refuses the driver"),
    case(launcher_fails("start", NameTaken("start", "taken")), id="the driver's name is taken"),
    case(launcher_fails("look", UNAVAILABLE), id="nobody tells of the driver"),
    case(launcher_fails("look", REFUSED), id="pods may not be read"),
    case(launcher_fails("stop", REFUSED, Reason.RUNNING, cancel=True), id="pods may not be deleted"),
    case(node_is_lost(deleted=False), id="a driver does not end"),
    case(node_is_lost(deleted=True), id="a driver does not end whose Compaction was deleted"),
    case(requests_fail("patch", COMPACTION, REFUSED), id="status may not be written"),
    case(requests_fail("patch", COMPACTION, ClusterConflict("patch", "changed")), id="others write status"),
    case(requests_fail("create", LEASE, REFUSED), id="locks may not be made"),
    case(requests_fail("create", LEASE, UNAVAILABLE), id="locks cannot be made"),
    case(requests_fail("get", LEASE, UNAVAILABLE), id="locks cannot be read"),
    case(requests_fail("get", LEASE, REFUSED), id="locks may not be read"),
]


@pytest.mark.parametrize("failing", CASES)
def test_what_goes_on_failing_is_repeated_ever_more_slowly(play: Play, failing: Failing) -> None:
    async def story() -> int:
        if failing.first is not None:
            await failing.first(play)
        failing.breaks(play)
        return await play.lasts(HOUR)

    requests = run(story())
    assert 10 <= requests <= MOST_REQUESTS


def test_a_search_that_was_refused_is_repeated_at_once_when_its_catalog_changes(play: Play) -> None:
    searches: list[float] = []

    async def refused(*_: object) -> None:
        searches.append(play.seconds())
        raise NotAllowed("lake", "forbidden")

    async def story() -> float:
        await loses_its_driver(play)
        play.operator.shell.context.observer.find_run = refused  # type: ignore[method-assign,assignment]
        await play.lasts(DEADLINES.searching_seconds - 100.0)
        play.operator.hear = lambda _: None  # type: ignore[method-assign]
        metadata = {"name": "lake", "namespace": TEAM, "uid": "lake", "generation": 2}
        body = {"metadata": {**metadata, "resourceVersion": str(10**9)}, "spec": {"warehouse": "/v"}}
        play.operator.intake.take(CATALOG, body, gone=False)
        changed = play.seconds()
        await play.lasts(5.0)
        return changed

    changed = run(story())
    waits = [later - earlier for earlier, later in pairwise(searches)]
    assert waits[0] < 3.0
    assert max(waits) > 100.0
    assert [moment for moment in searches if moment >= changed] == [changed]


def test_waits_grow_are_bounded_and_differ_between_runs() -> None:
    one, other = Backoff("one"), Backoff("other")
    waits = [one.failed() for _ in range(12)]
    assert waits[0] <= 2.0
    assert all(LAST / 2 <= wait <= LAST for wait in waits[5:])
    assert waits != [other.failed() for _ in range(12)]
    one.succeeded()
    assert one.failed() == waits[0]


def test_acts_are_repeated_slowly_and_new_ones_are_looked_at_at_once() -> None:
    repeats = Repeats(Backoff("run"))
    assert repeats.wait("Running", ("stop",)) == 0.0
    assert 0.0 < repeats.wait("Running", ("stop",)) < repeats.wait("Running", ("stop",))
    assert repeats.wait("Running", ("take",)) == 0.0
    assert repeats.wait("Running", ("stop",)) > 0.0, "back and forth is no progress"
    assert repeats.wait("Cancelled", ("stop",)) == 0.0
    repeats.clear()
    assert repeats.wait("Cancelled", ("stop",)) == 0.0
