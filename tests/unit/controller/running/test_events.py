"""Events tell of transitions, and of nothing else."""

from __future__ import annotations

from lithify.contract.outcome import Stage
from lithify.controller.running.events import events_between
from lithify.errors import Failure
from lithify.resources.compaction import CompactionStatus, Reason
from support.running.runs import (
    Way,
    driver_of,
    ended,
    outcome_of,
    progress_of,
    under_way,
    without_executors,
)


def told(old: CompactionStatus, way: Way) -> list[tuple[str, str]]:
    return [
        (severity, reason) for severity, reason, message in events_between(old, way.run.status) if message
    ]


def test_a_run_that_commits_has_an_event_for_each_stage() -> None:
    way, story = Way(), []
    drivers = [
        None,
        driver_of(),
        driver_of(progress=progress_of(Stage.RUNNING, 1, 9)),
        driver_of(progress=progress_of(Stage.RUNNING, 5, 9)),
        ended(outcome_of(Reason.COMPACTED)),
        ended(outcome_of(Reason.COMPACTED), released=True),
    ]
    for driver in drivers:
        old = way.run.status
        story += told(old, way.ask(driver=driver, after=1))
    assert story == [
        ("Normal", "Submitting"),
        ("Normal", "Planning"),
        ("Normal", "Running"),
        ("Normal", "Compacted"),
    ]


def test_why_executors_are_missing_is_a_warning_once() -> None:
    way = under_way()
    story = []
    for why in ("", "Unschedulable: Insufficient cpu", "Unschedulable: Insufficient cpu"):
        old = way.run.status
        story += told(old, way.ask(driver=without_executors(why), after=1))
    assert story == [("Normal", "WaitingForExecutors"), ("Warning", "WaitingForExecutors")]


def test_failures_are_warnings() -> None:
    way = under_way()
    old = way.run.status
    way.ask(driver=ended(outcome_of(Reason.COMMIT_CONFLICT, Failure.CONFLICT)))
    assert told(old, way) == [("Warning", "BackingOff")]
    cancelled = Way(cancel=True)
    assert told(CompactionStatus(), cancelled.ask()) == [("Warning", "Cancelled")]


def test_a_driver_that_is_missed_or_told_to_end_is_told_once() -> None:
    way = under_way()
    old = way.run.status
    assert told(old, way.ask(driver=None)) == [("Warning", "DriverOutOfReach")]
    old = way.run.status
    assert told(old, way.ask(after=3)) == []
    assert told(old, way.edit(suspend=True).ask(driver=driver_of())) == [("Normal", "StoppingDriver")]
    old = way.run.status
    assert told(old, way.ask(after=3)) == []
