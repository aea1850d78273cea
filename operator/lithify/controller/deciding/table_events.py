"""The Events of a LakeTable: due, started, ended. Pure.

Called by `reconciling.tables` with the status before and after a write, so that each is sent once, whatever
the number of observations and of operators. Problems of a whole catalog are reported by conditions only:
thousands of tables may share one.
"""

from __future__ import annotations

from typing import Literal

from lithify.controller.deciding.conditions import COMPACTION_NEEDED
from lithify.resources.compaction import Reason
from lithify.resources.objects import ConditionStatus, condition_of
from lithify.resources.table import LakeTableStatus, RunSummary

Told = tuple[Literal["Normal", "Warning"], str, str]
"""Severity, reason and message of an Event."""


def table_events(old: LakeTableStatus, new: LakeTableStatus) -> list[Told]:
    """The Events between two statuses, in order."""
    found: list[Told] = []
    last = new.last_compaction
    if last is not None and (old.last_compaction is None or old.last_compaction.name != last.name):
        found.append(_ended(last))
    needed = condition_of(new.conditions, COMPACTION_NEEDED)
    due = needed.message if needed is not None and needed.status is ConditionStatus.TRUE else ""
    if new.active_compaction is not None and new.active_compaction != old.active_compaction:
        because = f": {due}" if due else ""
        found.append(("Normal", "CompactionStarted", f"Compaction {new.active_compaction}{because}"))
    elif due and not _is_due(old):
        found.append(("Normal", "CompactionDue", due))
    return found


def _ended(run: RunSummary) -> Told:
    """The end of a run: what it did, or why it failed."""
    text = f"Compaction {run.name} ended with {run.reason}"
    is_bad = run.reason in _FAILURES
    return "Warning" if is_bad else "Normal", run.reason, f"{text}: {run.message}" if run.message else text


_FAILURES = frozenset(
    reason.value
    for reason in Reason
    if reason.status is ConditionStatus.FALSE and reason is not Reason.CANCELLED
)


def _is_due(status: LakeTableStatus) -> bool:
    needed = condition_of(status.conditions, COMPACTION_NEEDED)
    return needed is not None and needed.status is ConditionStatus.TRUE
