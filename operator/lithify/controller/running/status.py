"""Makes a run's status: the conditions, and the fields that belong to one stage only.

Used by the modules of this package only. Pure. Unchanged parts stay equal, so that an unchanged situation
writes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lithify.controller.running.reconcile_input import ReconcileInput
from lithify.resources.compaction import SUCCEEDED, AttemptSummary, CompactionStatus, Reason
from lithify.resources.modelling import MESSAGE_LENGTH
from lithify.resources.objects import (
    RECONCILING,
    STALLED,
    Condition,
    ConditionStatus,
    condition_of,
    shortened,
    with_condition,
    without_condition,
)

_ATTEMPTS_KEPT = 5
_WITH_PROGRESS = frozenset({Reason.WAITING_FOR_EXECUTORS, Reason.RUNNING, Reason.COMMITTING})


def stand(inputs: ReconcileInput, reason: Reason, message: str, **changes: Any) -> CompactionStatus:
    """The status of a run in the stage of `reason`.

    Fields of the stage that it leaves are cleared, unless `changes` sets them.
    """
    status = inputs.status
    stays = status.stage_time is not None and inputs.reason is reason
    fields: dict[str, Any] = {
        "observed_generation": inputs.run.metadata.generation,
        "conditions": _conditions(inputs, reason, message),
        "stage_time": status.stage_time if stays else inputs.now,
        "waited_seconds": status.waited_seconds if stays else inputs.seconds_waited,
        "search": None,
        "next_attempt_time": status.next_attempt_time if reason is Reason.BACKING_OFF else None,
        "driver": None if reason.is_waiting else status.driver,
        "shared_run": None if reason.is_waiting else status.shared_run,
        "progress": status.progress if reason in _WITH_PROGRESS else None,
        "identifier": inputs.facts.identifier or status.identifier,
    }
    return replace(status, **{**fields, **changes})


def with_attempt(inputs: ReconcileInput, reason: Reason, message: str) -> tuple[AttemptSummary, ...]:
    """The history of attempts with the one that ends now."""
    driver = inputs.status.driver
    ended = AttemptSummary(
        attempt=max(1, inputs.status.attempts),
        reason=reason.value,
        message=shortened(message),
        start_time=driver.start_time if driver else None,
        completion_time=inputs.driver_end or inputs.now,
    )
    return (*inputs.status.attempt_history, ended)[-_ATTEMPTS_KEPT:]


def message_of(inputs: ReconcileInput) -> str:
    """The current message of status."""
    condition = condition_of(inputs.status.conditions, SUCCEEDED)
    return "" if condition is None else condition.message


def _conditions(inputs: ReconcileInput, reason: Reason, message: str) -> tuple[Condition, ...]:
    def said(kind: str, status: ConditionStatus) -> Condition:
        return Condition(
            type=kind,
            status=status,
            reason=reason.value,
            message=message[: MESSAGE_LENGTH + 1],
            last_transition_time=inputs.now,
            observed_generation=inputs.run.metadata.generation,
        )

    found = with_condition(inputs.status.conditions, said(SUCCEEDED, reason.status))
    if not reason.is_final:
        found = without_condition(found, STALLED)
        return with_condition(found, said(RECONCILING, ConditionStatus.TRUE))
    found = without_condition(found, RECONCILING)
    if reason.status is ConditionStatus.FALSE:
        return with_condition(found, said(STALLED, ConditionStatus.TRUE))
    return without_condition(found, STALLED)
