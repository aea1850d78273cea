"""The state machine of a Compaction: from where it stands and what is known, to where it stands then.

Called by `reconciling.compactions`, which writes the status that this answers, and then does the acts. Pure:
the same question has the same answer, so that a crash at any point only means asking again. A final status
never changes, and what a run has committed is never reported as a failure.
"""

from __future__ import annotations

from datetime import datetime

from lithify.controller.driver import DriverPhase
from lithify.controller.running.case import Case, case_of
from lithify.controller.running.driving import adopt, drive
from lithify.controller.running.ending import compacted
from lithify.controller.running.facts import UNKNOWN, Lock, RunFacts, Step
from lithify.controller.running.planning import is_planning, plan
from lithify.controller.running.release import free_table, settle
from lithify.controller.running.waiting import wait
from lithify.resources.compaction import Compaction, Reason


def step(run: Compaction, facts: RunFacts, now: datetime) -> Step:
    """What status should be, what there is to do once it is written, and when to ask again.

    `now` is aware. Nothing is raised, whatever the facts.
    """
    case = case_of(run, facts, now)
    if facts.driver is UNKNOWN:
        return case.answer(run.status, until=[case.at(case.now, 5)])
    if facts.deleted:
        acts = free_table(case)
        return case.answer(run.status, acts) if acts or _is_in_doubt(case) else Step(run.status)
    if case.reason.is_final:
        acts = settle(case)
        return case.answer(run.status, acts) if acts or _is_in_doubt(case) else Step(run.status)
    return _go_on(case)


def _go_on(case: Case) -> Step:
    """Takes a run further that has not ended."""
    own = case.own
    outcome = own.outcome if own is not None and own.phase is DriverPhase.ENDED else None
    if outcome is not None and outcome.reason is Reason.COMPACTED:
        return compacted(case, outcome)  # Of whatever attempt: a result is never lost.
    if is_planning(case):
        return plan(case)
    if case.reason.has_driver:
        return drive(case)
    if own is not None and (own.phase is not DriverPhase.ENDED or own.attempt > case.status.attempts):
        return adopt(case, own)
    return wait(case)


def _is_in_doubt(case: Case) -> bool:
    """Whether it is not known yet that everything was let go."""
    return case.facts.lock is Lock.UNKNOWN or case.is_alive
