"""Who gets which worker, and when workers go. The workers are of paper, so any order of events can be had."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from lithify.controller.observing.pool import ObserverPool, PoolSettings
from lithify.controller.observing.process import WorkerProcess
from lithify.controller.observing.request import PlanRequest
from lithify.controller.observing.turns import FIRST_PAUSE
from lithify.controller.observing.wire import HEADER, Reply, WorkerSettings
from lithify.errors import CatalogSilent, Failure, LithifyError, NotFound, ProcessLost, TimedOut
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observing import ObservationRequest

pytestmark = pytest.mark.asyncio

SETTINGS = PoolSettings(WorkerSettings("unused"), workers=2)
SECONDS = 30.0


class Paper:
    """A worker that answers when a test says so, with its number and what it was asked."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.number = len(shop.workers)
        self.pid = self.number
        self.answered = 0
        self.resident_bytes = 0
        self.has_ended = False
        self.answer: asyncio.Future[Reply] | None = None
        self.asked: list[str] = []
        shop.workers.append(self)

    async def be_ready(self, settings: WorkerSettings, seconds: float) -> None:
        if self.shop.failures:
            raise self.shop.failures.pop()

    async def ask(self, message: bytes, what: str, seconds: float) -> Reply:
        question = pickle.loads(message[HEADER:])
        self.asked.append(question.address.name)
        self.answer = asyncio.get_running_loop().create_future()
        if self.shop.is_fast:
            self.answer.set_result(Reply(value=self.number))
        try:
            reply = await self.answer
        except TimeoutError as error:
            raise TimedOut(what, seconds) from error
        finally:
            self.answer = None
        self.answered += 1
        self.resident_bytes = reply.resident_bytes
        return reply

    def kill(self) -> None:
        self.has_ended = True
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(ProcessLost("asking", "killed"))

    let_go = kill

    async def wait(self) -> None:
        assert self.has_ended


@dataclass
class Shop:
    """All workers that were ever made."""

    workers: list[Paper] = field(default_factory=list)
    is_fast: bool = True
    failures: list[LithifyError] = field(default_factory=list)

    async def start(self) -> Paper:
        return Paper(self)

    @property
    def busy(self) -> list[Paper]:
        return [worker for worker in self.workers if worker.answer is not None]


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Shop:
    made = Shop()
    monkeypatch.setattr(WorkerProcess, "start", made.start)
    return made


@asynccontextmanager
async def pool_of(**changes: Any) -> AsyncIterator[ObserverPool]:
    async with ObserverPool(replace(SETTINGS, **changes)) as pool:
        yield pool


def ask(pool: ObserverPool, table: str, warehouse: str = "w") -> asyncio.Task[Any]:
    request = ObservationRequest(TableAddress(warehouse, table, {}), cache_key=table)
    return asyncio.create_task(pool.observe(request, SECONDS))


async def proven(shop: Shop, pool: ObserverPool, *warehouses: str) -> None:
    """Has catalogs answer once, so that they get more than one place."""
    is_fast, shop.is_fast = shop.is_fast, True
    for warehouse in warehouses or ("w",):
        await ask(pool, "proof", warehouse)
    shop.is_fast = is_fast


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


async def settle() -> None:
    """Lets everything happen that is about to."""
    for _ in range(20):
        await asyncio.sleep(0)


