"""Looks: when they are due, that slow ones stand in nobody's way, and what becomes of their answers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lithify.controller.reconciling.observation_scheduler import (
    JITTER,
    ObservationScheduler,
    PollIntervals,
    TableState,
)
from lithify.errors import CatalogSilent, CatalogUnavailable, LithifyError, TimedOut
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter, ObservationRequest
from lithify.resources.names import ObjectKey
from support.observations import observation

KEY = ObjectKey("team", "orders")
INTERVALS = PollIntervals(every=60, full=600, timeout=30, retry=240)
REQUEST = ObservationRequest(TableAddress("/w", "sales.orders", {}), "uid")


@dataclass
class Ticks:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Answers:
    """An observer that answers as the test says."""

    answer: Callable[[ObservationRequest], Any]
    asked: list[ObservationRequest] = field(default_factory=list)

    async def observe(self, request: ObservationRequest, timeout: float) -> Observation | None:
        self.asked.append(request)
        found = self.answer(request)
        if isinstance(found, asyncio.Event):
            await found.wait()
            return None
        if isinstance(found, Exception):
            raise found
        return found


@dataclass
class Stage:
    """Looks under a clock of the test's."""

    answers: Answers
    ticks: Ticks = field(default_factory=Ticks)
    told: asyncio.Queue[ObjectKey] = field(default_factory=asyncio.Queue)
    later: asyncio.Queue[tuple[ObjectKey, float]] = field(default_factory=asyncio.Queue)
    endings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scheduler = ObservationScheduler(
            self.answers,
            self.told.put_nowait,
            lambda key, seconds: self.later.put_nowait((key, seconds)),
            lambda ending, _: self.endings.append(ending),
            ticks=self.ticks,
        )
        self.work = asyncio.create_task(self.scheduler.work())

    async def look(self, request: ObservationRequest = REQUEST) -> None:
        """Asks for a look that is due, and waits for its end."""
        self.scheduler.ask(KEY, request, INTERVALS)
        async with asyncio.timeout(2):
            assert await self.told.get() == KEY

    async def look_in_vain(self, request: ObservationRequest = REQUEST) -> float:
        """The same for a look that finds nothing new; the seconds until the next one."""
        self.scheduler.ask(KEY, request, INTERVALS)
        async with asyncio.timeout(2):
            key, seconds = await self.later.get()
        assert (key, self.told.empty()) == (KEY, True)
        return seconds

    def end(self) -> None:
        self.work.cancel()


@pytest.mark.asyncio
async def test_the_first_look_asks_for_everything_and_the_next_ones_build_on_it() -> None:
    found = observation(snapshot=SnapshotId("7"))
    stage = Stage(Answers(lambda request: found if request.known_uuid is None else None))
    await stage.look()
    wait = stage.scheduler.ask(KEY, REQUEST, INTERVALS)
    assert 60 * (1 - JITTER) <= wait <= 60 * (1 + JITTER)
    stage.ticks.now += wait
    assert await stage.look_in_vain() == pytest.approx(wait)
    first, second = stage.answers.asked
    assert (first.is_full, first.known_snapshot) == (False, None)
    assert (second.is_full, second.known_snapshot, second.known_uuid) == (False, "7", found.table_uuid)
    assert stage.endings == ["changed", "unchanged"]
    assert stage.scheduler.seen(KEY).observation == found
    stage.end()


@pytest.mark.asyncio
async def test_a_look_at_the_whole_comes_back_after_its_interval() -> None:
    stage = Stage(Answers(lambda _: observation()))
    await stage.look()
    stage.ticks.now += INTERVALS.full
    await stage.look_in_vain()
    assert [request.is_full for request in stage.answers.asked] == [False, True]
    stage.end()


@pytest.mark.asyncio
async def test_another_question_is_asked_at_once() -> None:
    stage = Stage(Answers(lambda _: observation()))
    await stage.look()
    other = replace(REQUEST, wanted=Filter(Selection(({"dt": "2026-01-01"},))))
    await stage.look(other)
    assert stage.answers.asked[-1].wanted == other.wanted
    assert stage.answers.asked[-1].known_uuid is None, "what is known was judged by other rules"
    stage.end()


@pytest.mark.asyncio
async def test_a_whole_look_that_is_wanted_is_wanted_until_it_has_gone_well() -> None:
    answers: list[Any] = [observation(), CatalogUnavailable("/w", "no answer"), observation(), None]
    stage = Stage(Answers(lambda _: answers.pop(0)))
    await stage.look()
    stage.scheduler.want(KEY, full=True)
    await stage.look()
    stage.ticks.now += 600
    await stage.look()
    stage.ticks.now += 100
    await stage.look_in_vain()
    assert [request.is_full for request in stage.answers.asked] == [False, True, True, False]
    stage.end()


