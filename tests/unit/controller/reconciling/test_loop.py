"""The workers: each object at a time, failures tried again, and nobody kept from running by them."""

from __future__ import annotations

import asyncio

import pytest

from lithify.controller.reconciling.loop import work
from lithify.controller.reconciling.queue import Queue
from lithify.errors import ClusterConflict, ClusterUnavailable
from lithify.resources.names import LAKE_TABLE, ObjectKey

WORKERS = 4


class Stage:
    """A queue and what became of its objects."""

    def __init__(self) -> None:
        self.queue = Queue({})
        self.endings: list[str] = []
        self.seen: list[str] = []
        self.failures: dict[str, list[Exception]] = {}

    async def reconcile(self, key: ObjectKey) -> float | None:
        self.seen.append(key.name)
        if self.failures.get(key.name):
            raise self.failures[key.name].pop()
        return None

    def measure(self, kind: str, ending: str, seconds: float) -> None:
        self.endings.append(ending)

    def add(self, *names: str) -> None:
        for name in names:
            self.queue.add(LAKE_TABLE, ObjectKey("team", name))

    async def turns_until(self, done: int) -> int:
        """Lets the workers work; how often somebody else came to run meanwhile."""
        working = asyncio.create_task(
            work(self.queue, {LAKE_TABLE.name: self.reconcile}, self.measure, WORKERS)
        )
        turns = 0
        async with asyncio.timeout(5):
            while len(self.endings) < done:
                turns += 1
                await asyncio.sleep(0)
        working.cancel()
        return turns


@pytest.mark.asyncio
async def test_others_run_while_there_is_much_to_do_that_needs_no_request() -> None:
    stage = Stage()
    stage.add(*map(str, range(1000)))
    assert await stage.turns_until(1000) >= 1000 // WORKERS
    assert len(set(stage.seen)) == 1000


@pytest.mark.asyncio
async def test_who_waits_is_given_what_comes_and_one_that_leaves_holds_nobody_up() -> None:
    stage = Stage()
    waiting = [asyncio.create_task(stage.queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    stage.add("a", "b")
    async with asyncio.timeout(5):
        given = await asyncio.gather(*waiting[1:])
    assert [item.key.name for item in given] == ["a", "b"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "ending"),
    [
        pytest.param(ClusterConflict("patch", "changed"), "conflict", id="conflict"),
        pytest.param(ClusterUnavailable("patch", "no answer"), "failed", id="unavailable"),
        pytest.param(ValueError("surprise"), "failed", id="unexpected"),
    ],
)
async def test_a_failure_concerns_one_object_and_is_tried_again(error: Exception, ending: str) -> None:
    stage = Stage()
    stage.failures["bad"] = [error]
    stage.add("bad", "good")
    await stage.turns_until(3)
    assert stage.endings == [ending, "done", "done"]
    assert stage.seen == ["bad", "good", "bad"]
