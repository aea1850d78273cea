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


def is_planning(inputs: ReconcileInput) -> bool:
    """Whether the current attempt only plans, and has no driver."""
    if inputs.current is not None or names_driver(inputs.status) or not inputs.reason.has_driver:
        return False
    return inputs.reason is Reason.PLANNING or is_plan_only(inputs.run)


def begin(inputs: ReconcileInput) -> Step:
    """Records a new attempt in status, and has it planned."""
    status = inputs.status
    new = stand(
        inputs,
        Reason.PLANNING,
        _PLANNING,
        attempts=status.attempts + 1,
        start_time=status.start_time or inputs.now,
        table_uuid=status.table_uuid or inputs.facts.table_uuid,
        driver=None,
    )
    return inputs.answer(new, _acts(inputs), [inputs.at(inputs.now, inputs.deadlines.queued_seconds)])


def plan(inputs: ReconcileInput) -> Step:
    """The next step of an attempt that only plans."""
    ended = _given_up(inputs)
    if ended is not None:
        return ended
    outcome = inputs.facts.plan
    if outcome is not None and outcome.attempt == inputs.status.attempts:
        return record(inputs, outcome)
    seconds = inputs.deadlines.queued_seconds
    if inputs.reason is Reason.PLANNING and inputs.since(inputs.status.stage_time) >= seconds:
        return finish(inputs, Reason.DEADLINE_EXCEEDED, _TOO_LONG.format(seconds))
    status = stand(inputs, Reason.PLANNING, _PLANNING)
    return inputs.answer(status, _acts(inputs), [inputs.at(status.stage_time, seconds)])


def _given_up(inputs: ReconcileInput) -> Step | None:
    """The end of the attempt before there is a plan, None if it goes on."""
    problem, replaced = inputs.facts.problem, recreated(inputs)
    if inputs.spec.cancel:
        return finish(inputs, Reason.CANCELLED, CANCELLED)
    if inputs.is_out_of_time:
        return finish(inputs, Reason.DEADLINE_EXCEEDED, OUT_OF_TIME)
    if not is_plan_only(inputs.run):
        status = stand(inputs, Reason.QUEUED, "Approved before there was a plan; waiting for its turn.")
        return inputs.answer(status, free_table(inputs))
    if inputs.spec.suspend:
        return inputs.answer(stand(inputs, Reason.SUSPENDED, SUSPENDED), free_table(inputs))
    if replaced:
        return finish(inputs, Reason.TABLE_NOT_FOUND, replaced)
    if problem is None:
        return None
    if not problem.may_pass:
        return finish(inputs, problem.reason, problem.message)
    return inputs.answer(stand(inputs, Reason.PENDING, problem.message), free_table(inputs))


def _acts(inputs: ReconcileInput) -> tuple[Action, ...]:
    return (*free_table(inputs), Action.PLAN)
