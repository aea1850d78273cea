"""The stages in which a run has no driver: Pending, Queued, Suspended, AwaitingApproval, BackingOff.

Called by `machine`. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from lithify.controller.running.driving import recreated
from lithify.controller.running.ending import CANCELLED, OUT_OF_TIME, SUSPENDED, approval_text, finish
from lithify.controller.running.facts import Action, Gathering, Lock, Problem, Step
from lithify.controller.running.planning import begin
from lithify.controller.running.reconcile_input import ReconcileInput, is_plan_only
from lithify.controller.running.release import clear_name, free_table
from lithify.controller.running.status import message_of, stand
from lithify.resources.compaction import Reason
from lithify.resources.policy import Approval

_LOCK_AGAIN = timedelta(seconds=5)
"""Interval of checks for a lock: no event reports one that a person deletes."""
_LOCKS = {
    Lock.FREE: "Waiting for the table's lock.",
    Lock.UNKNOWN: "Waiting to find out who holds the table's lock.",
}


def wait(inputs: ReconcileInput) -> Step:
    """The next step of a run that has no driver."""
    spec, status, replaced = inputs.spec, inputs.status, recreated(inputs)
    if spec.cancel:
        return finish(inputs, Reason.CANCELLED, CANCELLED)
    if inputs.is_out_of_time:
        return finish(inputs, Reason.DEADLINE_EXCEEDED, OUT_OF_TIME)
    if spec.suspend:
        return _rest(inputs, Reason.SUSPENDED, SUSPENDED)
    if spec.approval is Approval.MANUAL and not spec.approved and status.plan is not None:
        return _rest(inputs, Reason.AWAITING_APPROVAL, approval_text(status.plan))
    following = _next_attempt(inputs)
    if following is not None:
        return inputs.answer(
            stand(inputs, Reason.BACKING_OFF, message_of(inputs)), free_table(inputs), [following]
        )
    if replaced:
        return finish(inputs, Reason.TABLE_NOT_FOUND, replaced)
    if inputs.facts.problem is not None:
        return _pend(inputs, inputs.facts.problem)
    return begin(inputs) if is_plan_only(inputs.run) else _queue(inputs)


def _rest(inputs: ReconcileInput, reason: Reason, message: str) -> Step:
    """Waits for a person, without a limit."""
    status, actions = stand(inputs, reason, message), free_table(inputs)
    return inputs.answer(status, actions) if actions else Step(status)


def _next_attempt(inputs: ReconcileInput) -> datetime | None:
    """When the next attempt begins, None if it may begin now."""
    following = inputs.status.next_attempt_time if inputs.reason is Reason.BACKING_OFF else None
    return None if following is None or following <= inputs.now else following


def _pend(inputs: ReconcileInput, problem: Problem) -> Step:
    """Waits for missing references."""
    if not problem.may_pass or _is_overdue(inputs, Reason.PENDING):
        return finish(inputs, problem.reason, problem.message)
    return _stay(inputs, Reason.PENDING, problem.message, free_table(inputs))


def _queue(inputs: ReconcileInput) -> Step:
    """Waits for its turn and for the table's lock, then begins an attempt."""
    facts = inputs.facts
    if _is_overdue(inputs, Reason.QUEUED):
        limit = inputs.deadlines.queued_seconds
        return finish(
            inputs, Reason.DEADLINE_EXCEEDED, f"It could not start within {limit} s. {_line(inputs)}"
        )
    if not facts.admitted:
        return _stay(inputs, Reason.QUEUED, _line(inputs), free_table(inputs))
    if facts.lock is Lock.OURS and inputs.pod is None:
        if isinstance(facts.sharing, Gathering):
            return _stay(inputs, Reason.QUEUED, facts.sharing.message, (), [facts.sharing.until])
        return _begin(inputs)
    lock = (Action.TAKE_LOCK,) if facts.lock is Lock.FREE else ()
    again = [inputs.now + _LOCK_AGAIN] if facts.lock is Lock.OTHERS else []
    return _stay(inputs, Reason.QUEUED, _line(inputs), (*clear_name(inputs), *lock), again)


def _begin(inputs: ReconcileInput) -> Step:
    """Records a new attempt in status, and starts its driver."""
    status, facts = inputs.status, inputs.facts
    attempt = status.attempts + 1
    shared = None if isinstance(facts.sharing, Gathering) else facts.sharing
    new = stand(
        inputs,
        Reason.SUBMITTING,
        f"Starting the driver of attempt {attempt}.",
        attempts=attempt,
        start_time=status.start_time or inputs.now,
        table_uuid=status.table_uuid or facts.table_uuid,
        driver=None,
        shared_run=shared,
    )
    until = inputs.at(inputs.now, inputs.deadlines.scheduling_seconds)
    return inputs.answer(new, (Action.START_DRIVER,), [until])


def _stay(
    inputs: ReconcileInput,
    reason: Reason,
    message: str,
    actions: tuple[Action, ...],
    until: Sequence[datetime] = (),
) -> Step:
    status = stand(inputs, reason, message)
    return inputs.answer(
        status, actions, [*until, inputs.at(status.stage_time, inputs.deadlines.queued_seconds)]
    )


def _is_overdue(inputs: ReconcileInput, reason: Reason) -> bool:
    return (
        inputs.reason is reason and inputs.since(inputs.status.stage_time) >= inputs.deadlines.queued_seconds
    )


def _line(inputs: ReconcileInput) -> str:
    """The reason why a queued run waits."""
    facts = inputs.facts
    if not facts.admitted:
        return facts.hold or "Waiting for its turn."
    if inputs.pod is not None:
        return f"Waiting until driver {inputs.pod.name} of an earlier attempt is gone."
    return _LOCKS.get(
        facts.lock, f"Waiting for the table's lock, which {facts.lock_holder or 'another run'} holds."
    )
