"""Backoff before a run's next attempt, an operator's retry, or a request to a silent catalog.

Used by `ending`, `reconciling.pacing` and `observing.turns`. Pure. The jitter depends on the run and the
number of tries, so that a wait computed twice is the same, while runs that failed together are not retried
together.
"""

from __future__ import annotations

import hashlib

from lithify.errors import Failure
from lithify.resources.policy import Retries

_PATIENCE = {Failure.SCHEDULING: 3, Failure.CONFLICT: 3, Failure.BUG: 6}
"""Factor of the backoff by kind of failure: resources and conflicts take longer to clear than a lost
driver."""
_MOST_DOUBLINGS = 20


def backoff_seconds(retries: Retries, failure: Failure, failed: int, uid: str, attempt: int) -> int:
    """Seconds to wait after the `failed`-th failure (from 1) of a kind, with jitter."""
    first = retries.backoff_seconds * _PATIENCE.get(failure, 1)
    wait = doubled(first, retries.max_backoff_seconds, failed)
    return max(1, round(jittered(wait, f"{uid}:{attempt}")))


def doubled(first: float, longest: float, failed: int) -> float:
    """Seconds after the `failed`-th failure (from 1) if each waits twice as long as the one before."""
    return min(first * (1 << min(max(failed - 1, 0), _MOST_DOUBLINGS)), longest)


def jittered(seconds: float, seed: str) -> float:
    """Between half of a wait and all of it, always the same for the same seed."""
    digest = hashlib.sha256(seed.encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32
    return seconds * (0.5 + share / 2)
