"""The controller's work queue: keys of objects to reconcile, each at most once, by priority.

Filled by events, deadlines and failures; emptied by the workers of `loop`. A key that is added while it is
being reconciled is reconciled again afterwards. All delayed keys are in one heap.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from time import monotonic

from lithify.resources.names import ObjectKey, ResourceKind

FIRST_RETRY = 0.5
LAST_RETRY = 60.0
_LONGEST_SLEEP = 3600.0
"""Seconds; deadlines are checked at least this often, which makes up for jumps of the wall clock."""
_FEW = 1000
"""Number of obsolete deadlines tolerated before the heap is cleaned."""


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """The key of an object to reconcile."""

    kind: str
    key: ObjectKey


@dataclass(slots=True)
class _Waiting:
    priority: int
    since: float
    number: int


@dataclass(slots=True)
class Queue:
    """The work queue.

    Attributes:
        priorities: by kind; lower goes first. Runs under way come before new ones.
        ticks: monotonic clock, in seconds.
    """

    priorities: dict[str, int]
    ticks: Callable[[], float] = monotonic
    _ready: list[tuple[int, int, Item]] = field(default_factory=list)
    _waiting: dict[Item, _Waiting] = field(default_factory=dict)
    _active: dict[Item, float] = field(default_factory=dict)
    _again: set[Item] = field(default_factory=set)
    _timed: list[tuple[float, int, Item]] = field(default_factory=list)
    _due: dict[Item, tuple[float, int]] = field(default_factory=dict)
    _failures: dict[Item, int] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def add(self, kind: ResourceKind, key: ObjectKey) -> None:
        """Adds a key, to be reconciled as soon as possible."""
        self._add(Item(kind.name, key))

    def add_after(self, item: Item, seconds: float) -> None:
        """Adds a key after a delay in seconds; the earliest of several deadlines counts."""
        at = self.ticks() + min(max(0.0, seconds), _LONGEST_SLEEP)
        known = self._due.get(item)
        if known is None or at < known[0]:
            number = next(self._numbers)
            self._due[item] = at, number
            heapq.heappush(self._timed, (at, number, item))
            self._changed.set()
            if len(self._timed) > 2 * len(self._due) + _FEW:
                self._drop_overtaken()

    async def get(self) -> Item:
        """Waits for the next key; the caller must call `done` or `failed` for it afterwards."""
        async with self._turn:  # one worker waits for keys, the others for the lock: avoids a thundering herd
            while True:
                item = self._next()
                if item is not None:
                    return item
                self._changed.clear()
                await self._sleep()

    def done(self, item: Item, again_after: float | None = None) -> None:
        """Marks a key as reconciled, to be requeued after `again_after` seconds."""
        self._failures.pop(item, None)
        self._finish(item)
        if again_after is not None:
            self.add_after(item, again_after)

    def failed(self, item: Item) -> float:
        """Requeues a key whose reconcile failed; returns the backoff in seconds."""
        failures = self._failures[item] = self._failures.get(item, 0) + 1
        seconds = min(LAST_RETRY, FIRST_RETRY * 2.0 ** min(failures - 1, 10))
        self._finish(item)
        self.add_after(item, seconds)
        return seconds

    def forget(self, item: Item) -> None:
        """Drops the failure count and the deadline of a deleted object."""
        self._failures.pop(item, None)
        self._due.pop(item, None)

    @property
    def depth(self) -> int:
        """Number of keys that are ready to be reconciled."""
        return len(self._waiting)

    @property
    def is_empty(self) -> bool:
        """Whether no key is ready or being reconciled; delayed keys do not count."""
        return not self._waiting and not self._active

    @property
    def oldest_seconds(self) -> float:
        """Seconds for which the oldest ready key has waited."""
        return max((self.ticks() - waiting.since for waiting in self._waiting.values()), default=0.0)

    @property
    def longest_seconds(self) -> float:
        """Seconds for which the longest running reconcile has run."""
        return max((self.ticks() - since for since in self._active.values()), default=0.0)

    def _next(self) -> Item | None:
        """Takes the first ready key; None if there is none."""
        self._move_due()
        while self._ready:
            _, number, item = heapq.heappop(self._ready)
            waiting = self._waiting.get(item)
            if waiting is not None and waiting.number == number:
                del self._waiting[item]
                self._active[item] = self.ticks()
                self._due.pop(item, None)
                return item
        return None

    def _finish(self, item: Item) -> None:
        self._active.pop(item, None)
        if item in self._again:
            self._again.discard(item)
            self._add(item)

    def _add(self, item: Item) -> None:
        if item in self._active:
            self._again.add(item)
            return
        if item in self._waiting:
            return
        number = next(self._numbers)
        priority = self.priorities.get(item.kind, 0)
        self._waiting[item] = _Waiting(priority, self.ticks(), number)
        heapq.heappush(self._ready, (priority, number, item))
        self._changed.set()

    def _drop_overtaken(self) -> None:
        """Removes obsolete deadlines, which would otherwise use memory until they expire."""
        self._timed = [entry for entry in self._timed if self._due.get(entry[2]) == entry[:2]]
        heapq.heapify(self._timed)

    def _move_due(self) -> None:
        now = self.ticks()
        while self._timed and self._timed[0][0] <= now:
            at, number, item = heapq.heappop(self._timed)
            if self._due.get(item) == (at, number):
                del self._due[item]
                self._add(item)

    async def _sleep(self) -> None:
        seconds = max(0.0, self._timed[0][0] - self.ticks()) if self._timed else _LONGEST_SLEEP
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return
