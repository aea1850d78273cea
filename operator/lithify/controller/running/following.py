"""Follows a driver that has not ended: its stage, its deadlines, whether it can be reached, when to stop it.

Called by `driving`. Pure. The reason for stopping a driver is written to status before the driver is asked,
and stays there until it has ended, even if the reason passes.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lithify.contract.outcome import Progress
from lithify.controller.driver import DriverPhase, DriverState, Trouble
from lithify.controller.running.ending import CANCELLED, OUT_OF_TIME, SUSPENDED, lost, stop_of
from lithify.controller.running.facts import Action, Lock, Step
from lithify.controller.running.reconcile_input import ReconcileInput
from lithify.controller.running.status import message_of, stand
from lithify.controller.running.summary import plan_text
from lithify.resources.compaction import DriverStatus, PlanSummary, Reason, StopStatus
from lithify.resources.objects import shortened
from lithify.resources.policy import Approval

_TROUBLE_GRACE = 60
"""Seconds before an image that cannot be pulled, or a missing Secret, ends an attempt: it may pass."""
_LATE = 60
"""Seconds beyond a driver's own limit for executors before the operator stops it."""
_OVERRULED_BY_CANCEL = frozenset({Reason.SUSPENDED.value, Reason.QUEUED.value})
_PROGRESS_LENGTH = 32
_EXECUTORS_AGAIN = timedelta(seconds=10)
"""Interval of checks of the executors' pods while none has started."""
_RUNS = frozenset({Reason.RUNNING, Reason.COMMITTING})
_AT_WORK = frozenset({Reason.PLANNING, *_RUNS})
_TROUBLES = {Trouble.IMAGE: Reason.IMAGE_ERROR, Trouble.CONFIGURATION: Reason.INVALID_SPEC}


def follow(inputs: ReconcileInput, driver: DriverState) -> Step:
    """The next step of a run whose driver has not ended."""
    inputs, known = _with_gate(inputs, driver)
    if driver.trouble is Trouble.UNREACHABLE:
        return _out_of_reach(inputs, driver, known)
    stage = _stage_of(inputs, driver)
    stop = _stop(inputs, driver, stage)
    known = replace(known, missing_since=None, stopping=stop)
    return (
        _keep_on(inputs, driver, known, stage) if stop is None else _end(inputs, driver, known, stop, stage)
    )


def _with_gate(inputs: ReconcileInput, driver: DriverState) -> tuple[ReconcileInput, DriverStatus]:
    """The driver in status with whether a queue holds it; its time to start begins again at admission."""
    known = inputs.status.driver or DriverStatus(name=driver.name, uid=driver.uid)
    gated = True if driver.trouble is Trouble.GATED else None
    if known.gated and not gated:
        inputs = replace(
            inputs, run=replace(inputs.run, status=replace(inputs.status, stage_time=inputs.now))
        )
    return inputs, replace(known, gated=gated)


def _keep_on(inputs: ReconcileInput, driver: DriverState, known: DriverStatus, stage: Reason) -> Step:
    plan = _plan(inputs, driver)
    message = _message(driver, stage, plan)
    if inputs.run.is_maintenance and stage in _AT_WORK and not driver.terminating and not driver.waits:
        message = f"Driver {driver.name} maintains the table: {inputs.spec.kind.value}."
    if stage is Reason.WAITING_FOR_EXECUTORS and driver.progress is None and not driver.terminating:
        message = message_of(inputs)
    status = stand(inputs, stage, message, driver=known, plan=plan, progress=_progress(inputs, driver, stage))
    until = [inputs.at(status.stage_time, _limit(inputs, driver, stage))]
    if driver.progress is not None and driver.progress.lacks_executors:
        until.append(inputs.now + _EXECUTORS_AGAIN)
    return inputs.answer(status, _keep_lock(inputs), until)


def _end(
    inputs: ReconcileInput, driver: DriverState, known: DriverStatus, stop: StopStatus, stage: Reason
) -> Step:
    grace = inputs.deadlines.lost_seconds
    if inputs.since(stop.time) >= grace:
        message = f"Driver {driver.name} did not end within {grace} s after it was asked to ({stop.message})"
        return lost(inputs, known, message, inputs.at(stop.time, grace))
    status = stand(
        inputs,
        stage,
        f"Stopping driver {driver.name}: {stop.message}",
        driver=known,
        plan=_plan(inputs, driver),
        progress=_progress(inputs, driver, stage),
    )
    actions = () if driver.terminating else (Action.STOP_DRIVER,)
    return inputs.answer(status, (*actions, *_keep_lock(inputs)), [inputs.at(stop.time, grace)])


def _out_of_reach(inputs: ReconcileInput, driver: DriverState, known: DriverStatus) -> Step:
    since, grace = known.missing_since or inputs.now, inputs.deadlines.lost_seconds
    known = replace(known, missing_since=since)
    seen = f" ({driver.message})" if driver.message else ""
    if inputs.since(since) >= grace:
        message = f"Driver {driver.name} has been unreachable for {grace} s{seen}."
        return lost(inputs, known, message, inputs.at(since, grace))
    message = f"Driver {driver.name} is unreachable{seen}; it counts as lost if that persists."
    status = stand(inputs, inputs.reason, message, driver=known)
    return inputs.answer(status, _keep_lock(inputs), [inputs.at(since, grace)])


def _stop(inputs: ReconcileInput, driver: DriverState, stage: Reason) -> StopStatus | None:
    """Why the driver must end, None if it may go on."""
    stop = stop_of(inputs)
    if stop is not None and not (inputs.spec.cancel and stop.reason in _OVERRULED_BY_CANCEL):
        return stop
    why = _why_stop(inputs, driver, stage)
    if why is None:
        return stop
    return StopStatus(reason=why[0].value, message=shortened(why[1]), time=stop.time if stop else inputs.now)


