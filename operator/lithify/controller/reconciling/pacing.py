"""How fast the operator repeats what came to nothing: ever more slowly, and not all runs at a time.

Used by `compactions`. In memory only: a new leader begins again with short waits.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from lithify.controller.running.backoff import doubled, jittered

FIRST = 2.0
LAST = 60.0
"""Seconds before something is repeated for the first time, and at most; the jitter takes up to half away."""


@dataclass(slots=True)
class Backoff:
    """Waits that double with each failure.

    Attributes:
        seed: of the jitter, such as a run's uid.
        last: seconds of the longest wait.
        failures: number of failures since the last success.
    """

    seed: str
    last: float = LAST
    failures: int = 0

    def failed(self) -> float:
        """Counts a failure; returns the seconds to wait."""
        self.failures += 1
        wait = doubled(FIRST, self.last, self.failures)
        return jittered(wait, f"{self.seed}:{self.failures}")

    def succeeded(self) -> None:
        """The next failure is the first one again."""
        self.failures = 0


@dataclass(slots=True)
class Repeats:
    """Tells acts that take a run further from those that are repeated because they showed no effect.

    Attributes:
        backoff: between repeats.
    """

    backoff: Backoff
    _stage: Hashable = None
    _done: set[Hashable] = field(default_factory=set)

    def wait(self, stage: Hashable, acts: Hashable) -> float:
        """Seconds after which to look at a run again whose acts were carried out.

        None for acts that are new where the run stands. Their number is small, so a run that goes back and
        forth between some of them waits, too.
        """
        if stage != self._stage:
            self.clear()
            self._stage = stage
        if acts not in self._done:
            self._done.add(acts)
            return 0.0
        return self.backoff.failed()

    def clear(self) -> None:
        """Nothing is left to do, so whatever follows is new."""
        self._done.clear()
        self.backoff.succeeded()
