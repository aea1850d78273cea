"""Attempts that only plan: dry runs, and runs that wait for an approval of their plan.

Called by `machine`, and by `waiting` to begin one. Pure. The operator's workers plan, so there is no driver,
no limit counts the run, and the table's lock stays free for others. Status shows such a run as Planning,
without a driver. The worker limits the duration of the plan itself; this module limits the wait for a worker,
since thousands of runs may want a plan at the same time.
"""

from __future__ import annotations

from lithify.controller.running.driving import recreated
from lithify.controller.running.ending import CANCELLED, OUT_OF_TIME, SUSPENDED, finish, record
from lithify.controller.running.facts import Action, Step
from lithify.controller.running.reconcile_input import ReconcileInput, is_plan_only, names_driver
from lithify.controller.running.release import free_table
from lithify.controller.running.status import stand
from lithify.resources.compaction import Reason

_PLANNING = "Planning in the operator; no driver is started."
_TOO_LONG = (
    "It could not be planned within {0} s (deadlines.queuedSeconds of the policy); "
    "`lithify plan` makes a plan without the operator."
)


def is_planning(case: ReconcileInput) -> bool:
    """Whether the current attempt only plans, and has no driver."""
    if case.current is not None or names_driver(case.status) or not case.reason.has_driver:
        return False
    return case.reason is Reason.PLANNING or is_plan_only(case.run)


def begin(case: ReconcileInput) -> Step:
    """Records a new attempt in status, and has it planned."""
    status = case.status
    new = stand(
        case,
        Reason.PLANNING,
        _PLANNING,
        attempts=status.attempts + 1,
        start_time=status.start_time or case.now,
        table_uuid=status.table_uuid or case.facts.table_uuid,
        driver=None,
    )
    return case.answer(new, _acts(case), [case.at(case.now, case.deadlines.queued_seconds)])


def plan(case: ReconcileInput) -> Step:
    """The next step of an attempt that only plans."""
    ended = _given_up(case)
    if ended is not None:
        return ended
    outcome = case.facts.plan
    if outcome is not None and outcome.attempt == case.status.attempts:
        return record(case, outcome)
    seconds = case.deadlines.queued_seconds
    if case.reason is Reason.PLANNING and case.since(case.status.stage_time) >= seconds:
        return finish(case, Reason.DEADLINE_EXCEEDED, _TOO_LONG.format(seconds))
    status = stand(case, Reason.PLANNING, _PLANNING)
    return case.answer(status, _acts(case), [case.at(status.stage_time, seconds)])


def _given_up(case: ReconcileInput) -> Step | None:
    """The end of the attempt before there is a plan, None if it goes on."""
    problem, replaced = case.facts.problem, recreated(case)
    if case.spec.cancel:
        return finish(case, Reason.CANCELLED, CANCELLED)
    if case.is_out_of_time:
        return finish(case, Reason.DEADLINE_EXCEEDED, OUT_OF_TIME)
    if not is_plan_only(case.run):
        status = stand(case, Reason.QUEUED, "Approved before there was a plan; waiting for its turn.")
        return case.answer(status, free_table(case))
    if case.spec.suspend:
        return case.answer(stand(case, Reason.SUSPENDED, SUSPENDED), free_table(case))
    if replaced:
        return finish(case, Reason.TABLE_NOT_FOUND, replaced)
    if problem is None:
        return None
    if not problem.may_pass:
        return finish(case, problem.reason, problem.message)
    return case.answer(stand(case, Reason.PENDING, problem.message), free_table(case))


def _acts(case: ReconcileInput) -> tuple[Action, ...]:
    return (*free_table(case), Action.PLAN)
