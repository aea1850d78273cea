"""A bounded pool of worker processes that observe tables; each can be killed at any moment.

Made by the operator at its start, called by `reconciling`. A hanging file system, a crash in a library or a
table too large for memory costs one worker and one answer, nothing else. `turns` decides which question is
next, and which catalogs are not asked now. Workers start on demand, preferably get tables that they have
cached, and end after a long idle time, after growing too large, or after many answers. Imports nothing of the
table formats.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from lithify.controller.observing.process import WorkerProcess
from lithify.controller.observing.request import ALL_TABLES, PlanRequest, TableFilter, TableList
from lithify.controller.observing.turns import PATIENCE, Ending, Source, Turns
from lithify.controller.observing.wire import (
    FindRun,
    ListTables,
    Question,
    Reply,
    WorkerSettings,
    framed,
)
from lithify.errors import (
    CatalogSilent,
    CatalogUnavailable,
    LithifyError,
    ProcessLost,
    StorageError,
    StorageUnavailable,
    TimedOut,
)
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation, PlanFound, RunFound
from lithify.formats.protocol.observing import ObservationRequest

_MOMENT = 0.01
_CLOSING = 5.0
"""Seconds that killed workers may take to end when the pool is closed."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Number and lifetime of workers.

    Attributes:
        worker: settings of each worker.
        workers: maximum number of them.
        start_seconds: timeout of a start.
        idle_seconds: a worker without questions ends after this time.
        resident_bytes: a worker with more memory ends after its answer.
        answers: a worker ends after this number of answers: libraries leak memory.
        patience: seconds that a catalog without an answer so far keeps its worker from others.
    """

    worker: WorkerSettings
    workers: int = 2
    start_seconds: float = 60.0
    idle_seconds: float = 300.0
    resident_bytes: int = 768 << 20
    answers: int = 20_000
    patience: float = PATIENCE


@dataclass(eq=False, slots=True)
class _Place:
    """A slot for a worker, and the tables that its worker has cached."""

    worker: WorkerProcess | None = None
    seen: OrderedDict[str, None] = field(default_factory=OrderedDict)
    retiring: asyncio.TimerHandle | None = None


@dataclass(frozen=True, eq=False, slots=True)
class _Waiting:
    """A question that waits for a slot."""

    key: str
    place: asyncio.Future[_Place]


class _Displaced(Exception):
    """A question gave its slot away; it is asked again."""


class ObserverPool:
    """Observes tables in worker processes. Bound to the event loop of the first question."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._free = [_Place() for _ in range(settings.workers)]
        self._turns: Turns[_Waiting] = Turns(settings.workers, patience=settings.patience)
        self._silences: dict[Source, str] = {}
        self._ends: dict[asyncio.Timeout, Source] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._workers: set[WorkerProcess] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def observe(self, request: ObservationRequest, timeout: float) -> Observation | None:
        """Observes a table; returns None if nothing has changed since the last observation.

        Raises:
            TimedOut: it took longer.
            ProcessLost: the worker ended before it answered.
            CatalogSilent: the catalog does not answer, so this question was not sent.
            LithifyError: what is wrong with the table or its catalog.
        """
        what = f"looking at {request.address.name}"
        found: Observation | None = await self._ask(request, request.cache_key, what, timeout)
        return found

    async def plan(self, request: PlanRequest, timeout: float) -> PlanFound:
        """Returns the plan of a run; raises like `observe`. Plans never take more than half of the slots."""
        what = f"planning a compaction of {request.address.name}"
        found: PlanFound = await self._ask(request, "", what, timeout)
        return found

    async def find_run(
        self, address: TableAddress, run: str, timeout: float, since: datetime | None = None
    ) -> RunFound | None:
        """Returns a run's commits; raises like `observe`, and `CommitUnknown` (see `TableObserver`)."""
        what = f"searching {address.name} for commits of run {run}"
        found: RunFound | None = await self._ask(FindRun(address, run, since), "", what, timeout)
        return found

    async def list_tables(
        self, address: TableAddress, timeout: float, wanted: TableFilter = ALL_TABLES
    ) -> TableList:
        """Returns the wanted tables of the catalog; raises like `observe`."""
        what = f"listing the tables of {address.warehouse}"
        found: TableList = await self._ask(ListTables(address, wanted), "", what, timeout)
        return found

    async def close(self) -> None:
        """Kills all workers; active and waiting questions fail with a `ProcessLost`."""
        self._is_closed = True
        _refuse(self._turns.clear(), _closed())
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
        """The ids of live worker processes."""
        return frozenset(worker.pid for worker in self._workers if not worker.has_ended)

    async def _ask(self, question: Question, key: str, what: str, timeout: float) -> Any:
        try:
            message = framed(question)
        except Exception as error:
            raise LithifyError(f"{what}: the question cannot be sent ({type(error).__name__})") from error
        source, is_again = _source_of(question), False
        while True:
            place = await self._take(key, source, first=is_again)
            try:
                reply = await self._asked(place, source, message, what, timeout)
            except BaseException as error:
                self._learn(source, question.address.name, error)
                self._give_back(place, key)
                if not isinstance(error, _Displaced):
                    raise
                is_again = True
                continue
            self._learn(source, question.address.name, reply.error)
            self._give_back(place, key)
            if reply.error is not None:
                raise reply.error
            return reply.value

    async def _asked(self, place: _Place, source: Source, message: bytes, what: str, timeout: float) -> Reply:
        """The reply to a question.

        Raises:
            _Displaced: the slot is needed for another catalog.
            LithifyError: there is no reply.
        """
        try:
            return await self._reply(place, source, message, what, timeout)
        except (LithifyError, _Displaced):
            raise
        except Exception as error:
            problem = f"{what} failed unexpectedly ({type(error).__name__}: {error})"
            raise LithifyError(problem) from error

    def _learn(self, source: Source, table: str, failure: BaseException | None) -> None:
        """Records how a question ended; refuses the waiting ones if their catalog is silent."""
        ending = _ending_of(failure)
        if ending is Ending.SILENT:
            self._silences[source] = _silence_text(failure)
        refused = self._turns.ended(source, table, ending)
        if refused:
            _refuse(refused, self._silence(source))
        if ending is Ending.ANSWERED:
            self._silences.pop(source, None)

    def _silence(self, source: Source) -> CatalogSilent:
        """The error if a catalog is silent and not asked."""
        last = self._silences.get(source, "nothing")
        problem = f"it does not answer, and is tried only at intervals until it does; the last try: {last}"
        return CatalogSilent(source.address, problem, self._turns.pause_seconds(source))

    async def _reply(self, place: _Place, source: Source, message: bytes, what: str, timeout: float) -> Reply:
        worker = place.worker
        if worker is None or worker.has_ended:
            self._forget(place)
            worker = place.worker = await WorkerProcess.start()
            self._workers.add(worker)
        try:
            if not worker.answered:
                await worker.be_ready(self._settings.worker, self._settings.start_seconds)
            self._check_open()
            async with self._displaceable(source):
                return await worker.ask(message, what, timeout)
        except BaseException:
            worker.kill()
            self._forget(place)
            raise

    @asynccontextmanager
    async def _displaceable(self, source: Source) -> AsyncIterator[None]:
        """Sends a question, which raises `_Displaced` once its slot is needed for another catalog."""
        self._turns.sent(source)
        try:
            async with asyncio.timeout(None) as end:
                self._ends[end] = source
                self._displace()
                try:
                    yield
                finally:
                    self._ends.pop(end, None)
        except TimeoutError as error:
            raise _Displaced from error

    def _displace(self) -> None:
        """Ends the questions that have to give way, or sets the timer for that."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        found = self._turns.displaced()
        if found is None or self._is_closed:
            return
        (source, seconds), loop = found, asyncio.get_running_loop()
        if seconds > 0:
            self._timer = loop.call_later(seconds, self._displace)
            return
        for end in [end for end, asked in self._ends.items() if asked == source]:
            del self._ends[end]
            end.reschedule(loop.time())

    async def _take(self, key: str, source: Source, *, first: bool = False) -> _Place:
        """Waits for a slot: preferably one whose worker has cached the table, then one with a worker."""
        self._check_open()
        for each in (replace(source, is_long=False), source):
            if not self._turns.admits(each):
                raise self._silence(each)
        waiting = _Waiting(key, asyncio.get_running_loop().create_future())
        self._turns.add(source, waiting, first=first)
        self._hand_out()
        try:
            return await waiting.place
        except asyncio.CancelledError:
            is_served = not self._turns.remove(source, waiting)
            if is_served and not waiting.place.cancelled() and waiting.place.exception() is None:
                self._turns.ended(source, "", Ending.WITHDRAWN)
                self._give_back(waiting.place.result(), "")
            raise

    def _check_open(self) -> None:
        if self._is_closed:
            raise _closed()

    def _hand_out(self) -> None:
        """Gives free slots to the next questions."""
        while (turn := self._turns.next()) is not None:
            source, waiting = turn
            if waiting.place.done():
                self._turns.ended(source, "", Ending.WITHDRAWN)
                continue
            place = max(self._free, key=lambda place: (waiting.key in place.seen, place.worker is not None))
            self._free.remove(place)
            if place.retiring is not None:
                place.retiring.cancel()
                place.retiring = None
            waiting.place.set_result(place)
        self._displace()

    def _give_back(self, place: _Place, key: str) -> None:
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
        """Ends an idle worker."""
        if place.worker is not None:
            place.worker.let_go()
            self._forget(place)

    def _forget(self, place: _Place) -> None:
        """Empties a slot; its worker has ended or is about to."""
        if place.retiring is not None:
            place.retiring.cancel()
        if place.worker is not None:
            self._workers.discard(place.worker)
            ending = asyncio.get_running_loop().create_task(place.worker.wait())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        place.worker, place.seen, place.retiring = None, OrderedDict(), None


def _source_of(question: Question) -> Source:
    address = question.address
    server = str(address.catalog_options.get("uri") or address.warehouse)
    endpoint = next(
        (value for name, value in address.catalog_options.items() if name.endswith("endpoint")), ""
    )
    where = " ".join(part for part in (server, endpoint) if part)
    return Source(address.catalog, where, isinstance(question, PlanRequest))


def _ending_of(failure: BaseException | None) -> Ending:
    """What the end of a question says about its catalog: most errors are answers, too."""
    if isinstance(failure, TimedOut | CatalogUnavailable | StorageUnavailable):
        return Ending.SILENT
    if isinstance(failure, ProcessLost):
        return Ending.LOST
    if isinstance(failure, _Displaced):
        return Ending.DISPLACED
    if failure is None or isinstance(failure, LithifyError):
        return Ending.ANSWERED
    return Ending.WITHDRAWN


def _silence_text(failure: BaseException | None) -> str:
    """How a catalog was silent, without the name of the table: the text appears at all its tables."""
    if isinstance(failure, TimedOut):
        return f"no answer within {failure.seconds:g} s"
    return failure.problem if isinstance(failure, StorageError) else str(failure)


def _refuse(waiting: Iterable[_Waiting], error: LithifyError) -> None:
    for one in waiting:
        if not one.place.done():
            one.place.set_exception(error)


def _closed() -> ProcessLost:
    return ProcessLost("observing tables", "the operator is ending")
