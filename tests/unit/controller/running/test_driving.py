"""While a run has a driver: when it is started, followed, stopped, missed and let go."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lithify.contract.outcome import Stage
from lithify.controller.driver import DriverPhase, DriverState, Trouble
from lithify.controller.running.events import events_between
from lithify.controller.running.facts import UNKNOWN, Action, Lock, Problem
from lithify.controller.running.reconcile_input import is_plan_only
from lithify.errors import Failure
from lithify.resources.compaction import SUCCEEDED, Reason
from lithify.resources.objects import condition_of
from lithify.resources.policy import Approval
from support.cases import case
from support.running.runs import (
    DEADLINES,
    FOUND,
    NOON,
    PLAN,
    RESULT,
    Way,
    driver_of,
    ended,
    facts_of,
    outcome_of,
    progress_of,
    run_of,
    under_way,
    without_executors,
)

COMPACTED = outcome_of(Reason.COMPACTED, result=RESULT, committed_snapshot_id="8")
COMMITTING = driver_of(progress=progress_of(Stage.COMMITTING))
FOREIGN = driver_of(owner_uid="another-run")
GATED = driver_of(DriverPhase.STARTING, trouble=Trouble.GATED, started=None)


def test_an_attempt_is_written_down_before_its_driver_is_started() -> None:
    way = Way().ask()
    status = way.run.status
    assert (way.reason, status.attempts, status.start_time) == (Reason.SUBMITTING, 1, NOON)
    assert (status.table_uuid, status.identifier, status.driver) == ("table-1", "sales.orders", None)
    assert way.last.actions == (Action.START_DRIVER,)
    assert way.ask(after=5).last.actions == (Action.START_DRIVER,)
    assert way.run.status == status


@pytest.mark.parametrize(
    ("facts", "actions"),
    [
        case({"lock": Lock.FREE}, (Action.TAKE_LOCK,), id="the lock is free"),
        case({"lock": Lock.UNKNOWN}, (), id="nobody knows who has the lock"),
        case({"lock": Lock.OTHERS}, (), id="others have the lock"),
        case({"driver": UNKNOWN}, (), id="nobody knows whether there is a driver"),
        case({"driver": FOREIGN}, (Action.STOP_DRIVER,), id="a former run has a driver"),
        case({"driver": replace(FOREIGN, terminating=True)}, (), id="a former run's driver is ending"),
        case(
            {"driver": replace(FOREIGN, phase=DriverPhase.ENDED)},
            (Action.REMOVE_DRIVER,),
            id="a former run's driver has ended",
        ),
        case({"problem": Problem(Reason.INVALID_SPEC, "quota", may_pass=True)}, (), id="it was refused"),
    ],
)
@pytest.mark.parametrize("begun", [False, True], ids=["queued", "submitting"])
def test_no_driver_is_started_while(
    begun: bool, facts: dict[str, object], actions: tuple[Action, ...]
) -> None:
    way = Way().ask() if begun else Way().ask(admitted=False).ask(admitted=True, lock=Lock.FREE)
    way.facts = facts_of()
    found = way.ask(**facts).last.actions
    assert Action.START_DRIVER not in found
    assert set(actions) <= set(found)


def test_progress_is_told() -> None:
    way = under_way()
    assert way.reason is Reason.PLANNING
    way.ask(driver=driver_of(progress=progress_of(Stage.RUNNING, 37, 120, PLAN)), after=5)
    status = way.run.status
    assert (way.reason, status.progress, status.plan) == (Reason.RUNNING, "37/120 tasks", PLAN)
    assert status.stage_time == way.now
    way.ask(driver=driver_of(), after=5)
    assert way.run.status == status, "progress that cannot be read for once changes nothing"
    way.ask(driver=COMMITTING)
    assert (way.reason, way.run.status.progress) == (Reason.COMMITTING, "37/120 tasks")


NO_CPU = "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."


def test_executors_that_find_no_room_are_told() -> None:
    way = under_way().ask(driver=without_executors(wanted=None))
    assert (way.reason, way.run.status.progress) == (Reason.WAITING_FOR_EXECUTORS, "0/1 executors")
    assert way.last.wake is not None
    assert way.last.wake <= way.now + timedelta(seconds=10)
    way.ask(driver=without_executors(NO_CPU, wanted=4), after=5)
    assert way.run.status.progress == "0/4 executors"
    assert "Insufficient cpu" in message_of(way)
    known = way.run.status
    assert way.ask(driver=driver_of(), after=5).run.status == known, "progress that cannot be read for once"


def test_executors_that_are_lost_later_are_a_matter_of_running() -> None:
    way = under_way().ask(driver=driver_of(progress=progress_of(Stage.RUNNING, 3, 9)))
    since = way.run.status.stage_time
    way.ask(driver=without_executors(NO_CPU), after=5)
    assert (way.reason, way.run.status.stage_time) == (Reason.RUNNING, since)
    assert "Insufficient cpu" in message_of(way)


def test_a_run_that_never_gets_an_executor_says_why() -> None:
    way = under_way().ask(driver=without_executors(NO_CPU))
    gave_up = outcome_of(Reason.SCHEDULING_TIMED_OUT, Failure.SCHEDULING, message="No executor came.")
    way.ask(driver=ended(gave_up))
    assert way.reason is Reason.BACKING_OFF
    assert message_of(way).count("Insufficient cpu") == 1

    way.ask(driver=None).ask(after=601).ask()
    second = replace(without_executors(NO_CPU), attempt=2, uid="pod-2")
    last = ended(replace(gave_up, attempt=2), attempt=2, uid="pod-2")
    way.ask(driver=second).ask(driver=last)
    for _ in range(3):  # its table is searched for what it may have committed
        before = way.run.status
        assert way.ask(after=1).reason is Reason.SEARCHING_COMMIT
        assert message_of(way).count("No executor came.") == 1
        assert events_between(before, way.run.status) == []
    way.ask(found=None)
    assert way.reason is Reason.SCHEDULING_TIMED_OUT
    assert message_of(way).count("Insufficient cpu") == 1


def message_of(way: Way) -> str:
    found = condition_of(way.run.status.conditions, SUCCEEDED)
    assert found is not None
    return found.message


@pytest.mark.parametrize(
    ("driver", "limit", "reason"),
    [
        case(
            driver_of(DriverPhase.STARTING),
            DEADLINES.scheduling_seconds,
            Reason.SCHEDULING_TIMED_OUT,
            id="starting",
        ),
        case(
            driver_of(DriverPhase.STARTING, trouble=Trouble.UNSCHEDULABLE),
            DEADLINES.scheduling_seconds,
            Reason.SCHEDULING_TIMED_OUT,
            id="no room",
        ),
        case(GATED, DEADLINES.queued_seconds, Reason.SCHEDULING_TIMED_OUT, id="in a queue of the cluster's"),
        case(driver_of(DriverPhase.STARTING, trouble=Trouble.IMAGE), 60, Reason.IMAGE_ERROR, id="no image"),
        case(
            driver_of(DriverPhase.STARTING, trouble=Trouble.CONFIGURATION),
            60,
            Reason.INVALID_SPEC,
            id="no Secret",
        ),
        case(driver_of(), DEADLINES.planning_seconds, Reason.DEADLINE_EXCEEDED, id="planning"),
        case(
            driver_of(progress=progress_of(Stage.RUNNING)),
            DEADLINES.running_seconds,
            Reason.DEADLINE_EXCEEDED,
            id="running",
        ),
        case(COMMITTING, DEADLINES.committing_seconds, Reason.DEADLINE_EXCEEDED, id="committing"),
        case(
            without_executors(),
            DEADLINES.scheduling_seconds + 60,
            Reason.SCHEDULING_TIMED_OUT,
            id="no executor, and the driver does not give up",
        ),
    ],
)
def test_each_stage_has_its_deadline(driver: DriverState, limit: int, reason: Reason) -> None:
    way = Way().ask().ask(driver=driver)
    assert way.ask(after=limit - 1).last.actions == ()
    assert way.last.wake == way.now + timedelta(seconds=1)
    way.ask(after=1)
    assert way.last.actions == (Action.STOP_DRIVER,)
    assert way.run.status.driver is not None
    assert way.run.status.driver.stopping is not None
    assert way.run.status.driver.stopping.reason == reason.value
    assert way.ask(driver=replace(driver, terminating=True)).last.actions == ()
    way.ask(driver=ended(exit_code=143, terminating=True)).ask().ask(found=None)
    assert way.run.status.attempt_history[-1].reason == reason.value


def test_time_to_start_begins_when_a_queue_lets_the_driver_go() -> None:
    way = Way().ask().ask(driver=GATED).ask(after=DEADLINES.scheduling_seconds + 10)
    assert way.last.actions == ()
    assert way.run.status.driver is not None
    assert way.run.status.driver.gated
    let_go = way.now + timedelta(seconds=5)
    way.ask(driver=driver_of(DriverPhase.STARTING, started=None), after=5)
    assert (way.run.status.stage_time, way.run.status.driver.gated) == (let_go, None)
    assert way.ask(after=DEADLINES.scheduling_seconds - 1).last.actions == ()
    assert way.ask(after=1).last.actions == (Action.STOP_DRIVER,)


def test_a_result_that_comes_after_the_deadline_counts() -> None:
    way = under_way().ask(after=DEADLINES.planning_seconds)
    assert Action.STOP_DRIVER in way.last.actions
    assert way.ask(driver=ended(COMPACTED, terminating=True)).reason is Reason.COMPACTED


def test_no_driver_within_the_deadline_counts_as_no_room() -> None:
    way = Way().ask().ask(after=DEADLINES.scheduling_seconds)
    assert (way.reason, way.run.status.failures.scheduling) == (Reason.BACKING_OFF, 1)


def test_what_delays_the_driver_is_said_while_it_is_tried_and_in_the_end() -> None:
    way = Way().ask().ask(delay="exceeded quota")
    assert "exceeded quota" in way.run.status.conditions[0].message
    assert way.last.actions == (Action.START_DRIVER,)
    way.ask(after=DEADLINES.scheduling_seconds)
    assert way.run.status.attempt_history[-1].reason == Reason.SCHEDULING_TIMED_OUT.value
    assert "exceeded quota" in way.run.status.attempt_history[-1].message


def test_a_refused_driver_ends_the_run_when_nothing_was_committed() -> None:
    way = Way().ask().ask(problem=Problem(Reason.INVALID_SPEC, "bad pod template", may_pass=False))
    assert way.ask().last.actions == (Action.FIND_RUN,)
    assert way.ask(found=None).reason is Reason.INVALID_SPEC


def test_a_problem_that_does_not_pass_in_time_is_counted_with_its_reason() -> None:
    way = Way().ask().ask(problem=Problem(Reason.ACCESS_DENIED, "quota", may_pass=True))
    assert way.reason is Reason.SUBMITTING
    way.ask(after=DEADLINES.scheduling_seconds)
    assert way.run.status.attempt_history[-1].reason == Reason.ACCESS_DENIED.value


class TestSuspend:
    def test_stops_the_driver_and_counts_no_failure(self) -> None:
        way = under_way().edit(suspend=True).ask()
        assert way.last.actions == (Action.STOP_DRIVER,)
        way.ask(driver=ended(exit_code=143, terminating=True)).ask().ask(found=None)
        assert way.reason is Reason.SUSPENDED
        assert way.last.actions == (Action.REMOVE_DRIVER, Action.DROP_LOCK)
        assert way.run.status.failures == Way().run.status.failures
        assert way.ask(driver=None, lock=Lock.FREE).last.wake is None

    def test_a_result_counts_though_the_run_was_suspended(self) -> None:
        way = under_way().edit(suspend=True).ask().ask(driver=ended(COMPACTED))
        assert way.reason is Reason.COMPACTED

    def test_resumed_before_the_driver_has_ended_it_starts_again(self) -> None:
        way = under_way().edit(suspend=True).ask().edit(suspend=False)
        way.ask(driver=ended(outcome_of(Reason.DRIVER_FAILED, Failure.BUG), terminating=True))
        assert (way.reason, way.run.status.failures.bug) == (Reason.QUEUED, 0)
        way.ask(driver=None).ask()
        assert (way.reason, way.run.status.attempts) == (Reason.SUBMITTING, 2)

    def test_before_there_is_a_driver(self) -> None:
        way = Way().ask().edit(suspend=True).ask()
        assert (way.reason, way.last.actions) == (Reason.SUSPENDED, (Action.DROP_LOCK,))


class TestCancel:
    @pytest.mark.parametrize(
        ("found", "reason"),
        [case(None, Reason.CANCELLED, id="nothing"), case(FOUND, Reason.COMPACTED, id="a commit")],
    )
    def test_what_it_has_committed_decides(self, found: object, reason: Reason) -> None:
        way = under_way().edit(cancel=True).ask()
        assert way.last.actions == (Action.STOP_DRIVER,)
        way.ask(driver=ended(exit_code=143)).ask()
        assert way.last.actions == (Action.FIND_RUN,)
        assert way.ask(found=found).reason is reason

    def test_a_result_counts_though_the_run_was_cancelled(self) -> None:
        assert under_way().edit(cancel=True).ask().ask(driver=ended(COMPACTED)).reason is Reason.COMPACTED

    def test_a_commit_may_end(self) -> None:
        way = under_way().ask(driver=COMMITTING).edit(cancel=True).ask()
        assert way.last.actions == ()
        assert Action.STOP_DRIVER in way.ask(after=DEADLINES.committing_seconds).last.actions

    def test_a_suspended_run_can_be_cancelled(self) -> None:
        way = under_way().edit(suspend=True).ask().edit(cancel=True).ask()
        way.ask(driver=ended(outcome_of(Reason.CANCELLED))).ask().ask(found=None)
        assert way.reason is Reason.CANCELLED

    def test_does_not_wait_long_for_a_table_that_cannot_be_read(self) -> None:
        way = under_way().edit(cancel=True).ask().ask(driver=ended(exit_code=143))
        assert not way.ask(after=DEADLINES.lost_seconds - 1).reason.is_final
        assert way.ask(after=1).reason is Reason.CANCELLED


class TestDeleted:
    def test_stops_then_removes_and_leaves_status_alone(self) -> None:
        way = under_way()
        status = way.run.status
        assert way.ask(deleted=True).last.actions == (Action.STOP_DRIVER,)
        assert way.ask(driver=driver_of(terminating=True)).last.actions == ()
        assert way.ask(driver=ended()).last.actions == (Action.REMOVE_DRIVER, Action.DROP_LOCK)
        assert way.ask(driver=None, lock=Lock.FREE).last.actions == ()
        assert (way.last.wake, way.run.status) == (None, status)


class TestMissing:
    def test_a_driver_that_vanished_may_come_back(self) -> None:
        way = under_way().ask(driver=None, after=5)
        assert way.run.status.driver is not None
        assert way.run.status.driver.missing_since == way.now
        way.ask(driver=driver_of(), after=5)
        assert way.run.status.driver is not None
        assert way.run.status.driver.missing_since is None

    def test_one_that_stays_away_is_lost(self) -> None:
        way = under_way().ask(driver=None).ask(after=DEADLINES.lost_seconds - 1)
        assert (way.last.actions, way.reason) == ((), Reason.PLANNING)
        way.ask(after=1).ask()
        assert way.last.actions == (Action.FIND_RUN,)
        way.ask(found=None)
        assert (way.reason, way.run.status.failures.infrastructure) == (Reason.BACKING_OFF, 1)

    def test_one_out_of_reach_ends_the_run_and_keeps_the_lock(self) -> None:
        lost = driver_of(trouble=Trouble.UNREACHABLE)
        way = under_way().ask(driver=lost).ask(after=DEADLINES.lost_seconds)
        way.ask(found=None)
        assert way.reason is Reason.DRIVER_LOST
        assert way.last.actions == (Action.STOP_DRIVER,)
        assert way.ask(driver=replace(lost, terminating=True)).last.actions == ()
        assert way.ask(driver=ended()).last.actions == (Action.KEEP_DRIVER, Action.DROP_LOCK)

    def test_one_out_of_reach_that_had_committed(self) -> None:
        way = under_way().ask(driver=driver_of(trouble=Trouble.UNREACHABLE)).ask(after=DEADLINES.lost_seconds)
        assert way.ask(found=FOUND).reason is Reason.COMPACTED
        assert Action.DROP_LOCK not in way.last.actions

    def test_one_that_comes_back_and_dies_is_searched_for_anew(self) -> None:
        way = under_way().ask(driver=driver_of(trouble=Trouble.UNREACHABLE)).ask(after=DEADLINES.lost_seconds)
        assert way.last.actions == (Action.FIND_RUN,)
        way.ask(driver=ended(exit_code=1), found=None)
        assert (way.reason, way.last.actions) == (Reason.SEARCHING_COMMIT, ())

    def test_one_that_does_not_end_is_lost(self) -> None:
        way = under_way().edit(cancel=True).ask().ask(driver=driver_of(terminating=True))
        way.ask(after=DEADLINES.lost_seconds)
        assert way.last.actions == (Action.FIND_RUN,)
        assert way.ask(found=None).reason is Reason.DRIVER_LOST
        assert way.last.actions == ()


class TestStrays:
    def test_a_later_attempt_than_status_knows_of_is_taken_up(self) -> None:
        way = Way().ask(admitted=False).ask(driver=driver_of(attempt=3)).ask()
        assert (way.reason, way.run.status.attempts) == (Reason.PLANNING, 3)
        assert way.run.status.start_time is not None

    def test_a_driver_that_came_late_is_stopped_if_others_have_the_table(self) -> None:
        way = under_way().ask(driver=ended(outcome_of(Reason.STORAGE_UNAVAILABLE)))
        assert way.reason is Reason.BACKING_OFF
        way.ask(driver=driver_of(uid="pod-9"), lock=Lock.OTHERS).ask()
        assert way.last.actions == (Action.STOP_DRIVER,)
        way.ask(driver=ended(uid="pod-9", exit_code=143)).ask().ask(found=None)
        assert (way.reason, way.run.status.failures.infrastructure) == (Reason.QUEUED, 1)

    def test_an_older_attempt_is_stopped_before_the_next_is_started(self) -> None:
        way = Way().ask()
        way.run = replace(way.run, status=replace(way.run.status, attempts=2))
        assert way.ask(driver=driver_of()).last.actions == (Action.STOP_DRIVER,)
        assert way.ask(driver=ended(exit_code=1)).last.actions == (Action.REMOVE_DRIVER,)
        assert way.ask(driver=None).last.actions == (Action.START_DRIVER,)

    def test_a_lock_that_was_lost_is_taken_back(self) -> None:
        assert under_way().ask(lock=Lock.FREE).last.actions == (Action.TAKE_LOCK,)


class TestApproval:
    def test_is_planned_then_waits_then_runs(self) -> None:
        way = under_way(approval=Approval.MANUAL)
        assert is_plan_only(way.run)
        way.ask(driver=ended(outcome_of(Reason.PLANNED, plan=PLAN)))
        assert (way.reason, way.run.status.plan) == (Reason.AWAITING_APPROVAL, PLAN)
        way.ask(driver=None, lock=Lock.FREE)
        assert (way.last.actions, way.last.wake) == ((), None)
        way.edit(approved=True).ask(after=3600, lock=Lock.OURS)
        assert not is_plan_only(way.run)
        assert (way.reason, way.run.status.attempts, way.run.status.waited_seconds) == (
            Reason.SUBMITTING,
            2,
            3600,
        )

    def test_approved_while_planning(self) -> None:
        way = under_way(approval=Approval.MANUAL).edit(approved=True)
        assert way.ask(driver=ended(outcome_of(Reason.PLANNED, plan=PLAN))).reason is Reason.QUEUED

    def test_half_a_plan_is_none(self) -> None:
        way = under_way(approval=Approval.MANUAL)
        way.ask(driver=driver_of(progress=progress_of(Stage.RUNNING, plan=PLAN)))
        way.ask(driver=ended(exit_code=1))
        assert (way.reason, way.run.status.plan) == (Reason.BACKING_OFF, None)

    def test_cancelled_while_planning(self) -> None:
        way = under_way(approval=Approval.MANUAL).edit(cancel=True)
        way.ask(driver=ended(outcome_of(Reason.PLANNED, plan=PLAN)))
        assert way.reason is Reason.CANCELLED

    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            case({}, False, id="automatic"),
            case({"dry_run": True}, True, id="dry run"),
            case({"approval": Approval.MANUAL}, True, id="manual"),
            case({"approval": Approval.MANUAL, "approved": True}, False, id="approved from the start"),
        ],
    )
    def test_dry_runs_and_runs_to_be_approved_only_plan(
        self, spec: dict[str, object], expected: bool
    ) -> None:
        assert is_plan_only(run_of(**spec)) is expected


def test_what_ends_an_attempt_without_a_driver_is_waited_for() -> None:
    missing = Problem(Reason.INVALID_SPEC, "no account", may_pass=True, ends_attempt=True)
    way = Way().ask().ask(problem=missing, after=2)
    assert way.reason is Reason.PENDING
    assert Action.START_DRIVER not in way.last.actions
    assert [each.reason for each in way.run.status.attempt_history] == ["Pending"]
    way.ask(problem=missing, after=10)
    assert (way.reason, way.run.status.attempts) == (Reason.PENDING, 1)
    way.ask(problem=None, lock=Lock.FREE).ask(lock=Lock.OURS)
    assert (way.reason, way.run.status.attempts) == (Reason.SUBMITTING, 2)
