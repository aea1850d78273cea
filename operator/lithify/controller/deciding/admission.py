"""Who may start when not all can: slots in all, by namespace and by policy, and bytes per hour of a policy.

Used by `reconciling`, for everything that waits at once. Pure; sorts once and passes over the rest once.

Who has waited longer goes before who has a higher priority, at a rate of one point of priority for
`SECONDS_A_POINT`. So with priorities between 0 and 1000 nobody is ever overtaken by what came more than
30,000 seconds (8 h 20 min) later, and since every limit lets the first in line start as soon as enough of
what runs has ended, everybody has a turn. That needs two more rules: what waits for bytes of a policy is not
passed by smaller runs of that policy, and a run that is larger than its policy allows in an hour starts when
nothing else has started within one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from lithify.controller.deciding.wording import bytes_text
from lithify.resources.names import ObjectKey
from lithify.resources.policy import Limits
from lithify.resources.quantities import quantity_bytes

SECONDS_A_POINT = 30
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pool:
    """Runs that may share a driver, and then one slot.

    Attributes:
        names: tell it from others.
        tables: how many runs a driver takes at most.
        bytes: what they read together at most.
    """

    names: tuple[str, ...]
    tables: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that wants to start.

    Attributes:
        key: what waits, each once.
        priority: higher goes first.
        since: since when it waits.
        policy: the policy that it counts against, in the same namespace as the run.
        bytes: about how much it reads.
        pool: with whom it may share a driver, None if with nobody.
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
        started: when; for an hour from then on its bytes count, also once it is over.
        pool: with whom it is going to share a driver; None if it has one, or shares with nobody.
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
    """Who may start.

    Attributes:
        admitted: who may start now, in the order in which they go first.
        held: for everybody else, which limit holds it, for people.
        wake: when the answer may change if no run ends before; None for never.
    """

    admitted: tuple[ObjectKey, ...]
    held: Mapping[ObjectKey, str]
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
    """Who of those that wait may start now.

    Args:
        waiting: who wants to start.
        active: what runs; all of it takes a slot.
        started_recently: what has started within the last hour, whether it still runs or not; what stands in
            `active`, too, counts once.
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
        # What seems to start later than now was started by a clock that was wrong.
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
    """Lower goes first: the time of arrival, moved back for each point of priority."""
    since = min(one.since, now)
    return since - timedelta(seconds=one.priority * SECONDS_A_POINT), since, one.key


class _Room:
    """What limits leave free, while it is given away."""

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
        """How many more runs, and bytes, the last driver takes that a pool has a slot for."""

    def take_slot(self, run: Waiting | Active) -> None:
        """A run takes a slot of all three kinds, unless it shares that of others."""
        if self._joins(run):
            return
        policy = run.policy
        self._total += 1
        self._by_namespace[policy.namespace] += 1
        self._by_policy[policy] += 1

    def _joins(self, run: Waiting | Active) -> bool:
        """Whether a run shares a slot that is taken already; if not, others may share its own."""
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
        """Whether there is a driver to come that has room for a run."""
        tables, size = self._open.get(run.pool, (0, 0)) if run.pool is not None else (0, 0)
        return tables > 0 and size >= run.bytes

    def take_bytes(self, policy: ObjectKey, size: int, started: datetime) -> None:
        """A run has taken bytes that are given back an hour later."""
        self._bytes[policy] += size
        over = started + HOUR
        self._first_over[policy] = min(over, self._first_over.get(policy, over))

    def limit_for(self, one: Waiting) -> str | None:
        """The limit that holds a run, None if it may start."""
        limits = self._limits.get(one.policy, _UNLIMITED)
        held = None if self._fits(one) else self._full(one, limits)
        if held is not None:
            return held
        if limits.bytes_per_hour is not None and not self._has_bytes(one, limits.bytes_per_hour):
            size = bytes_text(limits.bytes_per_hour)
            return f"runs of CompactionPolicy {one.policy.name} may read {size} an hour, and did"
        return None

    def _full(self, one: Waiting, limits: PolicyLimits) -> str | None:
        """Which slots are all taken, None if there is one of each kind."""
        total, per_namespace = self._caps.total, self._caps.per_namespace
        if total is not None and self._total >= total:
            return f"all {total} runs that this operator may have are active"
        if per_namespace is not None and self._by_namespace[one.policy.namespace] >= per_namespace:
            return f"all {per_namespace} runs that a namespace may have are active"
        if limits.active_runs is not None and self._by_policy[one.policy] >= limits.active_runs:
            return f"all {limits.active_runs} runs of CompactionPolicy {one.policy.name} are active"
        return None

    def _has_bytes(self, one: Waiting, most: int) -> bool:
        taken = self._bytes[one.policy]
        if one.policy in self._out_of_bytes or (taken and taken + one.bytes > most):
            self._out_of_bytes.add(one.policy)
            return False
        return True

    @property
    def wake(self) -> datetime | None:
        """When the first bytes are given back that somebody waits for."""
        return min((self._first_over[policy] for policy in self._out_of_bytes), default=None)


_UNLIMITED = PolicyLimits()
