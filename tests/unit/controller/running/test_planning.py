"""Attempts that only plan: the operator's workers do it, without a driver, a slot or the table's lock."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lithify.contract.outcome import Outcome
from lithify.controller.driver import DriverPhase
from lithify.controller.running.facts import UNKNOWN, Action, Lock, Problem, RunFacts
from lithify.controller.running.machine import step
from lithify.controller.running.reconcile_input import is_planned_here
from lithify.errors import Failure
from lithify.resources.compaction import Compaction, DriverStatus, Reason
from lithify.resources.policy import Approval
from lithify.resources.table import BucketBlock
from support.cases import case
from support.running.runs import (
    DEADLINES,
    NOON,
    PLAN,
    Way,
    driver_of,
    ended,
    outcome_of,
    run_of,
    taken,
    under_way,
)

PLANNED = outcome_of(Reason.PLANNED, plan=PLAN, base_snapshot_id="7")
BLOCK = BucketBlock(bucket="bucket-0", reason="CorruptFiles", message="a key is NaN", fingerprint="0f")


def planning(**spec: object) -> Way:
    """A dry run whose plan is under way; the table's lock is somebody else's, and all slots are taken."""
    taken_by_others = {"lock": Lock.OTHERS, "lock_holder": "sales/orders-6", "admitted": False}
    return Way(**(spec or {"dry_run": True})).ask(**taken_by_others)


class TestADryRun:
    def test_is_planned_whoever_has_the_slots_and_the_lock(self) -> None:
        way = planning()
        assert (way.reason, way.last.actions) == (Reason.PLANNING, (Action.PLAN,))
        assert (way.run.status.attempts, way.run.status.start_time) == (1, NOON)
        assert is_planned_here(way.run)

        way.ask(after=3).ask(after=2, plan=PLANNED)

        assert (way.reason, way.last.actions, way.last.wake) == (Reason.PLANNED, (), None)
        status = way.run.status
        assert (status.plan, status.base_snapshot_id, status.duration) == (PLAN, "7", "5s")
        assert [one.reason for one in status.attempt_history] == ["Planned"]
        assert status.driver is None

    def test_asks_again_until_there_is_an_answer(self) -> None:
        way = planning()
        for _ in range(3):
            way.ask(after=20)
            assert (way.reason, way.last.actions) == (Reason.PLANNING, (Action.PLAN,))
        assert way.run.status.attempts == 1

    def test_an_answer_of_an_earlier_attempt_is_none(self) -> None:
        assert planning().ask(plan=replace(PLANNED, attempt=0)).reason is Reason.PLANNING

    def test_a_dry_run_without_work_ends_with_nothing_to_do(self) -> None:
        way = planning().ask(plan=outcome_of(Reason.NOTHING_TO_DO))
        assert way.reason is Reason.NOTHING_TO_DO

    def test_blocked_buckets_are_recorded(self) -> None:
        refused = outcome_of(Reason.CORRUPT_TABLE, Failure.USER, blocked=(BLOCK,), blocked_count=3)
        way = planning().ask(plan=refused)
        assert way.reason is Reason.CORRUPT_TABLE
        assert (way.run.status.blocked_buckets, way.run.status.blocked_bucket_count) == ((BLOCK,), 3)

    @pytest.mark.parametrize(
        "reason",
        [
            Reason.INVALID_SPEC,
            Reason.TABLE_NOT_FOUND,
            Reason.UNSUPPORTED,
            Reason.ACCESS_DENIED,
            Reason.CORRUPT_TABLE,
            Reason.OUT_OF_MEMORY,
        ],
    )
    def test_what_only_a_person_can_mend_ends_it_at_once(self, reason: Reason) -> None:
        way = planning().ask(plan=outcome_of(reason, Failure.USER, message="because"))
        assert way.reason is reason
        assert not way.last.actions

    def test_what_may_pass_is_tried_again_with_a_back_off(self) -> None:
        refused = outcome_of(Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE, message="no answer")
        way = planning()
        for attempt in (1, 2):
            way.ask(plan=replace(refused, attempt=attempt))
            assert (way.reason, way.run.status.failures.infrastructure) == (Reason.BACKING_OFF, attempt)
            assert Action.PLAN not in way.ask(plan=None).last.actions
            way.ask(after=601)
            assert (way.reason, way.run.status.attempts) == (Reason.PLANNING, attempt + 1)
        assert way.ask(plan=replace(refused, attempt=3)).reason is Reason.STORAGE_UNAVAILABLE

    def test_waits_for_its_turn_no_longer_than_a_queued_run(self) -> None:
        way = planning().ask(after=DEADLINES.queued_seconds - 1)
        assert way.reason is Reason.PLANNING
        assert way.ask(after=1).reason is Reason.DEADLINE_EXCEEDED

    @pytest.mark.parametrize(
        ("change", "facts", "reason"),
        [
            case({"cancel": True}, {}, Reason.CANCELLED, id="cancelled"),
            case({"suspend": True}, {}, Reason.SUSPENDED, id="suspended"),
            case({}, {"table_uuid": "table-2"}, Reason.TABLE_NOT_FOUND, id="created anew"),
            case(
                {},
                {"problem": Problem(Reason.INVALID_SPEC, "no Catalog", True)},
                Reason.PENDING,
                id="passing",
            ),
            case(
                {}, {"problem": Problem(Reason.INVALID_SPEC, "bad", False)}, Reason.INVALID_SPEC, id="staying"
            ),
        ],
    )
    def test_a_dry_run_that_is_stopped_takes_no_plan(
        self, change: dict[str, bool], facts: dict[str, object], reason: Reason
    ) -> None:
        way = planning().edit(**change).ask(plan=PLANNED, **facts)
        assert (way.reason, way.last.actions) == (reason, ())

    def test_a_dry_run_ends_at_its_deadline(self) -> None:
        way = planning(dry_run=True, active_deadline_seconds=60).ask(after=61)
        assert way.reason is Reason.DEADLINE_EXCEEDED


class TestAManualApproval:
    def test_its_plan_waits_and_its_run_has_a_driver(self) -> None:
        way = planning(approval=Approval.MANUAL).ask(plan=PLANNED)
        assert (way.reason, way.run.status.plan, way.last.actions) == (Reason.AWAITING_APPROVAL, PLAN, ())
        way.edit(approved=True).ask(plan=None)
        assert way.reason is Reason.QUEUED
        way.ask(admitted=True, lock=Lock.FREE).ask(lock=Lock.OURS)
        assert (way.reason, way.last.actions) == (Reason.SUBMITTING, (Action.START_DRIVER,))
        assert way.run.status.attempts == 2

    def test_approved_before_there_is_a_plan(self) -> None:
        way = planning(approval=Approval.MANUAL).edit(approved=True).ask()
        assert (way.reason, way.last.actions) == (Reason.QUEUED, ())


class TestWhatAnOlderReleaseBegan:
    def test_its_driver_is_heard(self) -> None:
        way = under_way(dry_run=True)
        assert way.run.status.driver is not None
        assert way.ask(driver=ended(PLANNED)).reason is Reason.PLANNED

    def test_its_driver_that_fails_is_followed_by_a_plan_of_the_operator(self) -> None:
        way = under_way(dry_run=True).ask(driver=ended(exit_code=1)).ask(driver=None).ask(after=601)
        assert (way.reason, way.last.actions) == (Reason.PLANNING, (Action.DROP_LOCK, Action.PLAN))

    def test_an_attempt_without_a_driver_yet_is_planned(self) -> None:
        way = Way(dry_run=True)
        begun = replace(way.run.status, attempts=1, conditions=Way().ask().run.status.conditions)
        way.run = replace(way.run, status=begun)
        assert way.reason is Reason.SUBMITTING
        way.ask(lock=Lock.OURS)
        assert (way.reason, way.last.actions) == (Reason.PLANNING, (Action.DROP_LOCK, Action.PLAN))
        assert way.run.status.attempts == 1

    def test_a_driver_in_status_that_nobody_has_seen_is_none(self) -> None:
        way = Way(dry_run=True)
        submitting = Way().ask().run.status.conditions
        named = replace(
            way.run.status, attempts=1, conditions=submitting, driver=DriverStatus(name="orders-7-driver")
        )
        way.run = replace(way.run, status=named)
        way.ask(driver=None, lock=Lock.OURS)
        assert (way.reason, way.last.actions) == (Reason.PLANNING, (Action.DROP_LOCK, Action.PLAN))

    def test_a_driver_of_the_name_is_cleared_away(self) -> None:
        way = planning().ask(driver=driver_of(DriverPhase.ENDED, owner_uid="another"))
        assert way.last.actions == (Action.REMOVE_DRIVER, Action.PLAN)


def test_never_starts_a_driver_whatever_is_known() -> None:
    run: Compaction = run_of(dry_run=True)
    answers: tuple[Outcome | None, ...] = (None, PLANNED)
    for plan in answers:
        for lock in Lock:
            for admitted in (True, False):
                facts = RunFacts(lock=lock, admitted=admitted, plan=plan, found=UNKNOWN)
                now, asked = NOON, run
                for _ in range(4):
                    answer = step(asked, facts, now)
                    assert not {Action.START_DRIVER, Action.TAKE_LOCK} & set(answer.actions)
                    asked, now = taken(asked, answer), now + timedelta(seconds=1)
