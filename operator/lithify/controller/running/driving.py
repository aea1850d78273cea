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
from lithify.controller.running.following import follow
from lithify.controller.running.reconcile_input import ReconcileInput
from lithify.controller.running.release import clear_name, free_table
from lithify.controller.running.status import stand, with_attempt
from lithify.errors import Failure
from lithify.resources.compaction import DriverStatus, Reason
from lithify.resources.objects import shortened


def drive(inputs: ReconcileInput) -> Step:
    """The next step of a run that has a driver, or may have one."""
    driver = inputs.current
    if driver is None:
        return _without_driver(inputs)
    inputs = _adopted(inputs, driver)
    if driver.phase is not DriverPhase.ENDED:
        return follow(inputs, driver)
    return bury(inputs, driver) if driver.outcome is None else record(inputs, driver.outcome)


def adopt(inputs: ReconcileInput, driver: DriverState) -> Step:
    """Takes over a driver that the run should not have in its stage; the next step decides about it.

    A late start request made it, or status was set back.
    """
    status = _adopted(inputs, driver).status
    message = f"Found driver {driver.name}, started for this run."
    new = stand(
        inputs,
        Reason.SUBMITTING,
        message,
        driver=status.driver,
        attempts=status.attempts,
        start_time=status.start_time,
    )
    return inputs.answer(new, until=[inputs.at(inputs.now, 1)])


def recreated(inputs: ReconcileInput) -> str:
    """Message if the table was replaced since the run began; empty if it was not."""
    meant, there = inputs.status.table_uuid, inputs.facts.table_uuid
    if meant is None or there is None or meant == there:
        return ""
    return (
        f"{inputs.status.identifier} was dropped and re-created since the run began, so its plan is "
        "obsolete; create another Compaction to compact the new table."
    )


def _adopted(inputs: ReconcileInput, driver: DriverState) -> ReconcileInput:
    """The input with the driver in status, whichever attempt status names as the last."""
    known = inputs.status.driver
    if known is None or known.uid != driver.uid:
        known = DriverStatus(name=shortened(driver.name, 253), uid=driver.uid)
    known = replace(known, start_time=driver.started or known.start_time)
    status = replace(
        inputs.status,
        driver=known,
        attempts=max(1, driver.attempt),
        start_time=inputs.status.start_time or inputs.now,
    )
    return replace(inputs, run=replace(inputs.run, status=status))


def _without_driver(inputs: ReconcileInput) -> Step:
    known = inputs.status.driver
    if known is None or known.uid is None:
        return _start(inputs)
    since = known.missing_since or inputs.now
    grace = inputs.deadlines.lost_seconds
    if inputs.since(since) >= grace:
        return bury(inputs, None)
    message = f"Driver {known.name} cannot be found; it counts as lost if that persists."
    status = stand(inputs, inputs.reason, message, driver=replace(known, missing_since=since))
    return inputs.answer(status, clear_name(inputs), [inputs.at(since, grace)])


def _start(inputs: ReconcileInput) -> Step:
    """Starts the driver of the attempt in status, or ends the attempt."""
    ended = _given_up(inputs)
    if ended is not None:
        return ended
    if inputs.facts.stranded:
        return leave_shared(inputs, inputs.facts.stranded)
    lock = inputs.facts.lock
    if lock is Lock.OTHERS:
        message = f"The table's lock was lost to {inputs.facts.lock_holder}; waiting for its turn again."
        return inputs.answer(stand(inputs, Reason.QUEUED, message), clear_name(inputs))
    message = f"Starting the driver of attempt {inputs.status.attempts}{_delay(inputs)}"
    if inputs.facts.problem is not None:
        message, actions = inputs.facts.problem.message, clear_name(inputs)
    elif inputs.pod is not None:
        message, actions = (
            f"Waiting until driver {inputs.pod.name} of an earlier run is gone.",
            clear_name(inputs),
        )
    else:
        actions = {Lock.OURS: (Action.START_DRIVER,), Lock.FREE: (Action.TAKE_LOCK,)}.get(lock, ())
    until = inputs.at(inputs.status.stage_time, inputs.deadlines.scheduling_seconds)
    return inputs.answer(stand(inputs, inputs.reason, message), actions, [until])


def _given_up(inputs: ReconcileInput) -> Step | None:
    """The end of an attempt that has no driver yet, None if it goes on."""
    problem, replaced = inputs.facts.problem, recreated(inputs)
    if inputs.spec.cancel:
        return finish(inputs, Reason.CANCELLED, CANCELLED)
    if inputs.is_out_of_time:
        return finish(inputs, Reason.DEADLINE_EXCEEDED, OUT_OF_TIME)
    if replaced:
        return finish(inputs, Reason.TABLE_NOT_FOUND, replaced)
    if problem is not None and not problem.may_pass:
        return finish(inputs, problem.reason, problem.message)
    if inputs.spec.suspend:
        return inputs.answer(stand(inputs, Reason.SUSPENDED, SUSPENDED), free_table(inputs))
    if problem is not None and problem.ends_attempt:
        attempts = with_attempt(inputs, Reason.PENDING, problem.message)
        pending = stand(inputs, Reason.PENDING, problem.message, attempt_history=attempts)
        return inputs.answer(pending, free_table(inputs))
    if inputs.since(inputs.status.stage_time) < inputs.deadlines.scheduling_seconds:
        return None
    if problem is not None:
        return fail(inputs, FailureVerdict(problem.reason, Failure.SCHEDULING, problem.message))
    message = f"No driver could be started within {inputs.deadlines.scheduling_seconds} s{_delay(inputs)}"
    return fail(inputs, FailureVerdict(Reason.SCHEDULING_TIMED_OUT, Failure.SCHEDULING, message))


def _delay(inputs: ReconcileInput) -> str:
    """The result of the last try to start, as the end of a sentence."""
    return f": {inputs.facts.delay}" if inputs.facts.delay else "."
