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


def wait(case: ReconcileInput) -> Step:
    """The next step of a run that has no driver."""
    spec, status, replaced = case.spec, case.status, recreated(case)
    if spec.cancel:
        return finish(case, Reason.CANCELLED, CANCELLED)
    if case.is_out_of_time:
        return finish(case, Reason.DEADLINE_EXCEEDED, OUT_OF_TIME)
    if spec.suspend:
        return _rest(case, Reason.SUSPENDED, SUSPENDED)
    if spec.approval is Approval.MANUAL and not spec.approved and status.plan is not None:
        return _rest(case, Reason.AWAITING_APPROVAL, approval_text(status.plan))
    following = _next_attempt(case)
    if following is not None:
        return case.answer(stand(case, Reason.BACKING_OFF, message_of(case)), free_table(case), [following])
    if replaced:
        return finish(case, Reason.TABLE_NOT_FOUND, replaced)
    if case.facts.problem is not None:
        return _pend(case, case.facts.problem)
    return begin(case) if is_plan_only(case.run) else _queue(case)


def _rest(case: ReconcileInput, reason: Reason, message: str) -> Step:
    """Waits for a person, without a limit."""
    status, acts = stand(case, reason, message), free_table(case)
    return case.answer(status, acts) if acts else Step(status)


def _next_attempt(case: ReconcileInput) -> datetime | None:
    """When the next attempt begins, None if it may begin now."""
    following = case.status.next_attempt_time if case.reason is Reason.BACKING_OFF else None
    return None if following is None or following <= case.now else following


def _pend(case: ReconcileInput, problem: Problem) -> Step:
    """Waits for missing references."""
    if not problem.may_pass or _is_overdue(case, Reason.PENDING):
        return finish(case, problem.reason, problem.message)
    return _stay(case, Reason.PENDING, problem.message, free_table(case))


def _queue(case: ReconcileInput) -> Step:
    """Waits for its turn and for the table's lock, then begins an attempt."""
    facts = case.facts
    if _is_overdue(case, Reason.QUEUED):
        limit = case.deadlines.queued_seconds
        return finish(case, Reason.DEADLINE_EXCEEDED, f"It could not start within {limit} s. {_line(case)}")
    if not facts.admitted:
        return _stay(case, Reason.QUEUED, _line(case), free_table(case))
    if facts.lock is Lock.OURS and case.pod is None:
        if isinstance(facts.sharing, Gathering):
            return _stay(case, Reason.QUEUED, facts.sharing.message, (), [facts.sharing.until])
        return _begin(case)
    lock = (Action.TAKE_LOCK,) if facts.lock is Lock.FREE else ()
    again = [case.now + _LOCK_AGAIN] if facts.lock is Lock.OTHERS else []
    return _stay(case, Reason.QUEUED, _line(case), (*clear_name(case), *lock), again)


def _begin(case: ReconcileInput) -> Step:
    """Records a new attempt in status, and starts its driver."""
    status, facts = case.status, case.facts
    attempt = status.attempts + 1
    shared = None if isinstance(facts.sharing, Gathering) else facts.sharing
    new = stand(
        case,
        Reason.SUBMITTING,
        f"Starting the driver of attempt {attempt}.",
        attempts=attempt,
        start_time=status.start_time or case.now,
        table_uuid=status.table_uuid or facts.table_uuid,
        driver=None,
        shared_run=shared,
    )
    until = case.at(case.now, case.deadlines.scheduling_seconds)
    return case.answer(new, (Action.START_DRIVER,), [until])


def _stay(
    case: ReconcileInput,
    reason: Reason,
    message: str,
    acts: tuple[Action, ...],
    until: Sequence[datetime] = (),
) -> Step:
    status = stand(case, reason, message)
    return case.answer(status, acts, [*until, case.at(status.stage_time, case.deadlines.queued_seconds)])


def _is_overdue(case: ReconcileInput, reason: Reason) -> bool:
    return case.reason is reason and case.since(case.status.stage_time) >= case.deadlines.queued_seconds


def _line(case: ReconcileInput) -> str:
    """The reason why a queued run waits."""
    facts = case.facts
    if not facts.admitted:
        return facts.hold or "Waiting for its turn."
    if case.pod is not None:
        return f"Waiting until driver {case.pod.name} of an earlier attempt is gone."
    return _LOCKS.get(
        facts.lock, f"Waiting for the table's lock, which {facts.lock_holder or 'another run'} holds."
    )
