"""A bounded number of worker processes that look at tables, each of which can be killed at any moment.

Made by the operator at its start, asked by `reconciling`. A hanging file system, a crash in a library or a
table too large for memory costs one worker and one answer, nothing else. Workers are started when they are
needed, get tables that they have seen before where that costs nobody time, and end when they are idle for
long, have grown, or have answered often. Imports nothing of the table formats.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from lithify.controller.observing.process import WorkerProcess
from lithify.controller.observing.request import ObservationRequest, TableTarget
from lithify.controller.observing.wire import (
    FindRun,
    ListTables,
    Question,
    Reply,
    WorkerSettings,
    framed,
)
from lithify.errors import LithifyError, ProcessLost, TimedOut
from lithify.tables.observation import Observation, RunFound

_MOMENT = 0.01
_CLOSING = 5.0
"""Seconds that killed workers may take to disappear when the pool is closed."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many workers there are, and how long each one lives.

    Attributes:
        worker: what each worker is told.
        workers: how many at most.
        start_seconds: how long one may take to start.
        idle_seconds: after so long without a question it ends.
        resident_bytes: with more memory it ends after its answer.
        answers: after so many it ends: libraries leak.
    """

    worker: WorkerSettings
    workers: int = 2
    start_seconds: float = 60.0
    idle_seconds: float = 300.0
    resident_bytes: int = 768 << 20
    answers: int = 20_000


@dataclass(eq=False, slots=True)
class _Place:
    """A place for a worker, and the tables that the one in it has seen."""

    worker: WorkerProcess | None = None
    seen: OrderedDict[str, None] = field(default_factory=OrderedDict)
    retiring: asyncio.TimerHandle | None = None


@dataclass(frozen=True, eq=False, slots=True)
class _Waiting:
    """A question that waits for a place."""

    key: str
    catalog: str
    place: asyncio.Future[_Place]


class ObserverPool:
    """Looks at tables in worker processes. Bound to the event loop in which it is first asked."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._free = [_Place() for _ in range(settings.workers)]
        self._waiting: list[_Waiting] = []
        self._active: Counter[str] = Counter()
        self._suspects: set[str] = set()
        self._workers: set[WorkerProcess] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def observe(self, request: ObservationRequest, timeout: float) -> Observation | None:
        """Looks at a table; None if nothing has changed since the last look.

        Raises:
            TimedOut: it took longer.
            ProcessLost: the worker ended before it answered.
            LithifyError: what is wrong with the table or its catalog.
        """
        what = f"looking at {request.target.identifier}"
        found: Observation | None = await self._ask(request, request.cache_key, what, timeout)
        return found

    async def find_run(
        self, target: TableTarget, run: str, timeout: float, since: datetime | None = None
    ) -> RunFound | None:
        """What a run has committed; raises like `observe`, and `CommitUnknown` (see `TableObserver`)."""
        what = f"looking for what run {run} committed to {target.identifier}"
        found: RunFound | None = await self._ask(FindRun(target, run, since), "", what, timeout)
        return found

    async def list_tables(self, target: TableTarget, timeout: float) -> tuple[str, ...]:
        """All tables of the catalog, as `database.table`; raises like `observe`."""
        found: tuple[str, ...] = await self._ask(ListTables(target), "", "listing tables", timeout)
        return found

    async def close(self) -> None:
        """Kills all workers; questions that are asked or wait fail with a `ProcessLost`."""
        self._is_closed = True
        for waiting in self._waiting:
            if not waiting.place.done():
                waiting.place.set_exception(_closed())
        self._waiting.clear()
        for worker in self._workers:
            worker.kill()
        for place in self._free:
            self._forget(place)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING):
                while self._workers or self._ending:
                    await asyncio.wait(self._ending or {asyncio.create_task(asyncio.sleep(_MOMENT))})

    @property
    def pids(self) -> frozenset[int]:
        """The process ids of the workers that live."""
        return frozenset(worker.pid for worker in self._workers if not worker.has_ended)

    async def _ask(self, question: Question, key: str, what: str, timeout: float) -> Any:
        try:
            message = framed(question)
        except Exception as error:
            raise LithifyError(f"{what}: the question cannot be sent ({type(error).__name__})") from error
        catalog = f"{question.target.warehouse} {question.target.catalog_options.get('uri', '')}"
        place = await self._take(key, catalog)
        try:
            reply = await self._reply(place, message, what, timeout)
            self._suspects.discard(catalog)
        except (TimedOut, ProcessLost):
            self._suspects.add(catalog)
            raise
        except LithifyError:
            raise
        except Exception as error:
            raise LithifyError(f"{what} failed unexpectedly ({type(error).__name__}: {error})") from error
        finally:
            self._give_back(place, key, catalog)
        if reply.error is not None:
            raise reply.error
        return reply.value

    async def _reply(self, place: _Place, message: bytes, what: str, timeout: float) -> Reply:
        worker = place.worker
        if worker is None or worker.has_ended:
            self._forget(place)
            worker = place.worker = await WorkerProcess.start()
            self._workers.add(worker)
        try:
            if not worker.answered:
                await worker.be_ready(self._settings.worker, self._settings.start_seconds)
            self._check_open()
            return await worker.ask(message, what, timeout)
        except BaseException:
            worker.kill()
            self._forget(place)
            raise

    async def _take(self, key: str, catalog: str) -> _Place:
        """Waits for a place. One in which the table was seen is preferred, then one with a worker."""
        self._check_open()
        waiting = _Waiting(key, catalog, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._hand_out()
        try:
            return await waiting.place
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            elif not waiting.place.cancelled() and waiting.place.exception() is None:
                self._give_back(waiting.place.result(), "", catalog)
            raise

    def _check_open(self) -> None:
        if self._is_closed:
            raise _closed()

    def _hand_out(self) -> None:
        """Gives free places to who waits longest, but of a catalog that timed out to one at a time."""
        for waiting in list(self._waiting):
            is_held_back = waiting.catalog in self._suspects and self._active[waiting.catalog] > 0
            if not self._free or is_held_back or waiting.place.done():
                continue
            place = max(self._free, key=lambda place: (waiting.key in place.seen, place.worker is not None))
            self._free.remove(place)
            if place.retiring is not None:
                place.retiring.cancel()
                place.retiring = None
            self._waiting.remove(waiting)
            self._active[waiting.catalog] += 1
            waiting.place.set_result(place)

    def _give_back(self, place: _Place, key: str, catalog: str) -> None:
        self._active[catalog] -= 1
        if not self._active[catalog]:
            del self._active[catalog]
        worker, settings = place.worker, self._settings
        if worker is not None:
            if worker.answered >= settings.answers or worker.resident_bytes > settings.resident_bytes:
                self._retire(place)
            else:
                if key:
                    self._remember(place, key)
                loop = asyncio.get_running_loop()
                place.retiring = loop.call_later(settings.idle_seconds, self._retire, place)
        self._free.append(place)
        self._hand_out()

    def _remember(self, place: _Place, key: str) -> None:
        place.seen[key] = None
        place.seen.move_to_end(key)
        if len(place.seen) > self._settings.worker.most_open:
            place.seen.popitem(last=False)

    def _retire(self, place: _Place) -> None:
        """Lets a worker end that is not asked anything now."""
        if place.worker is not None:
            place.worker.let_go()
            self._forget(place)

    def _forget(self, place: _Place) -> None:
        """Empties a place; its worker has ended or is about to."""
        if place.retiring is not None:
            place.retiring.cancel()
        if place.worker is not None:
            self._workers.discard(place.worker)
            ending = asyncio.get_running_loop().create_task(place.worker.wait())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        place.worker, place.seen, place.retiring = None, OrderedDict(), None


def _closed() -> ProcessLost:
    return ProcessLost("looking at tables", "the operator is ending")
