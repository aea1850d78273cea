"""Schedules observations of tables: when, how many concurrently, and what the last one of each table found.

Called by `tables`, which never waits for an observation: it requests one, and the queue requeues the table
when there is news, or else when the next observation is due. Each catalog has a few requests in flight, so
that the observer, which shares its workers among catalogs, sees every catalog that waits. While a catalog
does not respond, only a few of its tables probe it; once it responds, all of them are observed.
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
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import ObservationRequest
from lithify.resources.names import ObjectKey

_log = logging.getLogger(__name__)
JITTER = 0.1
"""Jitter as a share of the interval: tables created together are not observed together."""
_FEW = 10
"""Number of tables of a silent catalog that probe it in each backoff interval."""

Told = Callable[[str, float], None]
"""Receives each observation's ending (changed, unchanged, failed, timed-out, not-asked) and its seconds."""


@dataclass(slots=True)
class TableState:
    """State of a table's observations in this process.

    Attributes:
        observation: result of the last successful observation; None before the first.
        answered: the request that it answers.
        error: why the last observation failed; None if it succeeded.
        unasked: why the next observation cannot be requested; None if it can.
        observed_at: when the last observation ended, in ticks; None before the first.
        full_at: when the last full observation ended, in ticks. The first one may build on an earlier
            operator's observation cache.
        evaluated: trigger time already scheduled for re-evaluation.
        request: the last request; a different one is due at once.
        wanted: an observation is due at once, whatever the interval.
        outdated: the table is known to have changed since the observation.
        underway: an observation is waiting or running.
        awaited: report its end even if nothing has changed.
    """

    observation: Observation | None = None
    answered: ObservationRequest | None = None
    error: LithifyError | None = None
    unasked: LithifyError | None = None
    observed_at: float | None = None
    full_at: float | None = None
    evaluated: datetime | None = None
    request: ObservationRequest | None = None
    wanted: bool = False
    outdated: bool = False
    underway: bool = False
    awaited: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether no further observation of the table is wanted or under way, or none is possible."""
        if self.unasked is not None:
            return not self.underway
        return self.observed_at is not None and not self.wanted and not self.underway

    @property
    def is_known(self) -> bool:
        """Whether an observation has ended, or it is known why none can be requested."""
        return self.observed_at is not None or self.unasked is not None

    @property
    def failure(self) -> LithifyError | None:
        """Why the table cannot be observed, None if it can or if that is unknown."""
        return self.unasked or self.error


@dataclass(frozen=True, slots=True)
class PollIntervals:
    """Poll intervals of a table, in seconds.

    Attributes:
        every: between two observations.
        full: between two full observations.
        timeout: limit of one observation.
        retry: from a failed observation to the next.
    """

    every: float
    full: float
    timeout: float
    retry: float


_Pending = tuple[float, int, ObjectKey, ObservationRequest, PollIntervals]


@dataclass(slots=True)
class _CatalogQueue:
    """Observations of one catalog: waiting ones, number under way, tables refused while it is silent."""

    waiting: list[_Pending] = field(default_factory=list)
    underway: int = 0
    refused: set[ObjectKey] = field(default_factory=set)


@dataclass(slots=True)
class ObservationScheduler:
    """Schedules all observations.

    Attributes:
        observer: observes tables.
        tell: requeues a table at once, after an observation with news.
        later: requeues a table after a number of seconds, after an observation without news.
        measure: receives each observation's ending and duration.
        per_catalog: number of concurrent requests for each catalog.
        ticks: monotonic clock, in seconds.
    """

    observer: TableObserver
    tell: Callable[[ObjectKey], None]
    later: Callable[[ObjectKey, float], None]
    measure: Told
    per_catalog: int = 2
    ticks: Callable[[], float] = monotonic
    _seen: dict[ObjectKey, TableState] = field(default_factory=dict)
    _queues: dict[str, _CatalogQueue] = field(default_factory=dict)
    _tasks: dict[ObjectKey, asyncio.Task[None]] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def seen(self, key: ObjectKey) -> TableState:
        """The state of a table's observations."""
        return self._seen.setdefault(key, TableState())

    def want(self, key: ObjectKey, *, full: bool = False, outdates: bool = True) -> None:
        """Makes an observation due at the next `ask`, because the table has changed.

        `full` makes it a full one, because earlier results may no longer hold. Without `outdates`, decisions
        go on by the last one meanwhile: others may announce commits faster than observations end.
        """
        seen = self.seen(key)
        seen.wanted, seen.outdated = True, seen.outdated or outdates
        if full:
            seen.full_at = -math.inf

    def forget(self, key: ObjectKey) -> None:
        """Drops the state of a deleted LakeTable and cancels its observation."""
        self._seen.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()

    def ask(
        self,
        key: ObjectKey,
        request: ObservationRequest,
        intervals: PollIntervals,
        *,
        since: datetime | None = None,
    ) -> float:
        """Requests an observation if one is due; else returns the seconds until then.

        Returns infinity while an observation is waiting or running. `since` is when a trigger became due by
        the passing of time alone, None if none has; such a trigger makes a re-evaluation due.
        """
        seen = self.seen(key)
        if seen.underway:
            seen.awaited = True
            return math.inf
        reconsiders = since is not None and since != seen.evaluated
        wait = self._wait(key, seen, request, intervals)
        if wait > 0 and not reconsiders:
            return wait
        asked = self._question(seen, request, intervals, reconsiders=reconsiders)
        seen.awaited = seen.wanted or reconsiders or seen.request != request
        seen.evaluated = since or seen.evaluated
        seen.underway, seen.wanted, seen.request = True, False, request
        queue = self._queues.setdefault(request.address.catalog, _CatalogQueue())
        heapq.heappush(queue.waiting, (self.ticks(), next(self._numbers), key, asked, intervals))
        self._changed.set()
        return math.inf

    async def work(self) -> None:
        """Runs the requested observations, at most `per_catalog` for each catalog; never returns."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._changed.clear()
                for key, request, intervals in self._next():
                    task = self._tasks[key] = group.create_task(self._observe(key, request, intervals))
                    task.add_done_callback(partial(self._finished, key, request))
                await self._changed.wait()

    @property
    def oldest_seconds(self) -> float:
        """The age of the oldest observation."""
        now = self.ticks()
        return max(
            (now - seen.observed_at for seen in self._seen.values() if seen.observed_at is not None),
            default=0.0,
        )

    def _wait(
        self, key: ObjectKey, seen: TableState, request: ObservationRequest, intervals: PollIntervals
    ) -> float:
        if seen.observed_at is None or seen.wanted or seen.request != request:
            return 0.0
        every = intervals.every if seen.error is None else self._retry(seen.error, request, intervals)
        return seen.observed_at + every * _spread(key) - self.ticks()

    def _retry(self, error: LithifyError, request: ObservationRequest, intervals: PollIntervals) -> float:
        """Seconds until the retry of a failed observation."""
        if not isinstance(error, CatalogSilent):
            return intervals.retry
        queue = self._queues.get(request.address.catalog)
        crowd = len(queue.refused) / _FEW if queue is not None else 1.0
        return min(max(1.0, error.again_seconds) * max(1.0, crowd), max(intervals.retry, error.again_seconds))

    def _question(
        self, seen: TableState, request: ObservationRequest, intervals: PollIntervals, *, reconsiders: bool
    ) -> ObservationRequest:
        known = seen.observation
        if seen.full_at is not None and self.ticks() >= seen.full_at + intervals.full:
            return replace(request, is_full=True)
        if known is None or seen.request != request or _asks_more(request, seen.answered):
            return request
        return replace(
            request,
            known_uuid=known.table_uuid,
            known_snapshot=known.snapshot,
            reconsider=reconsiders,
        )

    def _next(self) -> Iterator[tuple[ObjectKey, ObservationRequest, PollIntervals]]:
        """Takes the observations that may start now from the queues."""
        for queue in self._queues.values():
            while queue.waiting and queue.underway < self.per_catalog:
                _, _, key, request, intervals = heapq.heappop(queue.waiting)
                if key in self._seen:
                    queue.underway += 1
                    yield key, request, intervals

    def _finished(self, key: ObjectKey, request: ObservationRequest, task: asyncio.Task[None]) -> None:
        """Frees the slot of an observation that ended or was cancelled, perhaps before it began."""
        self._queues[request.address.catalog].underway -= 1
        if self._tasks.get(key) is task:
            del self._tasks[key]
        self._changed.set()

    async def _observe(self, key: ObjectKey, request: ObservationRequest, intervals: PollIntervals) -> None:
        started = self.ticks()
        found: Observation | None = None
        error: LithifyError | None = None
        try:
            found = await self.observer.observe(request, intervals.timeout)
        except LithifyError as failure:
            error = failure
        except Exception as failure:  # noqa: BLE001  # it concerns one table, and is logged
            _log.exception("looking at a table failed unexpectedly", extra={"table": str(key)})
            error = LithifyError(f"unexpected {type(failure).__name__} while looking at the table")
        self.measure(_ending(found, error), self.ticks() - started)
        self._count(key, self._queues[request.address.catalog], error)
        seen = self._seen.get(key)
        if seen is None:
            return
        is_new = error is not None or seen.error is not None
        seen.underway, seen.observed_at, seen.error = False, self.ticks(), error
        if error is None and (request.is_full or seen.full_at is None):
            seen.full_at = seen.observed_at
        if found is not None:
            is_new = seen.observation != found or is_new
            seen.observation, seen.answered = found, request
        if error is None and not seen.wanted:
            is_new, seen.outdated = is_new or seen.outdated, False
        if is_new or seen.awaited or seen.wanted:
            self.tell(key)
        else:
            self.later(key, intervals.every * _spread(key))

    def _count(self, key: ObjectKey, queue: _CatalogQueue, error: LithifyError | None) -> None:
        """Records tables of a silent catalog; its first response makes all of them due."""
        if isinstance(error, CatalogSilent):
            queue.refused.add(key)
        elif error is None or error.failure is Failure.USER:
            refused, queue.refused = queue.refused, set()
            for other in refused - {key}:
                if other in self._seen:
                    self._seen[other].wanted = True
                    self.tell(other)


def _spread(key: ObjectKey) -> float:
    """The jitter factor of a table's interval; constant for each table."""
    share = crc32(str(key).encode()) / (1 << 32)
    return 1.0 + JITTER * (share * 2 - 1)


def _asks_more(request: ObservationRequest, answered: ObservationRequest | None) -> bool:
    """Whether a request asks for a run that the last answer says nothing about."""
    return answered is None or not set(request.committed) <= set(answered.committed)


def _ending(found: Observation | None, error: LithifyError | None) -> str:
    if isinstance(error, TimedOut):
        return "timed-out"
    if isinstance(error, CatalogSilent):
        return "not-asked"
    if error is not None:
        return "failed"
    return "unchanged" if found is None else "changed"
