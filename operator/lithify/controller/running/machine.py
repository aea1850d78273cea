"""The state machine of a Compaction: from its status and the facts to its next status.

Called by `reconciling.compactions`, which writes that status, and then carries out the actions. Pure: the
same input has the same answer, so that after a crash at any point it is asked again. A final status never
changes, except from Compacted to RolledBack, and a run that has committed is never reported as failed.
"""

from __future__ import annotations

from datetime import datetime

from lithify.controller.driver import DriverPhase
from lithify.controller.running.driving import adopt, drive
from lithify.controller.running.ending import record, search
from lithify.controller.running.facts import UNKNOWN, Lock, RunFacts, Step
from lithify.controller.running.planning import is_planning, plan
from lithify.controller.running.reconcile_input import ReconcileInput, reconcile_input
from lithify.controller.running.release import free_table, settle
from lithify.controller.running.rolled_back import status_after_rollback
from lithify.controller.running.waiting import wait
from lithify.resources.compaction import Compaction, Reason


def step(run: Compaction, facts: RunFacts, now: datetime) -> Step:
    """Returns the next status, the actions once it is written, and when to ask again.

    `now` is aware. Raises nothing, whatever the facts.
    """
    inputs = reconcile_input(run, facts, now)
    if facts.driver is UNKNOWN:
        return inputs.answer(run.status, until=[inputs.at(inputs.now, 5)])
    if facts.deleted:
        actions = free_table(inputs)
        return inputs.answer(run.status, actions) if actions or _is_in_doubt(inputs) else Step(run.status)
    if inputs.reason.is_final:
        actions, status = settle(inputs), status_after_rollback(inputs) or run.status
        return inputs.answer(status, actions) if actions or _is_in_doubt(inputs) else Step(status)
    return _go_on(inputs)


def _go_on(inputs: ReconcileInput) -> Step:
    """The next step of an unfinished run."""
    own = inputs.own
    outcome = own.outcome if own is not None and own.phase is DriverPhase.ENDED else None
    if outcome is not None and outcome.reason is _result_of(inputs):
        return record(inputs, outcome)  # Of any attempt: a result is never lost.
    if is_planning(inputs):
        return plan(inputs)
    if inputs.reason.has_driver:
        return drive(inputs)
    if own is not None and (own.phase is not DriverPhase.ENDED or own.attempt > inputs.status.attempts):
        return adopt(inputs, own)
    if inputs.reason is Reason.SEARCHING_COMMIT:
        return search(inputs)
    return wait(inputs)


def _result_of(inputs: ReconcileInput) -> Reason:
    """The reason of a driver that has done what the run is for."""
    return Reason.MAINTAINED if inputs.run.is_maintenance else Reason.COMPACTED


def _is_in_doubt(inputs: ReconcileInput) -> bool:
    """Whether the release of driver and lock is still unconfirmed."""
    return inputs.facts.lock is Lock.UNKNOWN or inputs.is_alive
