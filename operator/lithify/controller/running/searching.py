"""The stage SearchingCommit: the table is searched for a run's commits before status reports a failure.

Used by `ending`. Pure. Status keeps what follows if there is no commit, so the stage needs neither the driver
nor a slot. The step that begins it asks for no search: this discards an answer from a time when a driver may
have been alive.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from lithify.amounts import moment_text
from lithify.controller.running.facts import Action, Step
from lithify.controller.running.failures import FailureVerdict
from lithify.controller.running.reconcile_input import ReconcileInput
from lithify.controller.running.release import clear_name
from lithify.controller.running.status import stand
from lithify.errors import Failure
from lithify.resources.compaction import Reason, SearchStatus
from lithify.resources.objects import ConditionStatus, shortened

UNANSWERED = "It is unknown whether the run has committed, because its table could not be read."
_CAUSE_LENGTH = 700
_FAILURES = {failure.value: failure for failure in Failure}
_REASONS = {
    reason.value: reason
    for reason in Reason
    if reason.status is ConditionStatus.FALSE or reason is Reason.NOTHING_TO_DO
}


def begin_search(
    inputs: ReconcileInput, reason: Reason, message: str, failure: Failure | None = None, **changes: Any
) -> Step:
    """Enters the stage; without a commit, the run ends with `reason`, or its attempt fails with `failure`."""
    found = SearchStatus(
        deadline=_deadline(inputs),
        reason=reason.value,
        message=shortened(message, _CAUSE_LENGTH),
        failure=None if failure is None else failure.value,
    )
    status = stand(inputs, Reason.SEARCHING_COMMIT, _text(found), search=found, **changes)
    others = clear_name(inputs) if inputs.own is None else ()
    return inputs.answer(status, others, [inputs.now + timedelta(seconds=1)])


def go_on_searching(inputs: ReconcileInput, found: SearchStatus) -> Step:
    """Continues the search until its deadline."""
    status = stand(inputs, Reason.SEARCHING_COMMIT, _text(found), search=found)
    others = clear_name(inputs) if inputs.own is None else ()
    return inputs.answer(status, (*others, Action.FIND_RUN), [found.deadline])


def searched_for(inputs: ReconcileInput, cancelled: str) -> SearchStatus:
    """Next stage after the search; a cancellation in the course of it counts, and shortens it.

    A status that was edited may lack it.
    """
    found = inputs.status.search
    if found is None:
        lost, failure = Reason.DRIVER_LOST.value, Failure.INFRASTRUCTURE.value
        found = SearchStatus(
            deadline=_deadline(inputs), reason=lost, message="The driver left no result.", failure=failure
        )
    if inputs.spec.cancel and found.reason != Reason.CANCELLED.value:
        deadline = min(found.deadline, _deadline(inputs))
        found = SearchStatus(deadline=deadline, reason=Reason.CANCELLED.value, message=cancelled)
    return found


def verdict_of_search(found: SearchStatus) -> FailureVerdict | None:
    """The verdict on an attempt that another one may follow; None if the run ends."""
    failure = None if found.failure is None else _FAILURES.get(found.failure, Failure.BUG)
    return None if failure is None else FailureVerdict(reason_of_search(found), failure, found.message)


def reason_of_search(found: SearchStatus) -> Reason:
    """How the run, or its attempt, ended; a general reason instead of one that no search has."""
    return _REASONS.get(found.reason, Reason.DRIVER_FAILED)


def ended_text(message: str) -> str:
    """A message as a sentence that another one can follow."""
    text = message.strip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _deadline(inputs: ReconcileInput) -> datetime:
    deadlines, end = inputs.deadlines, inputs.end_of_all
    if inputs.spec.cancel:
        return inputs.at(inputs.now, min(deadlines.lost_seconds, deadlines.searching_seconds))
    latest = inputs.at(inputs.now, deadlines.searching_seconds)
    return latest if end is None else min(latest, inputs.at(max(inputs.now, end), deadlines.lost_seconds))


def _text(found: SearchStatus) -> str:
    """Sentence for the failure and what happens next."""
    follows = f"the run ends with {found.reason}" if found.failure is None else "the attempt counts as failed"
    return (
        f"{ended_text(found.message)} Searching the table for a commit of the run, at most until "
        f"{moment_text(found.deadline)}; without one, {follows}."
    )
