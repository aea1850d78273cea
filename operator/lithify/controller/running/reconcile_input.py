"""The input of the state machine: a run, the facts around it and the time, with values derived from them.

Used by the modules of this package only. Pure. Times are only ever compared as differences, and no difference
is negative: a clock that was set back makes a run wait a little longer, never crash.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from lithify.controller.driver import DriverPhase, DriverState
from lithify.controller.running.facts import Action, RunFacts, Step, Unknown
from lithify.resources.compaction import Compaction, CompactionSpec, CompactionStatus, Reason
from lithify.resources.policy import Approval, Deadlines

RECONCILE_AGAIN = timedelta(seconds=60)
"""Interval of checks for events that may have been lost."""
_SKEW = timedelta(seconds=60)
"""Tolerated difference between the clocks of two operators; beyond it one was set back."""
_WAITING = frozenset({Reason.SUSPENDED, Reason.AWAITING_APPROVAL})


@dataclass(frozen=True, slots=True)
class ReconcileInput:
    """A run, the facts around it, and the time in whole seconds."""

    run: Compaction
    facts: RunFacts
    now: datetime

    @property
    def spec(self) -> CompactionSpec:
        """The run's spec."""
        return self.run.spec

    @property
    def status(self) -> CompactionStatus:
        """The run's status."""
        return self.run.status

    @property
    def reason(self) -> Reason:
        """The reason of its current stage."""
        return self.run.reason

    @property
    def deadlines(self) -> Deadlines:
        """Its deadlines."""
        return self.facts.policy.deadlines

    @property
    def pod(self) -> DriverState | None:
        """The driver that has the run's name, for whichever run it was started."""
        return None if isinstance(self.facts.driver, Unknown) else self.facts.driver

    @property
    def own(self) -> DriverState | None:
        """That driver if it was started for this run."""
        pod = self.pod
        return pod if pod is not None and pod.owner_uid == self.run.metadata.uid else None

    @property
    def current(self) -> DriverState | None:
        """That driver if it is not of an attempt that has ended.

        An attempt later than the one in status counts, too: then status was set back.
        """
        own = self.own
        return own if own is not None and own.attempt >= self.status.attempts else None

    @property
    def has_open_attempt(self) -> bool:
        """Whether the attempt in status is not in its history."""
        known, attempt = self.status.attempt_history[-1:], max(1, self.status.attempts)
        is_known = any(each.attempt == attempt for each in known)
        return self.reason.has_driver or (self.reason is Reason.SEARCHING_COMMIT and not is_known)

    @property
    def driver_end(self) -> datetime | None:
        """When the driver of the current attempt ended, None if unknown.

        It may have ended while no operator ran: earlier than now, and the run's duration is computed from it.
        Kubelets omit fractions of seconds: the next whole second is never before the driver's last commit.
        """
        driver, began = self.current, self.status.start_time
        if driver is None or driver.finished is None or not self.has_open_attempt:
            return None
        if driver.phase is not DriverPhase.ENDED:
            return None
        ended = min(driver.finished.replace(microsecond=0) + timedelta(seconds=1), self.now)
        return ended if began is None else max(ended, began)

    @property
    def is_alive(self) -> bool:
        """Whether a driver that has the run's name may still act."""
        pod = self.pod
        return pod is not None and pod.phase is not DriverPhase.ENDED

    @property
    def may_have_committed(self) -> bool:
        """Whether an attempt has begun that may commit.

        Maintenance records no run in the table; its next attempt finds what is left.
        """
        return self.status.attempts > 0 and not self.run.is_maintenance and not is_plan_only(self.run)

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
        """When the run's total deadline expires, None if it has none."""
        began = self.run.metadata.creation_timestamp or self.status.start_time
        limit = self.spec.active_deadline_seconds
        if began is None or limit is None:
            return None
        return began + timedelta(seconds=limit + self.seconds_waited)

    @property
    def is_out_of_time(self) -> bool:
        """Whether the run has exceeded its total deadline."""
        end = self.end_of_all
        return end is not None and self.now >= end

    def at(self, began: datetime | None, seconds: float) -> datetime:
        """The time `seconds` after `began`, or after now if that is None."""
        return (began or self.now) + timedelta(seconds=seconds)

    def answer(
        self, status: CompactionStatus, actions: Iterable[Action] = (), until: Iterable[datetime | None] = ()
    ) -> Step:
        """A step that asks the machine again at the earliest of some times, or after a minute."""
        moments = [moment for moment in (*until, self.end_of_all) if moment is not None]
        again = min([*moments, self.now + RECONCILE_AGAIN])
        return Step(status, tuple(actions), max(again, self.now + timedelta(seconds=1)))


def is_plan_only(run: Compaction) -> bool:
    """Whether the run's next attempt only plans: a dry run, or one that is not approved yet.

    Maintenance is planned by drivers, dry runs too: the operator lacks the libraries for it.
    """
    if run.is_maintenance:
        return False
    return run.spec.dry_run or (run.spec.approval is Approval.MANUAL and not run.spec.approved)


def is_planned_here(run: Compaction) -> bool:
    """Whether the operator's workers make the run's next plan, so that it needs no driver.

    A driver that an operator of an older release has started for it still counts.
    """
    return is_plan_only(run) and not names_driver(run.status)


def names_driver(status: CompactionStatus) -> bool:
    """Whether status names a driver that was started for the attempt; a name without a UID does not count."""
    return status.driver is not None and status.driver.uid is not None


def reconcile_input(run: Compaction, facts: RunFacts, now: datetime) -> ReconcileInput:
    """Returns the input, in whole seconds of UTC, with future times of status moved to now.

    A clock that was set back leaves such times; unchanged they would delay every deadline until the clock
    catches up.
    """
    time = now.astimezone(UTC).replace(microsecond=0)
    return ReconcileInput(replace(run, status=_no_later(run.status, time, facts)), facts, time)


def _no_later(status: CompactionStatus, now: datetime, facts: RunFacts) -> CompactionStatus:
    longest = timedelta(seconds=facts.policy.retries.max_backoff_seconds)
    stage, search = _clamped(status.stage_time, now), status.search
    if search is not None:
        latest = now + timedelta(seconds=facts.policy.deadlines.searching_seconds)
        search = replace(search, deadline=_clamped(search.deadline, latest) or latest)
    following = _clamped(status.next_attempt_time, now + longest)
    driver = status.driver
    if driver is not None:
        missing, stop = _clamped(driver.missing_since, now), driver.stopping
        if stop is not None and stop.time > now + _SKEW:
            stop = replace(stop, time=now)
        if (missing, stop) != (driver.missing_since, driver.stopping):
            driver = replace(driver, missing_since=missing, stopping=stop)
    new = (stage, search, following, driver)
    if new == (status.stage_time, status.search, status.next_attempt_time, status.driver):
        return status
    return replace(status, stage_time=stage, search=search, next_attempt_time=following, driver=driver)


def _clamped(moment: datetime | None, latest: datetime) -> datetime | None:
    return latest if moment is not None and moment > latest + _SKEW else moment
