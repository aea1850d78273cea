"""Whether the operator makes progress; a responding process alone is not enough.

`server` shows it to the kubelet, which ends an unhealthy process. Pure but for `LoopLag`. Times are seconds
of one monotonic clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """The state of this process.

    Attributes:
        is_leader: it does the work; otherwise it stands by.
        is_synced: it has seen all objects since it leads.
        since: when it began to lead, or started.
        last_event: when the API server last sent something: an event, or the response to a list. None if none
            is to be expected.
        queue_seconds: how long the first object in the queue has waited.
        reconcile_seconds: how long the oldest active reconciliation has taken.
        lag_seconds: recent delay of the event loop.
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
    """Thresholds in seconds after which something counts as stuck.

    Attributes:
        sync: from the start of leadership until all objects have been seen.
        silence: of the API server. Everything is listed again every ten minutes; two lists in a row may fail.
        queue: in the queue. Far above the effect of an API server that is overloaded for a while.
        reconcile: one reconciliation. All its requests together time out before.
        lag: of the event loop. Half of it is enough to lose leases.
    """

    sync: float = 900.0
    silence: float = 1800.0
    queue: float = 900.0
    reconcile: float = 900.0
    lag: float = 30.0


@dataclass(frozen=True, slots=True)
class Health:
    """The health of the process; the problem, for people, if it is not healthy."""

    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


DEFAULT_LIMITS = HealthLimits()


def health(facts: HealthFacts, now: float, limits: HealthLimits = DEFAULT_LIMITS) -> Health:
    """Whether the process should live on; on standby only its event loop must run."""
    found = []
    if facts.lag_seconds > limits.lag:
        found.append(f"the event loop is {facts.lag_seconds:.0f} s late")
    if facts.is_leader:
        found += _work_problems(facts, now, limits)
    return Health(tuple(found))


def readiness(facts: HealthFacts) -> Health:
    """Whether the process is ready: it leads and has seen all objects, or stands by."""
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
    """Measures the delay of the event loop.

    Args:
        interval: seconds between two measurements.
        ticks: monotonic seconds.
        sleep: waits for some seconds.
    """

    def __init__(
        self,
        interval: float = 0.5,
        ticks: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.seconds = 0.0
        """The last delay, or a larger earlier one that decays by a tenth at each measurement."""
        self._interval = interval
        self._ticks = ticks
        self._sleep = sleep

    async def measure(self) -> None:
        """Measures until it is cancelled."""
        while True:
            before = self._ticks()
            await self._sleep(self._interval)
            late = self._ticks() - before - self._interval
            self.seconds = max(late, self.seconds * 0.9, 0.0)