@pytest.mark.asyncio
async def test_a_wanted_look_does_not_wait() -> None:
    stage = Stage(Answers(lambda _: observation()))
    await stage.look()
    assert stage.scheduler.ask(KEY, REQUEST, INTERVALS) > 0
    stage.scheduler.want(KEY)
    await stage.look()
    assert len(stage.answers.asked) == 2
    stage.end()


@pytest.mark.asyncio
@pytest.mark.parametrize("is_asked", [True, False], ids=["asked", "wanted"])
async def test_who_asks_during_a_look_is_told_of_its_end(is_asked: bool) -> None:
    held = asyncio.Event()
    answers = Answers(lambda _: observation())
    stage = Stage(answers)
    await stage.look()
    answers.answer = lambda _: held
    stage.ticks.now += 2 * INTERVALS.every
    assert stage.scheduler.ask(KEY, REQUEST, INTERVALS) == math.inf
    if is_asked:
        assert (
            stage.scheduler.ask(KEY, replace(REQUEST, wanted=Filter(idle_seconds=5)), INTERVALS) == math.inf
        )
    else:
        stage.scheduler.want(KEY)
    held.set()
    async with asyncio.timeout(2):
        assert await stage.told.get() == KEY
    assert stage.later.empty()
    stage.end()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "ending"),
    [
        pytest.param(CatalogUnavailable("http://lake", "no answer"), "failed", id="unavailable"),
        pytest.param(TimedOut("the look", 30), "timed-out", id="timed_out"),
        pytest.param(ValueError("surprise"), "failed", id="unexpected"),
    ],
)
async def test_a_failure_is_kept_beside_what_was_seen_and_tried_again_later(
    error: Exception, ending: str
) -> None:
    answers = Answers(lambda _: observation())
    stage = Stage(answers)
    await stage.look()
    answers.answer = lambda _: error
    stage.scheduler.want(KEY)
    await stage.look()
    seen = stage.scheduler.seen(KEY)
    assert isinstance(seen.error, LithifyError)
    assert seen.observation == observation()
    assert stage.endings[-1] == ending
    assert stage.scheduler.ask(KEY, REQUEST, INTERVALS) >= INTERVALS.retry * (1 - JITTER)
    answers.answer = lambda _: None
    stage.scheduler.want(KEY)
    await stage.look()
    assert stage.scheduler.seen(KEY).error is None
    stage.end()


@pytest.mark.asyncio
async def test_a_table_that_never_answers_holds_up_only_itself() -> None:
    never = asyncio.Event()
    answers = Answers(lambda request: never if request.cache_key == "hangs" else observation())
    stage = Stage(answers)
    stage.scheduler.ask(ObjectKey("team", "hangs"), replace(REQUEST, cache_key="hangs"), INTERVALS)
    for _ in range(5):
        stage.scheduler.want(KEY)
        await stage.look()
    assert len(answers.asked) == 6
    stage.end()


@pytest.mark.asyncio
async def test_what_comes_back_for_a_table_that_is_gone_is_dropped() -> None:
    held = asyncio.Event()
    stage = Stage(Answers(lambda _: held))
    stage.scheduler.ask(KEY, REQUEST, INTERVALS)
    while not stage.answers.asked:
        await asyncio.sleep(0)
    stage.scheduler.forget(KEY)
    held.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert stage.told.empty()
    assert stage.later.empty()
    assert stage.scheduler.oldest_seconds == 0.0
    stage.end()


def test_credentials_are_not_part_of_what_a_request_shows() -> None:
    target = TableAddress("/w", "sales.orders", {"s3.secret-key": "hush-hush"})
    assert "hush-hush" not in repr(replace(REQUEST, address=target))


@pytest.mark.asyncio
async def test_what_was_seen_before_a_change_is_outdated_until_the_next_good_look() -> None:
    answers = Answers(lambda _: observation())
    stage = Stage(answers)
    await stage.look()
    stage.scheduler.want(KEY)
    assert stage.scheduler.seen(KEY).outdated
    answers.answer = lambda _: CatalogUnavailable("http://lake", "no answer")
    await stage.look()
    assert stage.scheduler.seen(KEY).outdated, "nobody knows yet what has become of it"
    answers.answer = lambda _: None
    stage.scheduler.want(KEY)
    await stage.look()
    assert not stage.scheduler.seen(KEY).outdated
    stage.end()


