"""Whether the operator does its work: not that the process answers, but that things move.

`server` shows it to the kubelet, which ends a process that is not healthy. Pure but for `LoopLag`. Times are
readings of one clock that only ever grows, in seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """What is known of this process now.

    Attributes:
        is_leader: it does the work; else it stands by.
        is_synced: it has seen all objects since it leads.
        since: when it began to lead, or started.
        last_event: when the API server last gave a sign of life: an event, or the answer to a list. None if
            none is to be expected.
        queue_seconds: how long the first object in the queue has waited.
        reconcile_seconds: how long the oldest reconciliation has been under way.
        lag_seconds: by how much the event loop was late of late.
    """

    is_leader: bool
    is_synced: bool
    since: float
    last_event: float | None = None
    queue_seconds: float = 0.0
    reconcile_seconds: float = 0.0
    lag_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class HealthLimits:
    """From when on something counts as stuck, in seconds.

    Attributes:
        sync: from the beginning of a reign until all objects have been seen.
        silence: of the API server. Everything is listed anew every ten minutes; twice in a row may fail.
        queue: in the queue. Far above what an API server that is overloaded for a while brings about.
        reconcile: one reconciliation. All its requests together time out before.
        lag: of the event loop. Leases are lost at half of it.
    """

    sync: float = 900.0
    silence: float = 1800.0
    queue: float = 900.0
    reconcile: float = 900.0
    lag: float = 30.0


@dataclass(frozen=True, slots=True)
class Health:
    """Whether all is well; else what is not, for people."""

    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


DEFAULT_LIMITS = HealthLimits()


def health(facts: HealthFacts, now: float, limits: HealthLimits = DEFAULT_LIMITS) -> Health:
    """Whether the process should live on; one that stands by only has to have a loop that runs."""
    found = []
    if facts.lag_seconds > limits.lag:
        found.append(f"the event loop is {facts.lag_seconds:.0f} s late")
    if facts.is_leader:
        found += _work_problems(facts, now, limits)
    return Health(tuple(found))


def readiness(facts: HealthFacts) -> Health:
    """Whether the process can do what it is there for: lead with all objects seen, or stand by."""
    if facts.is_leader and not facts.is_synced:
        return Health(("not all objects have been seen yet",))
    return Health()


def _work_problems(facts: HealthFacts, now: float, limits: HealthLimits) -> list[str]:
    found = []
    if not facts.is_synced and now - facts.since > limits.sync:
        found.append(f"objects have not been listed for {now - facts.since:.0f} s")
    if facts.last_event is not None and now - max(facts.last_event, facts.since) > limits.silence:
        found.append(f"the API server has been silent for {now - facts.last_event:.0f} s")
    if facts.queue_seconds > limits.queue:
        found.append(f"an object has waited for {facts.queue_seconds:.0f} s")
    if facts.reconcile_seconds > limits.reconcile:
        found.append(f"a reconciliation has taken {facts.reconcile_seconds:.0f} s so far")
    return found


class LoopLag:
    """Measures by how much the event loop wakes late.

    Args:
        interval: seconds between two measurements.
        ticks: seconds that only ever grow.
        sleep: lets time pass.
    """

    def __init__(
        self,
        interval: float = 0.5,
        ticks: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.seconds = 0.0
        """The last lateness, or what is left of a larger one before: a tenth goes at each measurement."""
        self._interval = interval
        self._ticks = ticks
        self._sleep = sleep

    async def measure(self) -> None:
        """Measures for ever."""
        while True:
            before = self._ticks()
            await self._sleep(self._interval)
            late = self._ticks() - before - self._interval
            self.seconds = max(late, self.seconds * 0.9, 0.0)
