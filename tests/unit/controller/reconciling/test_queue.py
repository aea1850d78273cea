"""The queue: each key once, the urgent first, again if it was added meanwhile, and none is ever forgotten."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.controller.reconciling.queue import FIRST_RETRY, LAST_RETRY, Item, Queue
from lithify.resources.names import COMPACTION, LAKE_TABLE, ObjectKey, ResourceKind


@dataclass
class Ticks:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


PRIORITIES = {COMPACTION.name: 0, LAKE_TABLE.name: 2}


def key(name: str) -> ObjectKey:
    return ObjectKey("team", name)


def item(name: str, kind: ResourceKind = LAKE_TABLE) -> Item:
    return Item(kind.name, key(name))


def drain(queue: Queue) -> list[Item]:
    """Everything that is ready now, in order, each said to be done."""

    async def take() -> list[Item]:
        found = []
        while queue.depth:
            found.append(await queue.get())
            queue.done(found[-1])
        return found

    return asyncio.run(take())


def test_a_key_waits_once_however_often_it_is_added() -> None:
    queue = Queue(PRIORITIES)
    for _ in range(3):
        queue.add(LAKE_TABLE, key("a"))
    assert drain(queue) == [item("a")]


def test_runs_go_before_tables_and_equals_in_order() -> None:
    queue = Queue(PRIORITIES)
    queue.add(LAKE_TABLE, key("a"))
    queue.add(LAKE_TABLE, key("b"))
    queue.add(COMPACTION, key("c"))
    assert drain(queue) == [item("c", COMPACTION), item("a"), item("b")]


@pytest.mark.asyncio
async def test_what_is_added_while_it_is_looked_at_is_looked_at_again() -> None:
    queue = Queue(PRIORITIES)
    queue.add(LAKE_TABLE, key("a"))
    taken = await queue.get()
    queue.add(LAKE_TABLE, key("a"))
    assert queue.depth == 0, "nobody else gets it meanwhile"
    queue.done(taken)
    assert queue.depth == 1


@pytest.mark.asyncio
async def test_deadlines_come_when_they_are_due_and_the_earliest_counts() -> None:
    ticks = Ticks()
    queue = Queue(PRIORITIES, ticks)
    queue.add_after(item("late"), 50)
    queue.add_after(item("early"), 50)
    queue.add_after(item("early"), 10)
    queue.add_after(item("early"), 30)
    ticks.now = 10
    assert await queue.get() == item("early")
    queue.done(item("early"))
    ticks.now = 49
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await queue.get()
    ticks.now = 50
    assert await queue.get() == item("late")


@pytest.mark.asyncio
async def test_failures_back_off_and_a_success_forgets_them() -> None:
    ticks = Ticks()
    queue = Queue(PRIORITIES, ticks)
    queue.add(LAKE_TABLE, key("a"))
    waits = []
    for _ in range(10):
        taken = await queue.get()
        waits.append(queue.failed(taken))
        ticks.now += waits[-1]
    assert waits[0] == FIRST_RETRY
    assert waits == sorted(waits)
    assert waits[-1] == LAST_RETRY
    taken = await queue.get()
    queue.done(taken)
    queue.add(LAKE_TABLE, key("a"))
    assert queue.failed(await queue.get()) == FIRST_RETRY


@pytest.mark.asyncio
async def test_an_event_does_not_wait_for_the_back_off() -> None:
    queue = Queue(PRIORITIES, Ticks())
    queue.add(LAKE_TABLE, key("a"))
    queue.failed(await queue.get())
    queue.add(LAKE_TABLE, key("a"))
    assert await queue.get() == item("a")


def test_it_tells_how_much_waits_and_for_how_long() -> None:
    ticks = Ticks()
    queue = Queue(PRIORITIES, ticks)
    assert (queue.depth, queue.oldest_seconds) == (0, 0.0)
    queue.add(LAKE_TABLE, key("a"))
    ticks.now = 5
    queue.add(LAKE_TABLE, key("b"))
    assert (queue.depth, queue.oldest_seconds) == (2, 5.0)


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "after", "take", "done", "again", "fail", "tick"]), st.integers(0, 4)),
    max_size=60,
)


def test_deadlines_that_mean_nothing_any_more_are_dropped() -> None:
    queue = Queue({}, Ticks())
    for _ in range(10_000):
        queue.add_after(item("a"), 3600)
        queue.add(LAKE_TABLE, key("a"))
        assert queue._next() == item("a")
        queue.done(item("a"))
    queue.add_after(item("b"), 5)
    assert len(queue._timed) < 2000
    assert queue._due.keys() == {item("b")}


@dataclass
class World:
    """A queue, who has taken keys out of it, and which keys still have to come out."""

    ticks: Ticks = field(default_factory=Ticks)
    owed: set[Item] = field(default_factory=set)
    out: list[Item] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.queue = Queue(PRIORITIES, self.ticks)

    def add(self, number: int) -> None:
        self.queue.add(LAKE_TABLE, key(f"t{number}"))
        self.owed.add(item(f"t{number}"))

    def after(self, number: int) -> None:
        self.queue.add_after(item(f"t{number}"), number * 10)
        self.owed.add(item(f"t{number}"))

    async def take(self, number: int) -> None:
        if self.queue.depth:
            taken = await self.queue.get()
            assert taken not in self.out
            self.out.append(taken)
            self.owed.discard(taken)

    def done(self, number: int) -> None:
        if self.out:
            self.queue.done(self.out.pop())

    def again(self, number: int) -> None:
        if self.out:
            self.owed.add(self.out[-1])
            self.queue.done(self.out.pop(), number)

    def fail(self, number: int) -> None:
        if self.out:
            self.owed.add(self.out[-1])
            self.queue.failed(self.out.pop())

    def tick(self, number: int) -> None:
        self.ticks.now += number * 7


@settings(deadline=None)
@given(steps=STEPS)
def test_whatever_happens_no_key_is_lost_or_given_out_twice(steps: list[tuple[str, int]]) -> None:
    async def run() -> None:
        world = World()
        for step, number in steps:
            waited = getattr(world, step)(number)
            if waited is not None:
                await waited
        while world.out:
            world.done(0)
        world.ticks.now += 10_000
        seen: set[Item] = set()
        while seen < world.owed:
            async with asyncio.timeout(1):
                taken = await world.queue.get()
            seen.add(taken)
            world.queue.done(taken)

    asyncio.run(run())
