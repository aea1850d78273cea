"""Compactions that have ended, in the order in which their ends were recorded.

Called by `history` and `maintenance_history`, which count each of them once. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lithify.resources.compaction import SUCCEEDED, Compaction, Reason
from lithify.resources.objects import condition_of

NO_FAILURES = frozenset({Reason.CANCELLED, Reason.TABLE_NOT_FOUND, Reason.ROLLED_BACK})
"""Ends that a user wanted, or that an observation reports: they cause no back-off."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended.

    Attributes:
        run: the run.
        completed: when it ended.
        recorded: when its end was written to status, later if no operator ran; when it ended, if it was
            rolled back later, so that it is not counted again.
    """

    run: Compaction
    completed: datetime
    recorded: datetime

    @property
    def mark(self) -> tuple[datetime, str]:
        """Its place in the order."""
        return self.recorded, self.run.metadata.name

    def is_after(self, counted: datetime | None, name: str | None) -> bool:
        """Whether it comes after the last run that was counted, recorded then; None before the first."""
        return counted is None or self.mark > (counted, name or "")


def ended_runs(runs: Iterable[Compaction]) -> list[EndedRun]:
    """Those of some runs that have ended, by when that was recorded, not by when they ended."""
    found = []
    for run in runs:
        completed = run.status.completion_time
        if run.is_over and completed is not None:
            succeeded = condition_of(run.status.conditions, SUCCEEDED)
            is_first = succeeded is not None and run.reason is not Reason.ROLLED_BACK
            recorded = succeeded.last_transition_time if succeeded and is_first else completed
            found.append(EndedRun(run, completed, recorded))
    return sorted(found, key=lambda ended: ended.mark)