@pytest.mark.asyncio
async def test_a_trigger_that_time_alone_has_fired_is_judged_once() -> None:
    stage = Stage(Answers(lambda _: observation()))
    await stage.look()
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    stage.scheduler.ask(KEY, REQUEST, INTERVALS, since=noon)
    async with asyncio.timeout(2):
        await stage.told.get()
    assert stage.answers.asked[-1].reconsider
    assert stage.scheduler.ask(KEY, REQUEST, INTERVALS, since=noon) > 0, "the same moment is not judged again"
    assert len(stage.answers.asked) == 2
    stage.end()


def request_of(catalog: str, table: str) -> ObservationRequest:
    return ObservationRequest(TableAddress("/w", table, {}, catalog=catalog), table)


def key_of(request: ObservationRequest) -> ObjectKey:
    return ObjectKey(request.address.catalog.partition("/")[0], request.cache_key)


@pytest.mark.asyncio
async def test_a_catalog_with_many_tables_hides_no_other_one() -> None:
    """However many wait, who shares out the turns hears of each catalog."""
    never = asyncio.Event()
    dead = [request_of("team/dead", f"dead-{number}") for number in range(40)]
    sound = request_of("shop/sound", "orders")
    stage = Stage(Answers(lambda request: never if request in dead else observation()))
    for request in dead:
        stage.scheduler.ask(key_of(request), request, INTERVALS)
    await asyncio.sleep(0)
    stage.scheduler.ask(key_of(sound), sound, INTERVALS)
    async with asyncio.timeout(2):
        assert await stage.told.get() == key_of(sound)
    assert len(stage.answers.asked) == stage.scheduler.per_catalog + 1
    stage.end()


@pytest.mark.asyncio
@pytest.mark.parametrize("began", [True, False], ids=["under way", "not begun"])
async def test_a_look_at_a_table_that_is_deleted_is_given_up(*, began: bool) -> None:
    never = asyncio.Event()
    requests = [request_of("team/lake", f"t-{number}") for number in range(3)]
    stage = Stage(Answers(lambda _: never))
    stage.scheduler.per_catalog = 1
    first = key_of(requests[0])
    stage.scheduler.ask(first, requests[0], INTERVALS)
    for _ in range(3 if began else 1):
        await asyncio.sleep(0)
    assert bool(stage.answers.asked) is began
    stage.scheduler.forget(first)
    stage.answers.answer = lambda _: observation()
    for request in requests[1:]:
        stage.scheduler.ask(key_of(request), request, INTERVALS)
    async with asyncio.timeout(2):
        assert {await stage.told.get(), await stage.told.get()} == {key_of(one) for one in requests[1:]}
    assert not never.is_set()
    stage.end()


@pytest.mark.asyncio
async def test_tables_of_a_silent_catalog_ask_seldom_and_are_all_looked_at_once_it_answers() -> None:
    silent = CatalogSilent("s3://lake", "no answer", 5.0)
    requests = [request_of("team/lake", f"t-{number:02}") for number in range(40)]
    stage = Stage(Answers(lambda _: silent))
    for request in requests:
        stage.scheduler.ask(key_of(request), request, INTERVALS)
    async with asyncio.timeout(2):
        for _ in requests:
            await stage.told.get()
    assert set(stage.endings) == {"not-asked"}
    waits = [stage.scheduler.ask(key_of(request), request, INTERVALS) for request in requests]
    assert min(waits) >= 4 * 5.0 * (1 - JITTER), "ten of them in each pause"
    assert max(waits) <= INTERVALS.retry * (1 + JITTER)

    stage.answers.answer = lambda _: observation()
    stage.ticks.now += min(waits)
    first = requests[waits.index(min(waits))]
    assert stage.scheduler.ask(key_of(first), first, INTERVALS) == math.inf
    async with asyncio.timeout(2):
        told = {await stage.told.get() for _ in requests}
    assert told == {key_of(request) for request in requests}
    for request in requests:
        if request is not first:
            assert stage.scheduler.ask(key_of(request), request, INTERVALS) == math.inf
    stage.end()


def test_table_whose_observation_cannot_be_requested_is_settled_and_known() -> None:
    """So `lithify watch --once` ends, and its Catalog learns why."""
    state = TableState(wanted=True)
    assert (state.is_settled, state.is_known, state.failure) == (False, False, None)
    state.unasked = LithifyError("there is no Secret")
    assert (state.is_settled, state.is_known, state.failure) == (True, True, state.unasked)
