"""Admits waiting runs to slots (in all, by namespace, by policy) and to a policy's bytes per hour.

Used by `reconciling`, for all waiting runs at once. Pure; sorts once and passes over the rest once.

A longer wait outweighs a higher priority, at a rate of `SECONDS_A_POINT` for one point. So with priorities
between 0 and 1000, no run that arrived more than 30,000 seconds (8 h 20 min) later overtakes. Every limit
admits the first in line once enough active runs have ended, so no run starves. Two more rules ensure that:
smaller runs do not pass one of the same policy that waits for bytes, and a run that is larger than its
policy's hourly bytes starts when no other of the policy has started within the last hour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from lithify.controller.deciding.reasons import (
    NamespaceRuns,
    OperatorRuns,
    PolicyBytes,
    PolicyRuns,
    SlotLimit,
)
from lithify.resources.names import ObjectKey
from lithify.resources.policy import Limits
from lithify.resources.quantities import quantity_bytes

SECONDS_A_POINT = 30
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pool:
    """Runs that may share a driver, and then one slot.

    Attributes:
        names: identify the pool.
        tables: maximum number of runs of a driver.
        bytes: the most that they read together.
    """

    names: tuple[str, ...]
    tables: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that wants to start.

    Attributes:
        key: the run; each waits once.
        priority: higher goes first.
        since: start of its wait.
        policy: the policy that it counts against, in the same namespace as the run.
        bytes: about how much it reads.
        pool: the runs that it may share a driver with, None if it has one of its own.
    """

    key: ObjectKey
    priority: int
    since: datetime
    policy: ObjectKey
    bytes: int = 0
    pool: Pool | None = None


@dataclass(frozen=True, slots=True)
class Active:
    """A run that has started.

    Attributes:
        key: the run.
        policy: the policy that it counts against.
        bytes: about how much it reads.
        started: its start; its bytes count for an hour from then, also once it has ended.
        pool: the runs that it is going to share a driver with; None if it has a driver, or shares none.
        driver: names the driver that it shares, empty if it does not.
    """

    key: ObjectKey
    policy: ObjectKey
    bytes: int
    started: datetime
    pool: Pool | None = None
    driver: str = ""


@dataclass(frozen=True, slots=True)
class Caps:
    """The operator's own limits on active runs; None for no limit."""

    total: int | None = None
    per_namespace: int | None = None


@dataclass(frozen=True, slots=True)
class PolicyLimits:
    """A policy's limits; None for no limit."""

    active_runs: int | None = None
    bytes_per_hour: int | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """The runs that may start now, and when to decide again.

    Attributes:
        admitted: the runs that may start now, in order.
        held: for each other run, the limit that holds it.
        wake: when the answer may change if no run ends before; None for never.
    """

    admitted: tuple[ObjectKey, ...]
    held: Mapping[ObjectKey, SlotLimit]
    wake: datetime | None = None


def limits_of(limits: Limits) -> PolicyLimits:
    """A policy's limits as numbers."""
    hourly = limits.bytes_per_hour
    return PolicyLimits(limits.active_runs, None if hourly is None else quantity_bytes(hourly))


def admit(
    waiting: Iterable[Waiting],
    active: Iterable[Active],
    started_recently: Iterable[Active],
    caps: Caps,
    limits: Mapping[ObjectKey, PolicyLimits],
    now: datetime,
) -> Admission:
    """Returns the waiting runs that may start now.

    Args:
        waiting: the runs that want to start.
        active: the runs that have started; all of them count against the slots.
        started_recently: runs started within the last hour, ended or not; those in `active`, too, count once.
        caps: the operator's limits.
        limits: those of policies; a policy that is missing here has none.
        now: the current time.
    """
    running = {run.key: run for run in active}
    recent = {run.key: run for run in started_recently} | running
    room = _Room(caps, limits, now)
    for run in running.values():
        room.take_slot(run)
    for run in recent.values():
        # A start later than now was written by a clock that was wrong.
        if now - HOUR < run.started < now + HOUR:
            room.take_bytes(run.policy, run.bytes, run.started)
    admitted = []
    held = {}
    for one in sorted(waiting, key=lambda one: _rank(one, now)):
        limit = room.limit_for(one)
        if limit is None:
            room.take_slot(one)
            room.take_bytes(one.policy, one.bytes, now)
            admitted.append(one.key)
        else:
            held[one.key] = limit
    return Admission(tuple(admitted), held, room.wake)


