"""The Events of a LakeTable: not ready, due, started, ended. Pure.

Called by `reconciling.tables` with the status before and after a write, so that each is sent once, whatever
the number of observations and of operators. Outages of a whole catalog are reported by conditions only:
thousands of tables may share one, and outages come and go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from lithify.controller.deciding.conditions import COMPACTION_NEEDED
from lithify.controller.deciding.problems import TableReason
from lithify.controller.deciding.sentences import end_text
from lithify.resources.compaction import Reason
from lithify.resources.objects import READY, ConditionStatus, condition_of
from lithify.resources.table import LakeTableStatus, RunSummary

Told = tuple[Literal["Normal", "Warning"], str, str]
"""Severity, reason and message of an Event."""


def table_events(old: LakeTableStatus, new: LakeTableStatus) -> list[Told]:
    """The Events between two statuses, in order."""
    found: list[Told] = []
    last = new.last_compaction
    if last is not None and _end_of(old.last_compaction) != _end_of(last):
        found.append(_ended(last))
    found.extend(_not_ready(old, new, is_told=bool(found)))
    needed = condition_of(new.conditions, COMPACTION_NEEDED)
    due = needed.message if needed is not None and needed.status is ConditionStatus.TRUE else ""
    if new.active_compaction is not None and new.active_compaction != old.active_compaction:
        because = f": {due}" if due else ""
        found.append(("Normal", "CompactionStarted", f"Compaction {new.active_compaction}{because}"))
    elif due and not _is_due(old):
        found.append(("Normal", "CompactionDue", due))
    return found


def _not_ready(old: LakeTableStatus, new: LakeTableStatus, *, is_told: bool) -> Iterator[Told]:
    """That a table has ceased to be ready, or is not for another reason, unless the end of a run tells it."""
    was, now = condition_of(old.conditions, READY), condition_of(new.conditions, READY)
    if now is None or now.status is not ConditionStatus.FALSE or now.reason not in _TOLD_REASONS:
        return
    is_known = was is not None and (was.status, was.reason) == (now.status, now.reason)
    if not is_known and not (is_told and now.reason == TableReason.COMPACTIONS_FAILING):
        yield "Warning", now.reason, now.message


_TOLD_REASONS = frozenset(
    reason for reason in TableReason if reason.needs_person or reason is TableReason.COMPACTIONS_FAILING
)


def _end_of(run: RunSummary | None) -> tuple[str, str] | None:
    """Which run ended, and how: one may be rolled back later."""
    return None if run is None else (run.name, run.reason)


def _ended(run: RunSummary) -> Told:
    return "Warning" if run.reason in _FAILURES else "Normal", run.reason, end_text(run)


_FAILURES = frozenset(
    reason.value
    for reason in Reason
    if reason.status is ConditionStatus.FALSE and reason is not Reason.CANCELLED
)


def _is_due(status: LakeTableStatus) -> bool:
    needed = condition_of(status.conditions, COMPACTION_NEEDED)
    return needed is not None and needed.status is ConditionStatus.TRUE
