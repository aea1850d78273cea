"""Schedules questions: catalogs take turns, and one that does not answer is paused.

Used by `pool`, which has the slots. Pure but for its ticks. Each catalog has a queue, and queues take turns,
so that a catalog with many tables cannot delay the others. A catalog is unproven until it answers, and again
from a question without an answer on: unproven catalogs get one question at a time, and half of the slots
together. Long questions have a queue of their own in each catalog, which stays unproven. Two tables in a row
without an answer pause a catalog, as a circuit breaker does: its questions are refused at once, except for a
single one after each pause that tests whether it is back. An unproven catalog does not wait until another one
has timed out, unless it is known to be silent itself: the other's question goes back to its queue.
"""

from __future__ import annotations

import math
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
PATIENCE = 5.0
"""Seconds that an unproven catalog may take to answer while another one waits: longer than most first answers
take, and short beside a time-out. Doubled each time that it was not enough, so slow ones answer, too."""
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
    DISPLACED = auto()
    """It gave its slot to another catalog, and is asked again."""


@dataclass(slots=True)
class _SourceQueue(Generic[Item]):
    """The questions to one source."""

    waiting: deque[Item] = field(default_factory=deque)
    active: int = 0
    since: float = math.inf
    """When the last question was sent."""
    displacements: int = 0
    """Number of questions displaced since the last answer."""
    is_proven: bool = False
    silent: set[str] = field(default_factory=set)
    pauses: int = 0
    paused_until: float = 0.0

    @property
    def is_paused(self) -> bool:
        return self.pauses > 0

    @property
    def is_open(self) -> bool:
        """Whether it is unproven, and nothing says that it is silent."""
        return not self.is_proven and not self.silent and not self.is_paused


@dataclass(slots=True)
class Turns(Generic[Item]):
    """The queues of all sources.

    Attributes:
        slots: maximum number of active questions.
        ticks: monotonic seconds.
        patience: seconds that an unproven source may take while another one waits, the first time.
    """

    slots: int
    ticks: Callable[[], float] = monotonic
    patience: float = PATIENCE
    _queues: OrderedDict[Source, _SourceQueue[Item]] = field(default_factory=OrderedDict)

    def admits(self, source: Source) -> bool:
        """Whether a question may be queued; not if its source is paused."""
        queue = self._queues.get(source)
        if queue is None or not queue.is_paused:
            return True
        is_asked = queue.active > 0 or bool(queue.waiting)
        return not is_asked and self.ticks() >= queue.paused_until

    def add(self, source: Source, item: Item, *, first: bool = False) -> None:
        """Adds a question to its queue: as the last one, or as the first because it was displaced."""
        waiting = self._queue_of(source).waiting
        (waiting.appendleft if first else waiting.append)(item)

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
        is_room = self._has_room()
        for source, queue in self._queues.items():
            if queue.waiting and (queue.is_proven or (is_room and not queue.active)):
                self._queues.move_to_end(source)
                queue.active += 1
                queue.since = math.inf
                return source, queue.waiting.popleft()
        return None

    def sent(self, source: Source) -> None:
        """Notes that an active question was sent: until then its worker was still starting."""
        self._queue_of(source).since = self.ticks()

    def displaced(self) -> tuple[Source, float] | None:
        """The next source that has to give way to others, and the seconds until then; None if none has to."""
        waiting = [queue for queue in self._queues.values() if queue.waiting and not queue.active]
        if self._has_room() or not any(queue.is_open for queue in waiting):
            return None
        waits = [
            (queue.since + self.patience * 2.0**queue.displacements - self.ticks(), source)
            for source, queue in self._queues.items()
            if queue.active and not queue.is_proven and not source.is_long and queue.since < math.inf
        ]
        wait, source = min(waits, key=lambda each: each[0], default=(0.0, None))
        return None if source is None else (source, max(0.0, wait))

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
            queue.is_proven, queue.pauses, queue.displacements = not source.is_long, 0, 0
            queue.silent.clear()
        elif ending is Ending.DISPLACED:
            queue.displacements += 1
            self._queues.move_to_end(source)
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

    def clear(self) -> list[Item]:
        """Empties all queues; returns the questions that waited."""
        waiting = [item for queue in self._queues.values() for item in queue.waiting]
        for queue in self._queues.values():
            queue.waiting.clear()
        return waiting

    def _has_room(self) -> bool:
        """Whether an unproven source may get a slot."""
        unproven = sum(queue.active for queue in self._queues.values() if not queue.is_proven)
        return unproven < max(1, self.slots // 2)

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
