"""The stages in which a run has a driver, or may have one: Submitting, Planning, Running, Committing.

Called by `machine`. Pure. A driver is started only if there is certainly none and the run holds the table's
lock. A driver that should end is asked to and waited for, because its outcome may still be a success.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.controller.driver import DriverPhase, DriverState
from lithify.controller.running.ending import (
    CANCELLED,
    OUT_OF_TIME,
    SUSPENDED,
    bury,
    fail,
    finish,
    leave_shared,
    record,
)
from lithify.controller.running.facts import Action, Lock, Step
from lithify.controller.running.failures import FailureVerdict
from lithify.controller.running.reconcile_input import ReconcileInput
from lithify.controller.running.release import clear_name, free_table
from lithify.controller.running.status import stand, with_attempt
from lithify.controller.running.watching import watch
from lithify.errors import Failure
from lithify.resources.compaction import DriverStatus, Reason
from lithify.resources.objects import shortened


def drive(case: ReconcileInput) -> Step:
    """The next step of a run that has a driver, or may have one."""
    driver = case.current
    if driver is None:
        return _without_driver(case)
    case = _adopted(case, driver)
    if driver.phase is not DriverPhase.ENDED:
        return watch(case, driver)
    return bury(case, driver) if driver.outcome is None else record(case, driver.outcome)


def adopt(case: ReconcileInput, driver: DriverState) -> Step:
    """Takes over a driver that the run should not have in its stage; the next step decides about it.

    A late start request made it, or status was set back.
    """
    status = _adopted(case, driver).status
    message = f"Found driver {driver.name}, started for this run."
    new = stand(
        case,
        Reason.SUBMITTING,
        message,
        driver=status.driver,
        attempts=status.attempts,
        start_time=status.start_time,
    )
    return case.answer(new, until=[case.at(case.now, 1)])


def recreated(case: ReconcileInput) -> str:
    """Message if the table was replaced since the run began; empty if it was not."""
    meant, there = case.status.table_uuid, case.facts.table_uuid
    if meant is None or there is None or meant == there:
        return ""
    return (
        f"{case.status.identifier} was dropped and re-created since the run began, so its plan is obsolete; "
        "create another Compaction to compact the new table."
    )


def _adopted(case: ReconcileInput, driver: DriverState) -> ReconcileInput:
    """The case with the driver in status, whichever attempt status names as the last."""
    known = case.status.driver
    if known is None or known.uid != driver.uid:
        known = DriverStatus(name=shortened(driver.name, 253), uid=driver.uid)
    known = replace(known, start_time=driver.started or known.start_time)
    status = replace(
        case.status,
        driver=known,
        attempts=max(1, driver.attempt),
        start_time=case.status.start_time or case.now,
    )
    return replace(case, run=replace(case.run, status=status))


def _without_driver(case: ReconcileInput) -> Step:
    known = case.status.driver
    if known is None or known.uid is None:
        return _start(case)
    since = known.missing_since or case.now
    grace = case.deadlines.lost_seconds
    if case.since(since) >= grace:
        return bury(case, None)
    message = f"Driver {known.name} cannot be found; it counts as lost if that persists."
    status = stand(case, case.reason, message, driver=replace(known, missing_since=since))
    return case.answer(status, clear_name(case), [case.at(since, grace)])


def _start(case: ReconcileInput) -> Step:
    """Starts the driver of the attempt in status, or ends the attempt."""
    ended = _given_up(case)
    if ended is not None:
        return ended
    if case.facts.stranded:
        return leave_shared(case, case.facts.stranded)
    lock = case.facts.lock
    if lock is Lock.OTHERS:
        message = f"The table's lock was lost to {case.facts.lock_holder}; waiting for its turn again."
        return case.answer(stand(case, Reason.QUEUED, message), clear_name(case))
    message = f"Starting the driver of attempt {case.status.attempts}{_delay(case)}"
    if case.facts.problem is not None:
        message, acts = case.facts.problem.message, clear_name(case)
    elif case.pod is not None:
        message, acts = f"Waiting until driver {case.pod.name} of an earlier run is gone.", clear_name(case)
    else:
        acts = {Lock.OURS: (Action.START_DRIVER,), Lock.FREE: (Action.TAKE_LOCK,)}.get(lock, ())
    until = case.at(case.status.stage_time, case.deadlines.scheduling_seconds)
    return case.answer(stand(case, case.reason, message), acts, [until])


def _given_up(case: ReconcileInput) -> Step | None:
    """The end of an attempt that has no driver yet, None if it goes on."""
    problem, replaced = case.facts.problem, recreated(case)
    if case.spec.cancel:
        return finish(case, Reason.CANCELLED, CANCELLED)
    if case.is_out_of_time:
        return finish(case, Reason.DEADLINE_EXCEEDED, OUT_OF_TIME)
    if replaced:
        return finish(case, Reason.TABLE_NOT_FOUND, replaced)
    if problem is not None and not problem.may_pass:
        return finish(case, problem.reason, problem.message)
    if case.spec.suspend:
        return case.answer(stand(case, Reason.SUSPENDED, SUSPENDED), free_table(case))
    if problem is not None and problem.ends_attempt:
        attempts = with_attempt(case, Reason.PENDING, problem.message)
        pending = stand(case, Reason.PENDING, problem.message, attempt_history=attempts)
        return case.answer(pending, free_table(case))
    if case.since(case.status.stage_time) < case.deadlines.scheduling_seconds:
        return None
    if problem is not None:
        return fail(case, FailureVerdict(problem.reason, Failure.SCHEDULING, problem.message))
    message = f"No driver could be started within {case.deadlines.scheduling_seconds} s{_delay(case)}"
    return fail(case, FailureVerdict(Reason.SCHEDULING_TIMED_OUT, Failure.SCHEDULING, message))


def _delay(case: ReconcileInput) -> str:
    """The result of the last try to start, as the end of a sentence."""
    return f": {case.facts.delay}" if case.facts.delay else "."
