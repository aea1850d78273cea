"""Finds how the attempts of an unfinished run fail, for WHY and HEALTH of its table. Pure.

Called by `reconciling.tables`, which gathers what a decision needs.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from datetime import datetime

from lithify.resources.compaction import Compaction, Reason, SearchStatus

_LASTING = 2
"""Failed attempts from which a run fails for longer than the loss of a single driver explains."""


@dataclass(frozen=True, slots=True)
class AttemptFailure:
    """How the last attempt of a run failed, and what follows.

    Attributes:
        attempt: its number.
        reason: its reason.
        message: its error.
        stage: the reason of the run now.
        is_lasting: whether it is more than one lost driver.
        next_attempt: when the next attempt starts, None if the run does not wait for that time.
        searched_until: how long its commit is searched for, None if it is not.
    """

    attempt: int
    reason: str
    message: str
    stage: Reason
    is_lasting: bool
    next_attempt: datetime | None = None
    searched_until: datetime | None = None


def failure_of_attempts(run: Compaction) -> AttemptFailure | None:
    """How the last attempt of an unfinished run failed; None if none has failed yet."""
    status, failed = run.status, sum(astuple(run.status.failures))
    search = status.search if run.reason is Reason.SEARCHING_COMMIT else None
    if search is not None and _is_failure(search):
        is_lasting = search.failure is None or failed + 1 >= _LASTING
        return AttemptFailure(
            status.attempts,
            search.reason,
            search.message,
            run.reason,
            is_lasting,
            searched_until=search.deadline,
        )
    if not failed or not status.attempt_history:
        return None
    last = status.attempt_history[-1]
    following = status.next_attempt_time if run.reason is Reason.BACKING_OFF else None
    is_lasting = failed >= _LASTING
    return AttemptFailure(last.attempt, last.reason, last.message, run.reason, is_lasting, following)


def _is_failure(search: SearchStatus) -> bool:
    return search.reason not in {Reason.CANCELLED.value, Reason.NOTHING_TO_DO.value}
