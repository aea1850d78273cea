"""Sets the conditions of an object one by one; used by all modules that make a status."""

from __future__ import annotations

from datetime import datetime

from lithify.controller.deciding.problems import TableProblem
from lithify.resources.objects import (
    READY,
    RECONCILING,
    STALLED,
    Condition,
    ConditionStatus,
    condition_of,
    shortened,
    with_condition,
)


class ConditionBuilder:
    """Collects conditions for a new status.

    Args:
        conditions: the old ones; those that are not set stay.
        generation: the generation of the spec that the new ones refer to.
        now: the current time; stored to the second, as Kubernetes does.
    """

    def __init__(self, conditions: tuple[Condition, ...], generation: int, now: datetime) -> None:
        self.conditions = conditions
        self._generation = generation
        self._now = now.replace(microsecond=0)

    def true(self, kind: str, reason: str, message: str = "") -> None:
        """Sets a condition to True."""
        self._set(kind, ConditionStatus.TRUE, reason, message)

    def false(self, kind: str, reason: str, message: str = "") -> None:
        """Sets a condition to False."""
        self._set(kind, ConditionStatus.FALSE, reason, message)

    def unknown(self, kind: str, reason: str, message: str = "") -> None:
        """Sets a condition to Unknown."""
        self._set(kind, ConditionStatus.UNKNOWN, reason, message)

    def not_ready(self, problem: TableProblem) -> None:
        """Sets Ready to False, and Stalled to whether only a person can help."""
        self.false(READY, problem.reason, problem.message)
        self.false(RECONCILING, problem.reason)
        if problem.is_stalled:
            self.true(STALLED, problem.reason, problem.message)
        else:
            self.false(STALLED, problem.reason, "it is tried again")

    def _set(self, kind: str, status: ConditionStatus, reason: str, message: str) -> None:
        text = shortened(message)
        old = condition_of(self.conditions, kind)
        said = (status, str(reason), text, self._generation)
        if old is not None and (old.status, old.reason, old.message, old.observed_generation) == said:
            return
        new = Condition(
            type=kind,
            status=status,
            reason=str(reason),
            message=text,
            last_transition_time=self._now,
            observed_generation=self._generation,
        )
        self.conditions = with_condition(self.conditions, new)