def _rank(one: Waiting, now: datetime) -> tuple[datetime, datetime, ObjectKey]:
    """Sort key, lower goes first: the time of arrival, minus `SECONDS_A_POINT` for each point of priority."""
    since = min(one.since, now)
    return since - timedelta(seconds=one.priority * SECONDS_A_POINT), since, one.key


class _Room:
    """Remaining slots and bytes within the limits while runs are admitted."""

    def __init__(self, caps: Caps, limits: Mapping[ObjectKey, PolicyLimits], now: datetime) -> None:
        self._caps = caps
        self._limits = limits
        self._now = now
        self._total = 0
        self._by_namespace: Counter[str] = Counter()
        self._by_policy: Counter[ObjectKey] = Counter()
        self._bytes: Counter[ObjectKey] = Counter()
        self._first_over: dict[ObjectKey, datetime] = {}
        self._out_of_bytes: set[ObjectKey] = set()
        self._drivers: set[str] = set()
        self._open: dict[Pool, tuple[int, int]] = {}
        """Number of runs, and bytes, that the newest driver of a pool can still take."""

    def take_slot(self, run: Waiting | Active) -> None:
        """Counts a run against all three limits, unless it shares another's slot.

        Runs of a namespace beyond its own limit do not count against the total, or a user who may write their
        statuses could hold up other namespaces.
        """
        if self._joins(run):
            return
        policy, most = run.policy, self._caps.per_namespace
        self._by_namespace[policy.namespace] += 1
        self._by_policy[policy] += 1
        if most is None or self._by_namespace[policy.namespace] <= most:
            self._total += 1

    def _joins(self, run: Waiting | Active) -> bool:
        """Whether a run shares a slot that is taken already; if not, later runs may share its own."""
        driver = run.driver if isinstance(run, Active) else ""
        if driver:
            is_known = driver in self._drivers
            self._drivers.add(driver)
            return is_known
        if run.pool is None:
            return False
        fits = self._fits(run)
        tables, size = self._open[run.pool] if fits else (run.pool.tables, run.pool.bytes)
        self._open[run.pool] = tables - 1, size - run.bytes
        return fits

    def _fits(self, run: Waiting | Active) -> bool:
        """Whether a driver that has not started has room for a run."""
        tables, size = self._open.get(run.pool, (0, 0)) if run.pool is not None else (0, 0)
        return tables > 0 and size >= run.bytes

    def take_bytes(self, policy: ObjectKey, size: int, started: datetime) -> None:
        """Counts bytes, which are returned an hour after the start."""
        self._bytes[policy] += size
        over = started + HOUR
        self._first_over[policy] = min(over, self._first_over.get(policy, over))

    def limit_for(self, one: Waiting) -> SlotLimit | None:
        """The limit that holds a run, None if it may start."""
        limits = self._limits.get(one.policy, _UNLIMITED)
        held = None if self._fits(one) else self._full(one, limits)
        if held is not None:
            return held
        if limits.bytes_per_hour is not None and not self._has_bytes(one, limits.bytes_per_hour):
            return PolicyBytes(one.policy.name, limits.bytes_per_hour)
        return None

    def _full(self, one: Waiting, limits: PolicyLimits) -> SlotLimit | None:
        """The limit whose slots are all taken, None if each has a free one."""
        total, per_namespace = self._caps.total, self._caps.per_namespace
        if total is not None and self._total >= total:
            return OperatorRuns(total)
        if per_namespace is not None and self._by_namespace[one.policy.namespace] >= per_namespace:
            return NamespaceRuns(per_namespace)
        if limits.active_runs is not None and self._by_policy[one.policy] >= limits.active_runs:
            return PolicyRuns(one.policy.name, limits.active_runs)
        return None

    def _has_bytes(self, one: Waiting, most: int) -> bool:
        taken = self._bytes[one.policy]
        if one.policy in self._out_of_bytes or (taken and taken + one.bytes > most):
            self._out_of_bytes.add(one.policy)
            return False
        return True

    @property
    def wake(self) -> datetime | None:
        """When the first bytes that a waiting run needs are returned."""
        return min((self._first_over[policy] for policy in self._out_of_bytes), default=None)


_UNLIMITED = PolicyLimits()
