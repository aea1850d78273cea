"""Cuts a run into steps: how much is compacted between two commits, and when to check on others meanwhile.

Used by `driver`. A step is made of whole units in the order of the plan, so that each commit leaves a
table that a smaller run might have left. The first step is small enough to be over in some minutes even on a
single core; how much the next ones take follows from the speed of those before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from lithify.formats.protocol.planning import WorkUnit

FIRST_BYTES = 8 << 30
"""What a step reads while the speed is unknown: eight minutes of one slow core."""
STEP_SECONDS = 300.0
"""About how much time passes between two commits, and so is lost with a step."""
CHECK_SECONDS = 10.0
"""Least time between two checks for groups that others have changed while tasks run."""
_CHECK_SHARE = 0.05
"""Share of the time that these checks may take."""


@dataclass(frozen=True, slots=True)
class Commits:
    """How often a run commits.

    Attributes:
        most_bytes: what a step reads at most, unless one group alone takes more; None for no bound but time.
        seconds: about how long a step takes.
    """

    most_bytes: int | None = None
    seconds: float = STEP_SECONDS


class Pace:
    """How much the next step takes, from what the steps before took."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits
        self._bytes = FIRST_BYTES

    @property
    def bytes(self) -> int:
        """How much the next step may read."""
        most = self._commits.most_bytes
        return self._bytes if most is None else min(self._bytes, most)

    def took(self, size: int, seconds: float) -> None:
        """Records a step's bytes and duration, including its commit."""
        if size > 0 and seconds > 0:
            self._bytes = max(1, int(size / seconds * self._commits.seconds))

    def step(self, units: Sequence[WorkUnit]) -> int:
        """Number of units, from the first on, in the next step; at least one."""
        total = 0
        for number, unit in enumerate(units):
            total += unit.read_bytes
            if number and total > self.bytes:
                return number
        return len(units)


class CheckTimes:
    """When to check for lost groups: at intervals, longer ones where a check takes long.

    Args:
        seconds: least time between two checks.
        now: the time in seconds.
    """

    def __init__(self, seconds: float, now: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._next = now() + seconds

    @property
    def is_due(self) -> bool:
        """Whether it is time for the next one."""
        return self._now() >= self._next

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Measures a check, however it ends, and sets the time of the next one."""
        began = self._now()
        try:
            yield
        finally:
            ended = self._now()
            self._next = ended + max(self._seconds, (ended - began) / _CHECK_SHARE)
