"""How long a commit is tried again, in any format: `Patience` is read from table options, `Backoff` waits.

Used by the commit loop, and by `publishing` while the outcome of a write is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from random import Random

from lithify.clock import Clock


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a commit is tried. Times in seconds.

    Attributes:
        max_retries: number of retries that are always made.
        min_wait: the shortest wait between two tries.
        max_wait: the longest wait.
        timeout: time after which no retries beyond `max_retries` are made.
    """

    max_retries: int
    min_wait: float
    max_wait: float
    timeout: float = 600.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits between the tries of one writer: exponentially longer, with jitter.

    Attributes:
        patience: the bounds.
        clock: sleeps.
        jitter: spreads writers that were outrun at the same moment; each has its own.
    """

    patience: Patience
    clock: Clock
    jitter: Random

    def now(self) -> datetime:
        """The current time."""
        return self.clock.now()

    def wait(self, tries: int) -> None:
        """Waits before the try after the first `tries` + 1."""
        shortest = self.patience.min_wait
        ceiling = min(self.patience.max_wait, shortest * 2**tries)
        self.clock.sleep(self.jitter.uniform(shortest, max(ceiling, shortest)))


def backoff_of(attempt: str, patience: Patience, clock: Clock) -> Backoff:
    """The waits of an attempt; its prefix seeds the jitter, so attempts differ and each can be repeated."""
    return Backoff(patience, clock, Random(attempt))  # noqa: S311  # jitter
