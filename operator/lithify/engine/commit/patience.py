"""How long a commit is tried again, in any format. Read from table options; used by the commit loop."""

from __future__ import annotations

import random
from dataclasses import dataclass

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

    def wait(self, tries: int, clock: Clock) -> None:
        """Backs off exponentially with jitter, between the bounds."""
        ceiling = min(self.max_wait, self.min_wait * 2**tries)
        clock.sleep(random.uniform(self.min_wait, max(ceiling, self.min_wait)))  # noqa: S311  # jitter
