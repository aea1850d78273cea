"""Searches the table for a run's commits, before status reports a failure. Used by `ending`. Pure.

A search counts only if it began after status says that the driver is gone. The search's first step therefore
asks nothing, which discards an older answer from a time when a driver may have been alive.
"""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, auto

from lithify.controller.running.case import Case
from lithify.controller.running.facts import Act, Step, Unknown
from lithify.controller.running.release import clear_name
from lithify.controller.running.status import stand
from lithify.tables.observation import RunFound

LOOKING = "Searching the table for a commit of the run."
UNANSWERED = "It is unknown whether the run has committed, because its table could not be read."


class SearchAnswer(Enum):
    """Result of a search that found nothing."""

    PENDING = auto()
    NOTHING = auto()
    NEVER = auto()


def answer_of(case: Case, patience: float) -> RunFound | SearchAnswer:
    """What the run has committed; the search is given up after `patience` seconds."""
    if not case.may_have_committed:
        return SearchAnswer.NOTHING
    found, since = case.facts.found, case.status.search_time
    if since is None:
        return SearchAnswer.PENDING
    if isinstance(found, Unknown):
        return SearchAnswer.NEVER if case.since(since) >= patience else SearchAnswer.PENDING
    return SearchAnswer.NOTHING if found is None else found


def search(case: Case, message: str, patience: float) -> Step:
    """Continues the search; the run stays in its stage."""
    since = case.status.search_time
    status = stand(case, case.reason, f"{message} {LOOKING}", search_time=since or case.now)
    others = clear_name(case) if case.own is None else ()
    if since is None:
        return case.answer(status, others, [case.now + timedelta(seconds=1)])
    return case.answer(status, (*others, Act.FIND_RUN), [case.at(since, patience)])
