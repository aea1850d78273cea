"""Whose question is next: turns are shared by catalog, and a catalog that does not answer is left alone.

Used by `pool`, which has the places. Pure but for its ticks. Questions about one catalog wait in one line,
and lines take turns, so that nobody waits for all the tables of somebody else. A catalog has to prove that it
answers: until it has, and again from a question on to which there was no answer, it is asked one question
at a time, and all such catalogs together get half of the places. Questions that take long have a line of
their own in each catalog, which is never proven. Two tables in a row without an answer pause a catalog, as a
circuit breaker does: its questions are refused at once, but for a single one after each pause that finds out
whether it is back.
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
"""Seconds between two questions to a catalog that is paused; each pause is twice as long as the last one."""
_SILENT_TABLES = 2
"""So many tables without an answer pause their catalog: a single one may have a fault of its own."""
_MOST_LINES = 10_000

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Source:
    """What answers questions: a catalog, at the address that it has now.

    Attributes:
        catalog: which Catalog, as `namespace/name`.
        address: where it is; a Catalog that is changed has to prove itself anew.
        is_long: its questions take long, so they never get more than one that has proven nothing.
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
    """The process that asked is gone, which may be the doing of the table."""
    WITHDRAWN = auto()
    """Nobody wants to know any more."""


@dataclass(slots=True)
class _Line(Generic[Item]):
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
    """The lines of all sources.

    Attributes:
        places: how many questions may be under way at a time.
        ticks: seconds that only ever grow.
    """

    places: int
    ticks: Callable[[], float] = monotonic
    _lines: OrderedDict[Source, _Line[Item]] = field(default_factory=OrderedDict)

    def admits(self, source: Source) -> bool:
        """Whether a question may wait for its turn; one to a source that is paused may not."""
        line = self._lines.get(source)
        if line is None or not line.is_paused:
            return True
        is_asked = line.active > 0 or bool(line.waiting)
        return not is_asked and self.ticks() >= line.paused_until

    def add(self, source: Source, item: Item) -> None:
        """Puts a question at the end of its line."""
        self._line(source).waiting.append(item)

    def remove(self, source: Source, item: Item) -> bool:
        """Takes a question out of its line; False if it is not in it."""
        line = self._lines.get(source)
        if line is None or item not in line.waiting:
            return False
        line.waiting.remove(item)
        return True

    def next(self) -> tuple[Source, Item] | None:
        """Whose turn it is; None if nobody may be asked now. The question counts as under way from now on."""
        if sum(line.active for line in self._lines.values()) >= self.places:
            return None
        unproven = sum(line.active for line in self._lines.values() if not line.is_proven)
        is_room = unproven < max(1, self.places // 2)
        for source, line in self._lines.items():
            if line.waiting and (line.is_proven or (is_room and not line.active)):
                self._lines.move_to_end(source)
                line.active += 1
                return source, line.waiting.popleft()
        return None

    def ended(self, source: Source, subject: str, ending: Ending) -> list[Item]:
        """A question is over; returns those that are refused because of how it ended.

        Args:
            source: who was asked.
            subject: about which table.
            ending: what came of it.
        """
        line = self._line(source)
        line.active -= 1
        if ending is Ending.ANSWERED:
            line.is_proven, line.pauses = not source.is_long, 0
            line.silent.clear()
        elif ending is Ending.LOST:
            line.is_proven = False
        elif ending is Ending.SILENT:
            line.is_proven = False
            line.silent.add(subject)
            if line.is_paused or len(line.silent) >= _SILENT_TABLES:
                return self._pause(line)
        return []

    def pause_seconds(self, source: Source) -> float:
        """How long a source that is paused is left alone from now on."""
        return max(0.0, self._line(source).paused_until - self.ticks())

    @property
    def paused(self) -> list[Source]:
        """All sources that are left alone, but for a question now and then."""
        return [source for source, line in self._lines.items() if line.is_paused]

    def clear(self) -> list[Item]:
        """Empties all lines; returns the questions that waited."""
        waiting = [item for line in self._lines.values() for item in line.waiting]
        for line in self._lines.values():
            line.waiting.clear()
        return waiting

    def _pause(self, line: _Line[Item]) -> list[Item]:
        line.pauses += 1
        line.paused_until = self.ticks() + doubled(FIRST_PAUSE, LONGEST_PAUSE, line.pauses)
        refused = list(line.waiting)
        line.waiting.clear()
        return refused

    def _line(self, source: Source) -> _Line[Item]:
        line = self._lines.get(source)
        if line is None:
            self._forget_idle()
            line = self._lines[source] = _Line()
        return line

    def _forget_idle(self) -> None:
        """Catalogs come and go; those that nobody asks about lose what they have proven."""
        if len(self._lines) < _MOST_LINES:
            return
        for source, line in list(self._lines.items()):
            if not line.waiting and not line.active:
                del self._lines[source]
