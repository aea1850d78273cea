"""Exponential backoff with jitter for actions that had no effect.

Used by `compactions`. In memory only: a new leader starts again with short waits.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from lithify.controller.running.backoff import doubled, jittered

FIRST = 2.0
LAST = 60.0
"""Seconds of the first and of the longest wait, before jitter, which takes up to half away."""


@dataclass(slots=True)
class Backoff:
    """Waits that double with each failure.

    Attributes:
        seed: seed of the jitter, such as a run's uid.
        last: the longest wait, in seconds.
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
        """Resets the number of failures."""
        self.failures = 0


@dataclass(slots=True)
class Repeats:
    """Distinguishes actions that advance a run from actions that are repeated because they had no effect.

    Attributes:
        backoff: waits between repeats.
    """

    backoff: Backoff
    _stage: Hashable = None
    _done: set[Hashable] = field(default_factory=set)

    def wait(self, stage: Hashable, actions: Hashable) -> float:
        """Seconds after which to requeue a run whose actions were carried out.

        0 for actions that are new in this stage, else the backoff. All actions of a stage are remembered, so
        a run that alternates between some of them waits, too.
        """
        if stage != self._stage:
            self.clear()
            self._stage = stage
        if actions not in self._done:
            self._done.add(actions)
            return 0.0
        return self.backoff.failed()

    def clear(self) -> None:
        """Forgets all actions and resets the backoff, once a run has nothing left to do."""
        self._done.clear()
        self.backoff.succeeded()
