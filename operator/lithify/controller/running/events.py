"""The Events of a run, one for each transition. Used by `reconciling.compactions`. Pure."""

from __future__ import annotations

from typing import Literal

from lithify.resources.compaction import SUCCEEDED, CompactionStatus, DriverStatus, Reason
from lithify.resources.objects import Condition, ConditionStatus, condition_of

Severity = Literal["Normal", "Warning"]
_WAITS = Reason.WAITING_FOR_EXECUTORS.value
_UNPLEASANT = frozenset({Reason.BACKING_OFF.value, Reason.PENDING.value})
_WANTED = frozenset({Reason.CANCELLED.value, Reason.NOTHING_TO_DO.value})


def events_between(old: CompactionStatus, new: CompactionStatus) -> list[tuple[Severity, str, str]]:
    """Severity, reason and message of the transition between two statuses; empty if there was none."""
    found: list[tuple[Severity, str, str]] = []
    was, now = condition_of(old.conditions, SUCCEEDED), condition_of(new.conditions, SUCCEEDED)
    if now is not None and (was is None or was.reason != now.reason):
        is_bad = now.status is ConditionStatus.FALSE or now.reason in _UNPLEASANT
        is_bad = is_bad or (new.search is not None and new.search.reason not in _WANTED)
        found.append(("Warning" if is_bad else "Normal", now.reason, now.message))
    elif _says_why(was, now) and now is not None:
        found.append(("Warning", now.reason, now.message))
    before, after = old.driver, new.driver
    if after is None or (now is not None and now.status is not ConditionStatus.UNKNOWN):
        return found
    same = before if before is not None and before.uid == after.uid else DriverStatus(name=after.name)
    if after.missing_since is not None and same.missing_since is None:
        found.append(("Warning", "DriverOutOfReach", f"Driver {after.name} cannot be found or reached."))
    if after.stopping is not None and same.stopping is None:
        found.append(("Normal", "StoppingDriver", after.stopping.message))
    return found


def _says_why(was: Condition | None, now: Condition | None) -> bool:
    """Whether a run that still waits for executors has a new reason."""
    return was is not None and now is not None and now.reason == _WAITS and now.message != was.message
