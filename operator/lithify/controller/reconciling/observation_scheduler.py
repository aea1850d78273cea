"""Looking at tables: when, how many at a time, and what the last look at each one found.

Asked by `tables`, which never waits for a look: it asks for one and is told, through the queue, when there is
something new, or else when the next look is due. Of each catalog a few looks are asked for at a time, so that
whoever shares out the turns sees all catalogs that wait. Tables of a catalog that is silent are not asked
about one by one: a few of them find out whether it is back, and then all are looked at.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import count
from time import monotonic
from zlib import crc32

from lithify.controller.observing.request import TableObserver
from lithify.errors import CatalogSilent, Failure, LithifyError, TimedOut
from lithify.resources.names import ObjectKey
from lithify.tables.observation import Observation
from lithify.tables.watching import ObservationRequest

_log = logging.getLogger(__name__)
JITTER = 0.1
"""Looks are spread by this share of their interval: tables made together are not looked at together."""
_FEW = 10
"""So many tables of a silent catalog ask in each of its pauses whether it is back."""

Told = Callable[[str, float], None]
"""Is told of each look: how it ended (changed, unchanged, failed, timed-out, not-asked), and its seconds."""


@dataclass(slots=True)
class Seen:
    """What is known of a table in this process.

    Attributes:
        observation: what the last good look found; None before it.
        answered: the question that it answers.
        error: why the last look failed; None if it did not.
        looked: when the last look ended, in ticks; None before the first.
        whole: when the last look at the whole table ended, in ticks. The first one may build on what an
            earlier operator has kept.
        judged: the moment for which a look was last asked that judges anew what is known.
        request: what was asked last; another question makes a look due at once.
        wanted: a look is due whatever the time.
        outdated: the table has surely changed since the observation.
        underway: a look is waiting or running.
        awaited: somebody wants to be told of its end, whatever it finds.
    """

    observation: Observation | None = None
    answered: ObservationRequest | None = None
    error: LithifyError | None = None
    looked: float | None = None
    whole: float | None = None
    judged: datetime | None = None
    request: ObservationRequest | None = None
    wanted: bool = False
    outdated: bool = False
    underway: bool = False
    awaited: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether it has been looked at and nobody waits for another look."""
        return self.looked is not None and not self.wanted and not self.underway


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often to look at a table, in seconds.

    Attributes:
        every: between two looks.
        whole: between two looks at the whole table.
        timeout: how long one look may take.
        retry: between two looks that fail.
    """

    every: float
    whole: float
    timeout: float
    retry: float


_Asked = tuple[float, int, ObjectKey, ObservationRequest, Rhythm]


@dataclass(slots=True)
class _Line:
    """The looks at tables of one catalog: those that wait, how many are under way, and who was refused."""

    waiting: list[_Asked] = field(default_factory=list)
    underway: int = 0
    refused: set[ObjectKey] = field(default_factory=set)


@dataclass(slots=True)
class ObservationScheduler:
    """All looks.

    Attributes:
        observer: looks at tables.
        tell: is told of a table of which there is something new.
        later: is told of all others, and in how many seconds they are to be asked for again.
        measure: is told of each look.
        places: how many looks at tables of one catalog are asked for at a time.
        ticks: seconds that only ever grow.
    """

    observer: TableObserver
    tell: Callable[[ObjectKey], None]
    later: Callable[[ObjectKey, float], None]
    measure: Told
    places: int = 2
    ticks: Callable[[], float] = monotonic
    _seen: dict[ObjectKey, Seen] = field(default_factory=dict)
    _lines: dict[str, _Line] = field(default_factory=dict)
    _tasks: dict[ObjectKey, asyncio.Task[None]] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def seen(self, key: ObjectKey) -> Seen:
        """What is known of a table."""
        return self._seen.setdefault(key, Seen())

    def want(self, key: ObjectKey, *, whole: bool = False) -> None:
        """Has a table looked at as soon as it is asked for again: something has surely changed.

        `whole`: as if for the first time, because what is known of it may not be true any more.
        """
        seen = self.seen(key)
        seen.wanted = seen.outdated = True
        if whole:
            seen.whole = -math.inf

    def forget(self, key: ObjectKey) -> None:
        """The LakeTable is gone; nobody waits for a look at it any more."""
        self._seen.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()

    def ask(
        self, key: ObjectKey, request: ObservationRequest, rhythm: Rhythm, *, since: datetime | None = None
    ) -> float:
        """Asks for a look if one is due; returns the seconds until it is, infinite while one is under way.

        `since` is when a trigger of the table has become due by the passing of time alone, None if none has:
        then a look is due that judges anew what is known.
        """
        seen = self.seen(key)
        if seen.underway:
            seen.awaited = True
            return math.inf
        judges = since is not None and since != seen.judged
        wait = self._wait(key, seen, request, rhythm)
        if wait > 0 and not judges:
            return wait
        asked = self._question(seen, request, rhythm, judges=judges)
        seen.awaited = seen.wanted or judges or seen.request != request
        seen.judged = since or seen.judged
        seen.underway, seen.wanted, seen.request = True, False, request
        line = self._lines.setdefault(request.address.catalog, _Line())
        heapq.heappush(line.waiting, (self.ticks(), next(self._numbers), key, asked, rhythm))
        self._changed.set()
        return math.inf

    async def work(self) -> None:
        """Looks at tables for ever, so many of each catalog at a time."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._changed.clear()
                for key, request, rhythm in self._next():
                    task = self._tasks[key] = group.create_task(self._look(key, request, rhythm))
                    task.add_done_callback(partial(self._ended, key, request))
                await self._changed.wait()

    @property
    def oldest_seconds(self) -> float:
        """The age of the oldest observation."""
        now = self.ticks()
        return max(
            (now - seen.looked for seen in self._seen.values() if seen.looked is not None), default=0.0
        )

    def _wait(self, key: ObjectKey, seen: Seen, request: ObservationRequest, rhythm: Rhythm) -> float:
        if seen.looked is None or seen.wanted or seen.request != request:
            return 0.0
        every = rhythm.every if seen.error is None else self._retry(seen.error, request, rhythm)
        return seen.looked + every * _spread(key) - self.ticks()

    def _retry(self, error: LithifyError, request: ObservationRequest, rhythm: Rhythm) -> float:
        """When to look again at a table that could not be looked at."""
        if not isinstance(error, CatalogSilent):
            return rhythm.retry
        line = self._lines.get(request.address.catalog)
        crowd = len(line.refused) / _FEW if line is not None else 1.0
        return min(max(1.0, error.again_seconds) * max(1.0, crowd), max(rhythm.retry, error.again_seconds))

    def _question(
        self, seen: Seen, request: ObservationRequest, rhythm: Rhythm, *, judges: bool
    ) -> ObservationRequest:
        known = seen.observation
        if seen.whole is not None and self.ticks() >= seen.whole + rhythm.whole:
            return replace(request, is_full=True)
        if known is None or seen.request != request:
            return request
        return replace(
            request,
            known_uuid=known.table_uuid,
            known_snapshot=known.snapshot,
            reconsider=judges,
        )

    def _next(self) -> Iterator[tuple[ObjectKey, ObservationRequest, Rhythm]]:
        """The looks that are asked for now."""
        for line in self._lines.values():
            while line.waiting and line.underway < self.places:
                _, _, key, request, rhythm = heapq.heappop(line.waiting)
                if key in self._seen:
                    line.underway += 1
                    yield key, request, rhythm

    def _ended(self, key: ObjectKey, request: ObservationRequest, task: asyncio.Task[None]) -> None:
        """A look is over, or was given up, perhaps before it had begun."""
        self._lines[request.address.catalog].underway -= 1
        if self._tasks.get(key) is task:
            del self._tasks[key]
        self._changed.set()

    async def _look(self, key: ObjectKey, request: ObservationRequest, rhythm: Rhythm) -> None:
        started = self.ticks()
        found: Observation | None = None
        error: LithifyError | None = None
        try:
            found = await self.observer.observe(request, rhythm.timeout)
        except LithifyError as failure:
            error = failure
        except Exception as failure:  # noqa: BLE001  # it concerns one table, and is logged
            _log.exception("looking at a table failed unexpectedly", extra={"table": str(key)})
            error = LithifyError(f"unexpected {type(failure).__name__} while looking at the table")
        self.measure(_ending(found, error), self.ticks() - started)
        self._count(key, self._lines[request.address.catalog], error)
        seen = self._seen.get(key)
        if seen is None:
            return
        is_new = error is not None or seen.error is not None
        seen.underway, seen.looked, seen.error = False, self.ticks(), error
        if error is None and (request.is_full or seen.whole is None):
            seen.whole = seen.looked
        if found is not None:
            is_new = seen.observation != found or is_new
            seen.observation, seen.answered = found, request
        if error is None and not seen.wanted:
            is_new, seen.outdated = is_new or seen.outdated, False
        if is_new or seen.awaited or seen.wanted:
            self.tell(key)
        else:
            self.later(key, rhythm.every * _spread(key))

    def _count(self, key: ObjectKey, line: _Line, error: LithifyError | None) -> None:
        """Notes who was refused; the first answer of the catalog has them all looked at."""
        if isinstance(error, CatalogSilent):
            line.refused.add(key)
        elif error is None or error.failure is Failure.USER:
            refused, line.refused = line.refused, set()
            for other in refused - {key}:
                if other in self._seen:
                    self._seen[other].wanted = True
                    self.tell(other)


def _spread(key: ObjectKey) -> float:
    """What a table's interval is multiplied by, the same each time."""
    share = crc32(str(key).encode()) / (1 << 32)
    return 1.0 + JITTER * (share * 2 - 1)


def _ending(found: Observation | None, error: LithifyError | None) -> str:
    if isinstance(error, TimedOut):
        return "timed-out"
    if isinstance(error, CatalogSilent):
        return "not-asked"
    if error is not None:
        return "failed"
    return "unchanged" if found is None else "changed"
