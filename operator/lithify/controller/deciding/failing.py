"""How the attempts of an unfinished run fail, for WHY and HEALTH of its table. Pure.

Called by `reconciling.tables`, which gathers what a decision needs.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

from lithify.amounts import moment_text
from lithify.resources.compaction import Compaction, Reason, SearchStatus
from lithify.resources.objects import shortened

_LASTING = 2
"""Failed attempts from which a run fails for longer than the loss of a single driver explains."""
_CAUSE_LENGTH = 400


@dataclass(frozen=True, slots=True)
class AttemptFailure:
    """How the last attempt of a run failed.

    Attributes:
        message: for people, with what follows.
        is_lasting: whether it is more than one lost driver.
    """

    message: str
    is_lasting: bool


def failure_of_attempts(run: Compaction) -> AttemptFailure | None:
    """How the last attempt of an unfinished run failed; None if none has failed yet."""
    status, failed = run.status, sum(astuple(run.status.failures))
    search = status.search if run.reason is Reason.SEARCHING_COMMIT else None
    if search is not None and _is_failure(search):
        until = f"its commit is searched for at most until {moment_text(search.deadline)}"
        is_lasting = search.failure is None or failed + 1 >= _LASTING
        return AttemptFailure(_text(status.attempts, search.reason, search.message, until), is_lasting)
    if not failed or not status.attempt_history:
        return None
    last = status.attempt_history[-1]
    return AttemptFailure(_text(last.attempt, last.reason, last.message, _next(run)), failed >= _LASTING)


def _is_failure(search: SearchStatus) -> bool:
    return search.reason not in {Reason.CANCELLED.value, Reason.NOTHING_TO_DO.value}


def _next(run: Compaction) -> str:
    """What follows the last failed attempt."""
    following = run.status.next_attempt_time
    if run.reason is Reason.BACKING_OFF and following is not None:
        return f"the next one starts at {moment_text(following)}"
    return f"the next one is {run.reason.value}"


def _text(attempt: int, reason: str, message: str, following: str) -> str:
    cause = shortened(message.strip(), _CAUSE_LENGTH).rstrip(".")
    return f"attempt {attempt} failed with {reason}{f': {cause}' if cause else ''}; {following}"
