"""While a run has no driver: what it waits for, how long, and what clocks may do meanwhile."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.controller.running.facts import Action, Lock, Problem, RunFacts, Unknown
from lithify.controller.running.machine import step
from lithify.errors import Failure
from lithify.resources.compaction import Reason
from lithify.resources.objects import condition_of
from support.cases import case
from support.properties import examples
from support.running.runs import (
    DEADLINES,
    NOON,
    Way,
    driver_of,
    ended,
    outcome_of,
    run_of,
    under_way,
)

MISSING = Problem(Reason.INVALID_SPEC, "there is no Catalog warm", may_pass=True)


def message(way: Way) -> str:
    succeeded = condition_of(way.run.status.conditions, "Succeeded")
    assert succeeded is not None
    return succeeded.message


@pytest.mark.parametrize(
    ("facts", "actions"),
    [
        case({"admitted": False, "hold": "4 of 4"}, (Action.DROP_LOCK,), id="no room"),
        case({"lock": Lock.FREE}, (Action.TAKE_LOCK,), id="the lock is free"),
        case({"lock": Lock.OTHERS, "lock_holder": "sales/b"}, (), id="others have the lock"),
        case({"lock": Lock.UNKNOWN}, (), id="nobody knows about the lock"),
        case({"driver": driver_of(owner_uid="other")}, (Action.STOP_DRIVER,), id="a former run's driver"),
    ],
)
def test_a_queued_run_says_what_it_waits_for(facts: dict[str, object], actions: tuple[Action, ...]) -> None:
    way = Way().ask(**facts)
    assert (way.reason, way.last.actions) == (Reason.QUEUED, actions)
    assert facts.get("hold", facts.get("lock_holder", "")) in message(way)
    assert way.ask(after=DEADLINES.queued_seconds).reason is Reason.DEADLINE_EXCEEDED


def test_a_lock_that_others_have_is_looked_at_again_soon() -> None:
    way = Way().ask(lock=Lock.OTHERS)
    assert way.last.wake is not None
    assert way.last.wake <= way.now + timedelta(seconds=5)


def test_what_may_come_is_waited_for() -> None:
    way = Way().ask(problem=MISSING)
    assert (way.reason, message(way)) == (Reason.PENDING, MISSING.message)
    assert way.ask(after=DEADLINES.queued_seconds - 1).reason is Reason.PENDING
    assert way.ask(problem=None).reason is Reason.SUBMITTING


def test_another_table_of_the_name_is_not_touched() -> None:
    way = under_way().ask(driver=ended(outcome_of(Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE)))
    way.ask(driver=None, table_uuid="table-2").ask(after=601).ask().ask(found=None)
    assert way.reason is Reason.TABLE_NOT_FOUND
    assert "re-created" in message(way)


class TestBackOff:
    def backing_off(self) -> Way:
        lost = ended(outcome_of(Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE, message="no answer"))
        return under_way().ask(driver=lost)

    def test_waits_then_goes_on(self) -> None:
        way = self.backing_off()
        following = way.run.status.next_attempt_time
        assert following is not None
        assert 5 <= (following - way.now).total_seconds() <= 10
        way.ask(driver=None, lock=Lock.FREE)
        assert (way.last.actions, way.last.wake) == ((), following)
        assert "no answer" in message(way)
        way.ask(after=(following - way.now).total_seconds())
        assert (way.reason, way.run.status.next_attempt_time) == (Reason.QUEUED, None)

    def test_a_run_that_is_suspended_while_backing_off_says_so(self) -> None:
        assert self.backing_off().edit(suspend=True).ask().reason is Reason.SUSPENDED

    def test_cancelled_meanwhile_it_is_searched_for_first(self) -> None:
        way = self.backing_off().ask(driver=None).edit(cancel=True).ask().ask()
        assert way.last.actions == (Action.FIND_RUN,)
        assert way.ask(found=None).reason is Reason.CANCELLED


class TestActiveDeadline:
    def test_counts_waits_in_the_queue(self) -> None:
        way = Way(active_deadline_seconds=100).ask(admitted=False).ask(after=99)
        assert way.last.wake == way.now + timedelta(seconds=1)
        assert way.ask(after=1).reason is Reason.DEADLINE_EXCEEDED

    def test_does_not_count_suspension(self) -> None:
        way = Way(active_deadline_seconds=100, suspend=True).ask(admitted=False)
        way.ask(after=5000).edit(suspend=False).ask()
        assert (way.reason, way.run.status.waited_seconds) == (Reason.QUEUED, 5000)
        assert way.ask(after=99).reason is Reason.QUEUED
        assert way.ask(after=1).reason is Reason.DEADLINE_EXCEEDED

    def test_the_active_deadline_stops_a_driver(self) -> None:
        way = under_way(active_deadline_seconds=100).ask(after=100)
        assert way.last.actions == (Action.STOP_DRIVER,)
        way.ask(driver=ended(exit_code=143)).ask().ask(found=None)
        assert way.reason is Reason.DEADLINE_EXCEEDED


class TestClocks:
    def test_set_back_a_stage_starts_over(self) -> None:
        way = under_way().ask(after=-86400)
        assert way.run.status.stage_time == way.now
        rested = way.run.status
        assert way.ask(after=30).run.status == rested
        assert Action.STOP_DRIVER in way.ask(after=DEADLINES.planning_seconds).last.actions

    def test_a_little_behind_nothing_is_written(self) -> None:
        way = under_way()
        rested = way.run.status
        assert way.ask(after=-30).run.status == rested

    def test_set_back_while_backing_off(self) -> None:
        lost = ended(outcome_of(Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE))
        way = under_way().ask(driver=lost).ask(after=-86400, driver=None)
        assert way.last.wake is not None
        assert way.last.wake <= way.now + timedelta(seconds=600)

    def test_far_ahead_a_result_still_counts(self) -> None:
        way = under_way().ask(after=86400 * 365, driver=ended(outcome_of(Reason.COMPACTED)))
        assert way.reason is Reason.COMPACTED

    def test_set_back_at_the_end(self) -> None:
        way = under_way().ask(after=-86400, driver=ended(outcome_of(Reason.COMPACTED)))
        assert way.run.status.duration == "0s"

    def test_any_time_zone_is_understood(self) -> None:
        there = NOON.astimezone(timezone(timedelta(hours=9))) + timedelta(microseconds=7)
        assert step(run_of(), RunFacts(admitted=True), there).status.stage_time == NOON


@settings(derandomize=True, deadline=None, max_examples=examples(80))
@given(
    before=st.lists(
        st.tuples(
            st.sampled_from([None, Unknown.UNKNOWN, driver_of(), ended(exit_code=1), ended()]),
            st.sampled_from(Lock),
            st.sampled_from([None, MISSING]),
            st.integers(-5000, 5000),
        ),
        max_size=6,
    )
)
def test_whatever_came_before_an_unchanged_situation_comes_to_rest(
    before: list[tuple[object, Lock, Problem | None, int]],
) -> None:
    way = Way()
    for driver, lock, problem, seconds in before:
        way.ask(after=seconds, driver=driver, lock=lock, problem=problem)
    statuses = [way.ask().run.status for _ in range(8)]
    assert statuses[-1] == statuses[-2]
    waking = way.last.wake
    assert waking is None or waking > way.now