class TestPlaces:
    async def test_one_worker_suffices_for_one_question_at_a_time(self, shop: Shop) -> None:
        async with pool_of() as pool:
            assert [await ask(pool, name) for name in "abc"] == [0, 0, 0]

    async def test_a_table_goes_to_the_worker_that_saw_it(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of() as pool:
            await proven(shop, pool)
            tasks = [ask(pool, name) for name in "ab"]
            await until(lambda: len(shop.busy) == 2)
            shop.is_fast = True
            for worker in shop.busy:
                assert worker.answer is not None
                worker.answer.set_result(Reply(value=worker.number))
            seen = dict(zip("ab", await asyncio.gather(*tasks), strict=True))
            for name in "abba":
                assert await ask(pool, name) == seen[name]

    async def test_a_busy_worker_is_not_waited_for_when_another_is_idle(self, shop: Shop) -> None:
        async with pool_of() as pool:
            await proven(shop, pool)
            assert await ask(pool, "a") == 0
            shop.is_fast = False
            first = ask(pool, "a")
            await until(lambda: shop.busy)
            shop.is_fast = True
            assert await ask(pool, "a") == 1
            first.cancel()

    async def test_no_more_workers_than_places_and_first_come_first_served(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of() as pool:
            await proven(shop, pool)
            tasks = [ask(pool, name) for name in "abcd"]
            await until(lambda: len(shop.busy) == 2)
            await settle()
            assert len(shop.workers) == 2
            answers = shop.busy[0].answer
            assert answers is not None
            answers.set_result(Reply())
            await until(lambda: any("c" in worker.asked for worker in shop.workers))
            assert not any("d" in worker.asked for worker in shop.workers)
            for task in tasks:
                task.cancel()

    async def test_who_gives_up_waiting_leaves_the_place_to_others(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of(workers=1) as pool:
            running, waiting, third = (ask(pool, name) for name in "abc")
            await until(lambda: shop.busy)
            waiting.cancel()
            shop.is_fast = True
            (worker,) = shop.busy
            assert worker.answer is not None
            worker.answer.set_result(Reply(value="done"))
            assert await running == "done"
            assert await third == 0
            assert worker.asked == ["a", "c"]

    async def test_who_gives_up_at_the_moment_it_is_served(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of(workers=1) as pool:
            running, waiting = ask(pool, "a"), ask(pool, "b")
            await until(lambda: shop.busy)
            (worker,) = shop.busy
            assert worker.answer is not None
            worker.answer.set_result(Reply())
            running.add_done_callback(lambda _: waiting.cancel())
            await until(waiting.done)
            shop.is_fast = True
            await ask(pool, "c")

    async def test_who_gives_up_while_it_is_served_costs_the_worker(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of(workers=1) as pool:
            task = ask(pool, "a")
            await until(lambda: shop.busy)
            task.cancel()
            await until(task.done)
            shop.is_fast = True
            assert await ask(pool, "a") == 1, "nobody knows what the first one is doing"


class TestBrokenCatalogs:
    async def test_a_catalog_that_does_not_answer_leaves_places_to_others(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of() as pool:
            await proven(shop, pool, "sound")
            hanging = [ask(pool, name, "broken") for name in "abcd"]
            await until(lambda: shop.busy)
            await settle()
            assert len(shop.busy) == 1
            shop.is_fast = True
            for name in "xyz":
                await ask(pool, name, "sound")
            for task in hanging:
                task.cancel()

    async def test_one_table_that_hangs_is_not_its_catalogs_fault(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of() as pool:
            hanging = ask(pool, "a", "broken")
            others = [ask(pool, name, "broken") for name in "bcd"]
            await until(lambda: shop.busy)
            time_out(shop.busy[0])
            with pytest.raises(TimedOut):
                await hanging
            await until(lambda: shop.busy)
            answer = shop.busy[0].answer
            assert answer is not None
            answer.set_result(Reply(error=NotFound("table", "b")))
            await until(lambda: len(shop.busy) == 2)
            for task in others:
                task.cancel()
            with pytest.raises(NotFound):
                await others[0]

    async def test_catalog_that_was_not_asked_yet_waits_for_no_time_out(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of(patience=0.01) as pool:
            hanging = ask(pool, "a", "broken")
            await until(lambda: shop.busy)
            shop.is_fast = True
            assert await ask(pool, "x", "sound") == 1
            assert shop.workers[0].has_ended
            assert await hanging == 1, "it is asked again, and nobody is told of that"
        assert [worker.asked for worker in shop.workers] == [["a"], ["x", "a"]]

    async def test_caller_may_give_up_a_question_that_is_asked_again(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of(patience=0.01) as pool:
            hanging, waiting = ask(pool, "a", "broken"), ask(pool, "x", "sound")
            await until(lambda: any("x" in worker.asked for worker in shop.workers))
            hanging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hanging
            answer = shop.busy[0].answer
            assert answer is not None
            answer.set_result(Reply(value=7))
            assert await waiting == 7

    async def test_two_in_a_row_spare_the_others_the_wait(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of() as pool:
            tasks = [ask(pool, name, "broken") for name in "abcd"]
            for task in tasks[:2]:
                await until(lambda: shop.busy)
                time_out(shop.busy[0])
                with pytest.raises(TimedOut):
                    await task
            for task in (*tasks[2:], ask(pool, "e", "broken")):
                with pytest.raises(CatalogSilent) as raised:
                    await task
                assert 0 < raised.value.again_seconds <= FIRST_PAUSE
                assert raised.value.failure is Failure.INFRASTRUCTURE
            assert not shop.busy
            shop.is_fast = True
            await ask(pool, "x", "sound")


def time_out(worker: Paper) -> None:
    assert worker.answer is not None
    worker.answer.set_exception(TimeoutError())


class TestEnds:
    async def test_workers_are_replaced_after_many_answers(self, shop: Shop) -> None:
        async with pool_of(answers=2) as pool:
            assert [await ask(pool, "a") for _ in range(5)] == [0, 0, 1, 1, 2]
            assert [worker.has_ended for worker in shop.workers] == [True, True, False]

    async def test_a_worker_that_grew_too_large_is_replaced(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of(resident_bytes=100) as pool:
            for resident, expected in ((100, 1), (101, 1), (0, 2)):
                task = ask(pool, "a")
                await until(lambda: shop.busy)
                assert len(shop.workers) == expected
                answer = shop.busy[0].answer
                assert answer is not None
                answer.set_result(Reply(resident_bytes=resident))
                await task

    async def test_an_idle_worker_ends_and_another_one_answers(self, shop: Shop) -> None:
        async with pool_of(idle_seconds=0.01) as pool:
            await ask(pool, "a")
            await until(lambda: shop.workers[0].has_ended)
            assert pool.pids == frozenset()
            assert await ask(pool, "a") == 1

    async def test_died_while_it_was_idle(self, shop: Shop) -> None:
        async with pool_of() as pool:
            await ask(pool, "a")
            shop.workers[0].kill()
            assert await ask(pool, "a") == 1

    async def test_a_worker_that_cannot_be_started_is_tried_again(self, shop: Shop) -> None:
        shop.failures = [ProcessLost("starting", "no memory")]
        async with pool_of(workers=1) as pool:
            with pytest.raises(ProcessLost):
                await ask(pool, "a")
            assert await ask(pool, "a") == 1

    async def test_anything_unexpected_is_a_bug_of_that_question_alone(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of(workers=1) as pool:
            task = ask(pool, "a")
            await until(lambda: shop.busy)
            answer = shop.busy[0].answer
            assert answer is not None
            answer.set_exception(ZeroDivisionError())
            with pytest.raises(LithifyError) as raised:
                await task
            assert raised.value.failure is Failure.BUG
            shop.is_fast = True
            await ask(pool, "a")

    async def test_what_cannot_be_sent_is_a_bug_of_that_question_alone(self, shop: Shop) -> None:
        async with pool_of(workers=1) as pool:
            target = TableAddress("w", "t", {"key": (lambda: None)})  # type: ignore[dict-item]  # cannot be sent
            with pytest.raises(LithifyError) as raised:
                await pool.observe(ObservationRequest(target, "a"), SECONDS)
            assert raised.value.failure is Failure.BUG
            await ask(pool, "a")

    async def test_closing_fails_all_questions(self, shop: Shop) -> None:
        shop.is_fast = False
        pool = ObserverPool(replace(SETTINGS, workers=1))
        running, waiting = ask(pool, "a"), ask(pool, "b")
        await until(lambda: shop.busy)
        await pool.close()
        for task in (running, waiting, ask(pool, "c")):
            with pytest.raises(ProcessLost):
                await task
        assert all(worker.has_ended for worker in shop.workers)


async def test_folder_of_the_cache_is_made_by_the_worker_only(shop: Shop, tmp_path: Path) -> None:
    async with pool_of(worker=WorkerSettings(str(tmp_path / "kept"))) as pool:
        await ask(pool, "a")
    assert not (tmp_path / "kept").exists()


class TestPlans:
    async def test_looks_at_the_same_catalog_go_on_beside_plans(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of() as pool:
            await proven(shop, pool)
            plans = [plan(pool, name) for name in ("big", "bigger")]
            await until(lambda: len(shop.busy) == 1)
            await settle()
            assert len(shop.busy) == 1, "one plan of a catalog at a time"
            hanging = shop.busy[0]
            looks = [ask(pool, name) for name in "abc"]
            for look in looks:
                await until(lambda: len(shop.busy) == 2)
                answered = next(worker for worker in shop.busy if worker is not hanging)
                assert answered.answer is not None
                answered.answer.set_result(Reply())
                await look
            for task in plans:
                task.cancel()
            await asyncio.gather(*plans, return_exceptions=True)

    async def test_a_plan_that_is_given_up_frees_its_place(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of(workers=1) as pool:
            given_up = plan(pool, "big")
            await until(lambda: shop.busy)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            assert shop.workers[0].has_ended
            shop.is_fast = True
            await ask(pool, "a")

    async def test_plans_that_take_too_long_do_not_pause_looks(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of() as pool:
            for name in ("big", "bigger"):
                task = plan(pool, name)
                await until(lambda: shop.busy)
                assert shop.busy[0].answer is not None
                shop.busy[0].answer.set_exception(TimeoutError())
                with pytest.raises(TimedOut):
                    await task
            with pytest.raises(CatalogSilent):
                await plan(pool, "biggest")
            shop.is_fast = True
            await ask(pool, "a")

    async def test_a_catalog_that_is_silent_is_not_asked_for_plans(self, shop: Shop) -> None:
        shop.is_fast = False
        async with pool_of() as pool:
            for name in "ab":
                task = ask(pool, name)
                await until(lambda: shop.busy)
                assert shop.busy[0].answer is not None
                shop.busy[0].answer.set_exception(TimeoutError())
                with pytest.raises(TimedOut):
                    await task
            with pytest.raises(CatalogSilent):
                await plan(pool, "big")


def plan(pool: ObserverPool, table: str, warehouse: str = "w") -> asyncio.Task[Any]:
    return asyncio.create_task(pool.plan(PlanRequest(TableAddress(warehouse, table, {})), SECONDS))
