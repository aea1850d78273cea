"""Schedules questions: catalogs take turns, and one that does not answer is paused.

Used by `pool`, which has the slots. Pure but for its ticks. Each catalog has a queue, and queues take turns,
so that a catalog with many tables cannot delay the others. A catalog is unproven until it answers, and again
from a question without an answer on: unproven catalogs get one question at a time, and half of the slots
together. Long questions have a queue of their own in each catalog, which stays unproven. Two tables in a row
without an answer pause a catalog, as a circuit breaker does: its questions are refused at once, except for a
single one after each pause that tests whether it is back.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from time import monotonic
from typing import Generic, TypeVar

from lithify.controller.running.backoff import doubled

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 60.0
"""Maximum seconds between two questions to a paused catalog; each pause is twice as long as the last one."""
_SILENT_TABLES = 2
"""Number of tables without an answer that pause their catalog: a single one may be faulty itself."""
_MOST_QUEUES = 10_000

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Source:
    """The target of questions: a catalog, at its current address.

    Attributes:
        catalog: which Catalog, as `namespace/name`.
        address: where it is; a Catalog with a new address is unproven again.
        is_long: whether its questions take long; such a source stays unproven.
    """

    catalog: str
    address: str
    is_long: bool = False


class Ending(Enum):
    """How a question ended."""

    ANSWERED = auto()
    SILENT = auto()
    """The catalog or its storage gave no answer."""
    LOST = auto()
    """The worker process was lost, which the table may have caused."""
    WITHDRAWN = auto()
    """The caller cancelled it."""


@dataclass(slots=True)
class _SourceQueue(Generic[Item]):
    """The questions to one source."""

    waiting: deque[Item] = field(default_factory=deque)
    active: int = 0
    is_proven: bool = False
    silent: set[str] = field(default_factory=set)
    pauses: int = 0
    paused_until: float = 0.0

    @property
    def is_paused(self) -> bool:
        return self.pauses > 0


@dataclass(slots=True)
class Turns(Generic[Item]):
    """The queues of all sources.

    Attributes:
        slots: maximum number of active questions.
        ticks: monotonic seconds.
    """

    slots: int
    ticks: Callable[[], float] = monotonic
    _queues: OrderedDict[Source, _SourceQueue[Item]] = field(default_factory=OrderedDict)

    def admits(self, source: Source) -> bool:
        """Whether a question may be queued; not if its source is paused."""
        queue = self._queues.get(source)
        if queue is None or not queue.is_paused:
            return True
        is_asked = queue.active > 0 or bool(queue.waiting)
        return not is_asked and self.ticks() >= queue.paused_until

    def add(self, source: Source, item: Item) -> None:
        """Appends a question to its queue."""
        self._queue_of(source).waiting.append(item)

    def remove(self, source: Source, item: Item) -> bool:
        """Removes a question from its queue; False if it is not in it."""
        queue = self._queues.get(source)
        if queue is None or item not in queue.waiting:
            return False
        queue.waiting.remove(item)
        return True

    def next(self) -> tuple[Source, Item] | None:
        """Returns the next question, which counts as active from now on; None if none may start now."""
        if sum(queue.active for queue in self._queues.values()) >= self.slots:
            return None
        unproven = sum(queue.active for queue in self._queues.values() if not queue.is_proven)
        is_room = unproven < max(1, self.slots // 2)
        for source, queue in self._queues.items():
            if queue.waiting and (queue.is_proven or (is_room and not queue.active)):
                self._queues.move_to_end(source)
                queue.active += 1
                return source, queue.waiting.popleft()
        return None

    def ended(self, source: Source, subject: str, ending: Ending) -> list[Item]:
        """Ends a question; returns those that are refused because of how it ended.

        Args:
            source: where it was sent.
            subject: about which table.
            ending: its result.
        """
        queue = self._queue_of(source)
        queue.active -= 1
        if ending is Ending.ANSWERED:
            queue.is_proven, queue.pauses = not source.is_long, 0
            queue.silent.clear()
        elif ending is Ending.LOST:
            queue.is_proven = False
        elif ending is Ending.SILENT:
            queue.is_proven = False
            queue.silent.add(subject)
            if queue.is_paused or len(queue.silent) >= _SILENT_TABLES:
                return self._pause(queue)
        return []

    def pause_seconds(self, source: Source) -> float:
        """Remaining seconds of a source's pause."""
        return max(0.0, self._queue_of(source).paused_until - self.ticks())

    @property
    def paused(self) -> list[Source]:
        """The paused sources."""
        return [source for source, queue in self._queues.items() if queue.is_paused]

    def clear(self) -> list[Item]:
        """Empties all queues; returns the questions that waited."""
        waiting = [item for queue in self._queues.values() for item in queue.waiting]
        for queue in self._queues.values():
            queue.waiting.clear()
        return waiting

    def _pause(self, queue: _SourceQueue[Item]) -> list[Item]:
        queue.pauses += 1
        queue.paused_until = self.ticks() + doubled(FIRST_PAUSE, LONGEST_PAUSE, queue.pauses)
        refused = list(queue.waiting)
        queue.waiting.clear()
        return refused

    def _queue_of(self, source: Source) -> _SourceQueue[Item]:
        queue = self._queues.get(source)
        if queue is None:
            self._forget_idle()
            queue = self._queues[source] = _SourceQueue()
        return queue

    def _forget_idle(self) -> None:
        """Catalogs come and go: removes idle ones, which are unproven afterwards."""
        if len(self._queues) < _MOST_QUEUES:
            return
        for source, queue in list(self._queues.items()):
            if not queue.waiting and not queue.active:
                del self._queues[source]
