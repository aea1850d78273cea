"""A random history of a table in any format: others write, and maintenance runs beside them.

A run of maintenance is planned and executed until it is done: others may do anything in between, it may be
interrupted at any deletion and at any fault point, and then it is begun again. Before and after each try the
format's checker says whether what is needed is there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from java.fuzz.maintenance.interrupting import INTERRUPTIONS, disturbed
from lithify.clock import SystemClock, moment_of
from lithify.errors import StalePlan
from lithify.formats.protocol.maintenance import Maintenance, MaintenanceSettings

Step = Callable[[], object]
Turns = list[tuple[Step, float]]
ORPHANS = MaintenanceSettings(orphan_age=timedelta(days=1), most_share=1.0)
"""All files have the time of the test, and histories play years later: their age is beyond every limit."""
_MOST_TRIES = 8
_MOST_DISTURBED = 3


class HistoryClock(SystemClock):
    """The time of a history; nobody sleeps."""

    def __init__(self, millis: Callable[[], int]) -> None:
        super().__init__(UTC)
        self._millis = millis

    def now(self) -> datetime:
        """The time of the newest commit."""
        return moment_of(self._millis()).astimezone(UTC)

    def sleep(self, seconds: float) -> None:
        """Does not."""
        del seconds


@dataclass
class Counts:
    """What a history has done."""

    runs: int = 0
    interrupted: int = 0
    stale: int = 0
    beside_others: int = 0
    snapshots: int = 0
    orphans: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of maintenance may meet.

    Attributes:
        make: opens the table.
        points: the fault points that it comes to.
        late: what others may do while it is executed; not what any expiry breaks, such as a new tag of a
            snapshot that is about to go.
        first: what they do more often at the first points, where nothing is deleted yet: there they may do
            anything.
        safe_points: how many points come before anything is deleted.
        broken: the holders that a plan may have broken until it is done.
    """

    make: Callable[[], Maintenance[Any]]
    points: Sequence[str]
    late: Sequence[Step]
    first: Sequence[Step] = ()
    safe_points: int = 1
    broken: Callable[[Any], set[str]] = field(default=lambda _: set())


class MaintenanceHistory(ABC):
    """A random history.

    Args:
        random: what is drawn.
        millis: the time of the newest commit.
    """

    def __init__(self, random: Random, millis: Callable[[], int]) -> None:
        self.random = random
        self.clock = HistoryClock(millis)
        self.counts = Counts()
        self.log: list[str] = []

    @abstractmethod
    def begin(self) -> None:
        """Makes the table's first snapshot."""

    @abstractmethod
    def turns_of_others(self) -> Turns:
        """What others do, and how often."""

    @abstractmethod
    def turns_of_ours(self) -> Turns:
        """Kinds of maintenance, and how often."""

    @abstractmethod
    def check(self, broken: Collection[str] = ()) -> Any:
        """Asserts that all is there that holders need, but for some that may be broken."""

    @abstractmethod
    def forget(self) -> None:
        """Lets the checker read everything again."""

    @abstractmethod
    def expire(self) -> None:
        """Expires snapshots."""

    @abstractmethod
    def remove_orphans(self) -> None:
        """Removes orphans."""

    def play(self, steps: int) -> None:
        """Plays a number of steps, and an expiry and a removal of orphans at the end."""
        self.begin()
        turns = [*self.turns_of_others(), *self.turns_of_ours()]
        for turn in self.random.choices(*zip(*turns, strict=True), k=steps):
            self._take(turn)
        self._take(self.expire)
        self._take(self.remove_orphans)
        self.forget()
        self.check()

    def _take(self, step: Step) -> None:
        self.log.append(step.__name__)
        step()

    def run(self, run: Run) -> bool:
        """Plans and executes until it is done; returns whether others did nothing meanwhile."""
        self.counts.runs += 1
        self.check()
        condemned: set[str] = set()
        others = self.counts.beside_others
        for tries in range(_MOST_TRIES):
            made = run.make()
            plan = made.plan(self.clock)
            if tries < _MOST_DISTURBED and not condemned and self.random.random() < 0.25:
                self._beside(self.random.choices(*zip(*self.turns_of_others(), strict=True))[0])
            try:
                self._execute(made, plan, run, tries < _MOST_DISTURBED, is_begun=bool(condemned))
            except StalePlan:
                self.counts.stale += 1
            except INTERRUPTIONS as error:
                self.log.append(f"[{type(error).__name__}]")
                self.counts.interrupted += 1
                condemned |= run.broken(plan)
                if self.random.random() < 0.5:
                    self._beside(self.random.choice(run.late))
            else:
                self.check()
                return others == self.counts.beside_others
            self.check(condemned)
        raise AssertionError(f"{made.kind} is never done")

    def _execute(
        self, made: Maintenance[Any], plan: Any, run: Run, is_disturbed: bool, *, is_begun: bool
    ) -> None:
        if not is_disturbed:
            made.execute(plan)
            return

        def step(point: str) -> None:
            is_safe = point in run.points[: run.safe_points] and not is_begun
            anything = [step for step, _ in self.turns_of_others()]
            self._beside(self.random.choice([*run.first, *anything] if is_safe else run.late))

        with disturbed(self.random, run.points, step):
            made.execute(plan)

    def _beside(self, step: Step) -> None:
        self.log.append(f"({step.__name__})")
        self.counts.beside_others += 1
        step()