def _why_stop(inputs: ReconcileInput, driver: DriverState, stage: Reason) -> tuple[Reason, str] | None:
    limit = _limit(inputs, driver, stage)
    late = stage is inputs.reason and inputs.since(inputs.status.stage_time) >= limit
    if stage is Reason.COMMITTING and not late:
        return None  # It is nearly done, and its outcome will be reliable.
    if inputs.spec.cancel:
        return Reason.CANCELLED, CANCELLED
    if late:
        return _overdue(driver, stage, limit)
    if inputs.is_out_of_time:
        return Reason.DEADLINE_EXCEEDED, OUT_OF_TIME
    if inputs.spec.suspend:
        return Reason.SUSPENDED, SUSPENDED
    if inputs.facts.lock is Lock.OTHERS:
        return Reason.QUEUED, f"The table's lock was lost to {inputs.facts.lock_holder}."
    return None


def _overdue(driver: DriverState, stage: Reason, limit: int) -> tuple[Reason, str]:
    if stage is Reason.WAITING_FOR_EXECUTORS:
        return Reason.SCHEDULING_TIMED_OUT, f"{_executors(driver)} This has lasted {limit} s."
    if stage is not Reason.SUBMITTING:
        return (
            Reason.DEADLINE_EXCEEDED,
            f"{stage.value} took longer than {limit} s; see spec.deadlines of the policy.",
        )
    seen = f": {driver.message}" if driver.message else "."
    if driver.trouble in _TROUBLES:
        return _TROUBLES[driver.trouble], f"Driver {driver.name} cannot start{seen}"
    did = "was not admitted" if driver.trouble is Trouble.GATED else "did not start"
    return Reason.SCHEDULING_TIMED_OUT, f"Driver {driver.name} {did} within {limit} s{seen}"


def _limit(inputs: ReconcileInput, driver: DriverState, stage: Reason) -> int:
    """Seconds that the driver may stay in a stage."""
    deadlines = inputs.deadlines
    match stage:
        case Reason.PLANNING:
            return deadlines.planning_seconds
        case Reason.WAITING_FOR_EXECUTORS:
            return deadlines.scheduling_seconds + _LATE  # the driver ends earlier by itself
        case Reason.RUNNING:
            return deadlines.running_seconds
        case Reason.COMMITTING:
            return deadlines.committing_seconds
    if driver.waits or driver.trouble is Trouble.GATED:
        return deadlines.queued_seconds
    limit = deadlines.scheduling_seconds
    return min(limit, _TROUBLE_GRACE) if driver.trouble in _TROUBLES else limit


def _stage_of(inputs: ReconcileInput, driver: DriverState) -> Reason:
    if driver.phase is DriverPhase.STARTING:
        return Reason.SUBMITTING
    if driver.progress is not None:
        # Once a task may have run, a loss of all executors is limited by the deadline of Running.
        if driver.progress.lacks_executors and inputs.reason not in _RUNS:
            return Reason.WAITING_FOR_EXECUTORS
        return Reason(driver.progress.stage.value)
    return Reason.PLANNING if inputs.reason is Reason.SUBMITTING else inputs.reason


def _plan(inputs: ReconcileInput, driver: DriverState) -> PlanSummary | None:
    """The plan as far as it is known; one to be approved counts only once it is complete."""
    if inputs.spec.approval is Approval.MANUAL or driver.progress is None:
        return inputs.status.plan
    return driver.progress.plan or inputs.status.plan


def _progress(inputs: ReconcileInput, driver: DriverState, stage: Reason) -> str | None:
    if stage is Reason.WAITING_FOR_EXECUTORS:
        if driver.progress is None:
            return inputs.status.progress
        ready, wanted = _counts(driver.progress)
        return f"{ready}/{wanted} executors"[:_PROGRESS_LENGTH]
    if stage not in _RUNS:
        return None
    if driver.progress is None or not driver.progress.total:
        return inputs.status.progress
    return f"{driver.progress.done}/{driver.progress.total} tasks"[:_PROGRESS_LENGTH]


def _message(driver: DriverState, stage: Reason, plan: PlanSummary | None) -> str:
    seen = f": {driver.message}" if driver.message else "."
    if driver.terminating:
        return f"Driver {driver.name} was asked to end by another party{seen}"
    if driver.waits:
        return f"Driver {driver.name} compacts other tables before this one."
    if stage is Reason.SUBMITTING:
        return f"Driver {driver.name} {'cannot start yet' if driver.trouble else 'is starting'}{seen}"
    if stage is Reason.PLANNING:
        return f"Driver {driver.name} plans the compaction."
    if stage is Reason.COMMITTING:
        return f"Driver {driver.name} commits the rewritten files."
    if driver.progress is not None and driver.progress.lacks_executors:
        return _executors(driver)
    return f"Rewriting {plan_text(plan)}." if plan else f"Driver {driver.name} rewrites files."


def _executors(driver: DriverState) -> str:
    """The number of executors, and why there are not more, as a sentence."""
    assert driver.progress is not None  # noqa: S101  # only drivers that say so are asked
    ready, wanted = _counts(driver.progress)
    said = f": {driver.executors.rstrip('.')}." if driver.executors else "."
    return f"{ready} of {wanted} executors have started{said}"


def _counts(progress: Progress) -> tuple[int, int]:
    """Number of executors that have started, and that are wanted."""
    return progress.executors_ready or 0, progress.executors_wanted or 1


def _keep_lock(inputs: ReconcileInput) -> tuple[Action, ...]:
    return (Action.TAKE_LOCK,) if inputs.facts.lock is Lock.FREE else ()
