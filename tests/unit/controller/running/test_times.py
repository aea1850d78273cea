"""A run took from its first attempt to its driver's end, however late an operator notices that."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lithify.contract.outcome import Outcome, Stage
from lithify.controller.driver import DriverState
from lithify.errors import Failure
from lithify.resources.compaction import CompactionStatus, Reason
from lithify.resources.objects import condition_of
from support.cases import case
from support.running.runs import (
    NOON,
    PLAN,
    RESULT,
    driver_of,
    ended,
    outcome_of,
    progress_of,
    under_way,
)

COMPACTED = outcome_of(Reason.COMPACTED, result=RESULT, base_snapshot_id="7", committed_snapshot_id="8")
LOST = outcome_of(Reason.DRIVER_FAILED, Failure.INFRASTRUCTURE, message="the store was away")
DOWN = timedelta(hours=5)
"""For so long there was no operator."""


def noticed(outcome: Outcome | None, finished: datetime | None, **changes: object) -> CompactionStatus:
    """The status after a driver ended while nobody watched."""
    way = under_way().ask(driver=driver_of(progress=progress_of(Stage.RUNNING, 1, 2, PLAN)))
    driver: DriverState = ended(outcome, finished=finished, **changes)
    way.ask(after=DOWN.total_seconds(), driver=driver)
    return way.run.status


@pytest.mark.parametrize(
    ("finished", "completed", "duration"),
    [
        case(NOON + timedelta(seconds=94), NOON + timedelta(seconds=95), "95s", id="when the driver ended"),
        case(
            NOON + timedelta(seconds=93.4), NOON + timedelta(seconds=94), "94s", id="part of a second later"
        ),
        case(None, NOON + DOWN, "5h0m", id="nobody knows when"),
        case(NOON + timedelta(days=2), NOON + DOWN, "5h0m", id="in the future, by another clock"),
        case(NOON - timedelta(hours=1), NOON, "0s", id="before it began, by another clock"),
    ],
)
def test_completion_and_duration_are_the_runs_own(
    finished: datetime | None, completed: datetime, duration: str
) -> None:
    status = noticed(COMPACTED, finished)
    assert (status.start_time, status.completion_time, status.duration) == (NOON, completed, duration)
    (attempt,) = status.attempt_history
    assert attempt.completion_time == completed
    succeeded = condition_of(status.conditions, "Succeeded")
    assert succeeded is not None
    assert (succeeded.reason, succeeded.last_transition_time) == ("Compacted", NOON + DOWN)


def test_so_is_the_end_of_an_attempt_that_is_followed_by_another() -> None:
    status = noticed(LOST, NOON + timedelta(seconds=94))
    (attempt,) = status.attempt_history
    assert attempt.completion_time == NOON + timedelta(seconds=95)
    assert status.completion_time is None


def test_what_ends_without_a_driver_ends_when_it_is_told_so() -> None:
    way = under_way().ask(driver=ended(LOST, finished=NOON + timedelta(seconds=3)))
    way.edit(cancel=True).ask(after=60)
    for _ in range(4):
        way.ask(after=2, found=None)
    assert way.reason is Reason.CANCELLED
    assert way.run.status.completion_time is not None
    assert way.run.status.completion_time >= NOON + timedelta(seconds=60)


def test_times_are_of_utc() -> None:
    berlin = datetime(2026, 3, 1, 13, 1, tzinfo=UTC) - timedelta(hours=1)
    assert noticed(COMPACTED, berlin).completion_time == NOON + timedelta(minutes=1, seconds=1)
