"""One question to the state machine: a run, what surrounds it and the time, with what follows from them.

Used by the modules of this package only. Pure. Times are only ever compared as differences, and no difference
is negative: a clock that was set back makes a run wait a little longer, never crash.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from lithify.controller.driver import DriverPhase, DriverState
from lithify.controller.running.facts import Act, RunFacts, Step, Unknown
from lithify.resources.compaction import Compaction, CompactionSpec, CompactionStatus, Reason
from lithify.resources.policy import Approval, Deadlines

LOOK_AGAIN = timedelta(seconds=60)
"""How long to wait for news that may have been lost."""
_SKEW = timedelta(seconds=60)
"""How far apart the clocks of two operators may be before we think that one was set back."""
_WAITING = frozenset({Reason.SUSPENDED, Reason.AWAITING_APPROVAL})


@dataclass(frozen=True, slots=True)
class Case:
    """A run, the facts around it, and the time in whole seconds."""

    run: Compaction
    facts: RunFacts
    now: datetime

    @property
    def spec(self) -> CompactionSpec:
        """What the run is to do."""
        return self.run.spec

    @property
    def status(self) -> CompactionStatus:
        """Where it stands."""
        return self.run.status

    @property
    def reason(self) -> Reason:
        """Where it stands, in a word."""
        return self.run.reason

    @property
    def deadlines(self) -> Deadlines:
        """How long it may take."""
        return self.facts.policy.deadlines

    @property
    def pod(self) -> DriverState | None:
        """The driver that has the run's name, whoever it was started for."""
        return None if isinstance(self.facts.driver, Unknown) else self.facts.driver

    @property
    def own(self) -> DriverState | None:
        """The same if it was started for this run."""
        pod = self.pod
        return pod if pod is not None and pod.owner_uid == self.run.metadata.uid else None

    @property
    def current(self) -> DriverState | None:
        """The same if it is not of an attempt that is over.

        A later attempt than status knows of is one, too: then status was set back.
        """
        own = self.own
        return own if own is not None and own.attempt >= self.status.attempts else None

    @property
    def driver_end(self) -> datetime | None:
        """When the driver of the attempt that is under way ended, if that is known.

        Nobody may have watched then. It is earlier than now, and how long the run took depends on it alone.
        Kubelets leave fractions of seconds out: the next second is never before the driver's last commit.
        """
        driver, began = self.current, self.status.start_time
        if driver is None or driver.finished is None or not self.reason.has_driver:
            return None
        if driver.phase is not DriverPhase.ENDED:
            return None
        ended = min(driver.finished.replace(microsecond=0) + timedelta(seconds=1), self.now)
        return ended if began is None else max(ended, began)

    @property
    def is_alive(self) -> bool:
        """Whether a driver that has the run's name may still do something."""
        pod = self.pod
        return pod is not None and pod.phase is not DriverPhase.ENDED

    @property
    def may_have_committed(self) -> bool:
        """Whether an attempt was begun that may commit."""
        return self.status.attempts > 0 and not is_plan_only(self.run)

    def since(self, moment: datetime | None) -> float:
        """Seconds since a moment; 0 if it is not known or in the future."""
        return 0.0 if moment is None else max(0.0, (self.now - moment).total_seconds())

    @property
    def seconds_waited(self) -> int:
        """Seconds that the run was suspended or awaited approval, until now."""
        waits = self.reason in _WAITING
        return self.status.waited_seconds + (int(self.since(self.status.stage_time)) if waits else 0)

    @property
    def end_of_all(self) -> datetime | None:
        """When the run must be over, None if there is no such time."""
        began = self.run.metadata.creation_timestamp or self.status.start_time
        limit = self.spec.active_deadline_seconds
        if began is None or limit is None:
            return None
        return began + timedelta(seconds=limit + self.seconds_waited)

    @property
    def is_out_of_time(self) -> bool:
        """Whether the run has taken longer than it may in all."""
        end = self.end_of_all
        return end is not None and self.now >= end

    def at(self, began: datetime | None, seconds: float) -> datetime:
        """The moment so long after another one, or after now if that is not known."""
        return (began or self.now) + timedelta(seconds=seconds)

    def answer(
        self, status: CompactionStatus, acts: Iterable[Act] = (), until: Iterable[datetime | None] = ()
    ) -> Step:
        """An answer that has the machine asked again at the first of some moments, or after a minute."""
        moments = [moment for moment in (*until, self.end_of_all) if moment is not None]
        again = min([*moments, self.now + LOOK_AGAIN])
        return Step(status, tuple(acts), max(again, self.now + timedelta(seconds=1)))


def is_plan_only(run: Compaction) -> bool:
    """Whether the run's next attempt only plans: a dry run, or one that nobody has approved yet."""
    return run.spec.dry_run or (run.spec.approval is Approval.MANUAL and not run.spec.approved)


def is_planned_here(run: Compaction) -> bool:
    """Whether the operator's workers make the plan that a run wants next, so that it takes no driver.

    A driver that an operator of an older release has started for it is still heard.
    """
    return is_plan_only(run) and not names_driver(run.status)


def names_driver(status: CompactionStatus) -> bool:
    """Whether a driver was seen that was started for the attempt; a name without a UID is none."""
    return status.driver is not None and status.driver.uid is not None


def case_of(run: Compaction, facts: RunFacts, now: datetime) -> Case:
    """The case, in whole seconds of UTC, with times of status that lie in the future moved to now.

    They come from a clock that was set back; left alone they would hold up every deadline until it is there
    again.
    """
    time = now.astimezone(UTC).replace(microsecond=0)
    return Case(replace(run, status=_no_later(run.status, time, facts)), facts, time)


def _no_later(status: CompactionStatus, now: datetime, facts: RunFacts) -> CompactionStatus:
    longest = timedelta(seconds=facts.policy.retries.max_backoff_seconds)
    stage, search = _clamped(status.stage_time, now), _clamped(status.search_time, now)
    following = _clamped(status.next_attempt_time, now + longest)
    driver = status.driver
    if driver is not None:
        missing, stop = _clamped(driver.missing_since, now), driver.stopping
        if stop is not None and stop.time > now + _SKEW:
            stop = replace(stop, time=now)
        if (missing, stop) != (driver.missing_since, driver.stopping):
            driver = replace(driver, missing_since=missing, stopping=stop)
    new = (stage, search, following, driver)
    if new == (status.stage_time, status.search_time, status.next_attempt_time, status.driver):
        return status
    return replace(status, stage_time=stage, search_time=search, next_attempt_time=following, driver=driver)


def _clamped(moment: datetime | None, latest: datetime) -> datetime | None:
    return latest if moment is not None and moment > latest + _SKEW else moment
