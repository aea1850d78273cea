"""Every way in which a run ends, or goes on after an attempt that ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lithify.contract.outcome import Outcome, Stage, read_outcome
from lithify.controller.driver import DriverPhase, DriverState, Trouble
from lithify.controller.running.facts import UNKNOWN, Action, Lock, Problem
from lithify.controller.running.failures import memory_factor
from lithify.errors import Failure
from lithify.resources.compaction import MaintenanceFigure, MaintenanceSummary, Reason, ResultSummary
from lithify.resources.maintenance import RunKind
from lithify.resources.objects import ConditionStatus, condition_of
from lithify.resources.policy import Approval
from lithify.resources.table import BucketBlock
from support.cases import case
from support.running.runs import (
    DEADLINES,
    FOUND,
    PLAN,
    RESULT,
    Way,
    driver_of,
    ended,
    outcome_of,
    progress_of,
    under_way,
    without_executors,
)


def search(way: Way, found: object = None) -> Way:
    """Lets the run search its table, if it is to."""
    if way.reason.is_final:
        return way
    while Action.FIND_RUN not in way.ask().last.actions:
        assert way.reason is Reason.SEARCHING_COMMIT
    return way.ask(found=found)


def told(reason: Reason, failure: Failure | None = None, **spec: object) -> Way:
    outcome = outcome_of(reason, failure, plan=PLAN, message="because")
    return search(under_way(**spec).ask(driver=ended(outcome)))


def done(way: Way, outcome: Outcome) -> Way:
    return way.ask(driver=ended(outcome))


COMPACTED = outcome_of(Reason.COMPACTED, result=RESULT, base_snapshot_id="7", committed_snapshot_id="8")
PLANNED = outcome_of(Reason.PLANNED, plan=PLAN)
MAINTAINED = outcome_of(
    Reason.MAINTAINED,
    maintenance=MaintenanceSummary(
        figures=(MaintenanceFigure(name="snapshots", count=3), MaintenanceFigure(name="dataFiles", count=1)),
        oldest_snapshot_id="8",
    ),
)


def failed_twice(reason: Reason, failure: Failure) -> Way:
    way = under_way().ask(driver=ended(outcome_of(reason, failure, message="because")))
    assert way.reason is Reason.BACKING_OFF
    way.ask(driver=None).ask(after=601).ask()
    assert way.reason is Reason.SUBMITTING
    way.ask(driver=ended(outcome_of(reason, failure, attempt=2, message="because"), attempt=2, uid="pod-2"))
    return search(way)


def cannot_start(trouble: Trouble, seconds: float) -> Way:
    way = Way().ask()
    for attempt in (1, 2):
        stuck = driver_of(DriverPhase.STARTING, trouble=trouble, attempt=attempt, uid=f"pod-{attempt}")
        way.ask(driver=stuck, after=1).ask(after=seconds)
        assert Action.STOP_DRIVER in way.last.actions
        way.ask(driver=replace(stuck, phase=DriverPhase.ENDED, terminating=True, exit_code=143))
        search(way)
        if way.reason.is_final:
            return way
        way.ask(driver=None, found=UNKNOWN).ask(after=601).ask()
    return search(way)


def search_out_of_reach() -> Way:
    way = under_way().ask(driver=driver_of(trouble=Trouble.UNREACHABLE)).ask(after=50)
    assert Action.FIND_RUN in way.last.actions
    return way.ask(found=None)


ENDINGS: dict[Reason, Callable[[], Way]] = {
    Reason.PENDING: lambda: Way().ask(problem=Problem(Reason.INVALID_SPEC, "no LakeTable", may_pass=True)),
    Reason.QUEUED: lambda: Way().ask(admitted=False, hold="4 of 4 runs are active"),
    Reason.SUSPENDED: lambda: Way(suspend=True).ask(),
    Reason.AWAITING_APPROVAL: lambda: done(under_way(approval=Approval.MANUAL), PLANNED),
    Reason.SUBMITTING: lambda: Way().ask(),
    Reason.PLANNING: under_way,
    Reason.WAITING_FOR_EXECUTORS: lambda: under_way().ask(driver=without_executors()),
    Reason.RUNNING: lambda: under_way().ask(driver=driver_of(progress=progress_of(Stage.RUNNING, 37, 120))),
    Reason.COMMITTING: lambda: under_way().ask(driver=driver_of(progress=progress_of(Stage.COMMITTING))),
    Reason.SEARCHING_COMMIT: lambda: under_way().ask(driver=ended(exit_code=1)),
    Reason.BACKING_OFF: lambda: done(under_way(), outcome_of(Reason.COMMIT_CONFLICT, Failure.CONFLICT)),
    Reason.COMPACTED: lambda: done(under_way(), COMPACTED),
    Reason.MAINTAINED: lambda: done(under_way(kind=RunKind.EXPIRE_SNAPSHOTS), MAINTAINED),
    Reason.NOTHING_TO_DO: lambda: done(under_way(), outcome_of(Reason.NOTHING_TO_DO)),
    Reason.PLANNED: lambda: done(under_way(dry_run=True), PLANNED),
    Reason.INVALID_SPEC: lambda: Way().ask(problem=Problem(Reason.INVALID_SPEC, "bucket 9", may_pass=False)),
    Reason.TABLE_NOT_FOUND: lambda: told(Reason.TABLE_NOT_FOUND, Failure.USER),
    Reason.UNSUPPORTED: lambda: told(Reason.UNSUPPORTED, Failure.USER),
    Reason.ACCESS_DENIED: lambda: told(Reason.ACCESS_DENIED, Failure.USER),
    Reason.CORRUPT_TABLE: lambda: told(Reason.CORRUPT_TABLE, Failure.USER),
    Reason.CANARY_FAILED: lambda: told(Reason.CANARY_FAILED, Failure.USER),
    Reason.STORAGE_UNAVAILABLE: lambda: (
        Way().ask(problem=Problem(Reason.STORAGE_UNAVAILABLE, "no answer", may_pass=True)).ask(after=1000)
    ),
    Reason.IMAGE_ERROR: lambda: cannot_start(Trouble.IMAGE, 60),
    Reason.SCHEDULING_TIMED_OUT: lambda: cannot_start(Trouble.UNSCHEDULABLE, 100),
    Reason.DRIVER_FAILED: lambda: failed_twice(Reason.DRIVER_FAILED, Failure.BUG),
    Reason.OUT_OF_MEMORY: lambda: failed_twice(Reason.OUT_OF_MEMORY, Failure.OUT_OF_MEMORY),
    Reason.COMMIT_CONFLICT: lambda: failed_twice(Reason.COMMIT_CONFLICT, Failure.CONFLICT),
    Reason.DRIVER_LOST: search_out_of_reach,
    Reason.DEADLINE_EXCEEDED: lambda: Way().ask(admitted=False).ask(after=1000),
    Reason.CANCELLED: lambda: Way(cancel=True).ask(),
    Reason.ROLLED_BACK: lambda: done(under_way(), COMPACTED).ask(rolled_back=True),
}


@pytest.mark.parametrize("reason", ENDINGS, ids=lambda reason: reason.value)
def test_every_reason_can_be_reached(reason: Reason) -> None:
    way = ENDINGS[reason]()
    assert way.reason is reason
    assert way.run.status.observed_generation == way.run.metadata.generation
    succeeded = condition_of(way.run.status.conditions, "Succeeded")
    assert succeeded is not None
    assert succeeded.message
    assert (succeeded.status, succeeded.reason) == (reason.status, reason.value)


def test_no_reason_is_left_out() -> None:
    assert set(ENDINGS) == set(Reason)


@pytest.mark.parametrize("reason", ENDINGS, ids=lambda reason: reason.value)
def test_other_conditions_follow_kstatus(reason: Reason) -> None:
    kinds = {condition.type for condition in ENDINGS[reason]().run.status.conditions}
    extra = {"Unknown": {"Reconciling"}, "True": set(), "False": {"Stalled"}}[reason.status.value]
    assert kinds == {"Succeeded"} | extra


@pytest.mark.parametrize("reason", ENDINGS, ids=lambda reason: reason.value)
def test_asked_again_with_nothing_new_nothing_changes(reason: Reason) -> None:
    way = ENDINGS[reason]()
    for _ in range(3):
        way.ask()
    rested = way.run
    assert way.ask().run == rested
    assert way.ask(after=3).run == rested


@pytest.mark.parametrize(
    "reason", [reason for reason in Reason if reason.is_final], ids=lambda reason: reason.value
)
def test_an_end_is_final_and_comes_to_rest(reason: Reason) -> None:
    way = ENDINGS[reason]()
    final = way.run.status
    assert final.completion_time == way.now
    way.edit(suspend=True, cancel=True, approved=True)
    way.ask(
        after=10_000, problem=Problem(Reason.UNSUPPORTED, "later", may_pass=False), driver=ended(COMPACTED)
    )
    assert way.run.status == final
    assert way.last.actions == (Action.KEEP_DRIVER, Action.DROP_LOCK)
    way.ask(driver=ended(COMPACTED, released=True), lock=Lock.FREE)
    assert (way.last.actions, way.last.wake) == ((), None)
    assert way.ask(driver=None).last.actions == ()


def test_what_was_compacted_stands_in_status() -> None:
    skipped = replace(RESULT, skipped_buckets=2, skipped_samples=("dt=2026-03-01/bucket-3: removed files",))
    way = under_way().ask(driver=driver_of(progress=progress_of(Stage.RUNNING, 1, 2, PLAN)))
    status = done(way, replace(COMPACTED, result=skipped)).ask(after=1).run.status
    assert (status.files, status.bytes) == ("412→9", "6.1Gi→5.8Gi")
    assert (status.base_snapshot_id, status.committed_snapshot_id) == ("7", "8")
    assert status.plan == PLAN
    assert status.result == skipped
    assert "dt=2026-03-01/bucket-3" in status.conditions[0].message
    assert [attempt.reason for attempt in status.attempt_history] == ["Compacted"]


def test_what_could_not_be_compacted_stands_in_status_however_the_run_ends() -> None:
    blocked = (
        BucketBlock(bucket="dt=1/bucket-0", reason="CorruptFiles", message="cut off", fingerprint="f1"),
    )
    result = replace(
        RESULT, skipped_buckets=2, blocked_buckets=1, skipped_samples=("dt=1/bucket-0: cut off",)
    )
    compacted = replace(COMPACTED, result=result, blocked=blocked, blocked_count=3)
    corrupt = replace(
        compacted, reason=Reason.CORRUPT_TABLE, failure=Failure.USER, message="cut off", result=None
    )
    for outcome in (compacted, corrupt):
        way = done(under_way(), outcome).ask(after=1)
        status = (way if outcome is compacted else search(way)).run.status
        assert status.conditions[0].reason == outcome.reason
        assert (status.blocked_buckets, status.blocked_bucket_count) == (blocked, 3)
    said = done(under_way(), compacted).ask(after=1).run.status.conditions[0].message
    assert "1 group left out because others" in said
    assert "1 group left out because of files that cannot be compacted: dt=1/bucket-0: cut off." in said


FAILURES = {
    Failure.INFRASTRUCTURE: (Reason.STORAGE_UNAVAILABLE, 2),
    Failure.SCHEDULING: (Reason.SCHEDULING_TIMED_OUT, 1),
    Failure.CONFLICT: (Reason.COMMIT_CONFLICT, 1),
    Failure.OUT_OF_MEMORY: (Reason.OUT_OF_MEMORY, 1),
    Failure.BUG: (Reason.DRIVER_FAILED, 1),
    Failure.USER: (Reason.UNSUPPORTED, 0),
}


@pytest.mark.parametrize("failure", Failure, ids=lambda failure: failure.value)
def test_each_kind_of_failure_has_its_limit(failure: Failure) -> None:
    reason, limit = FAILURES[failure]
    way = Way().ask()
    for attempt in range(1, limit + 2):
        assert way.run.status.attempts == attempt
        assert Action.START_DRIVER in way.last.actions
        outcome = outcome_of(reason, failure, attempt=attempt, message="because")
        way.ask(driver=ended(outcome, attempt=attempt, uid=f"pod-{attempt}"), found=UNKNOWN)
        if attempt <= limit:
            assert way.reason is Reason.BACKING_OFF
            assert way.last.actions == (Action.REMOVE_DRIVER, Action.DROP_LOCK)
            way.ask(driver=None).ask(after=601)
    search(way)
    assert way.reason is reason
    counts = way.run.status.failures
    assert getattr(counts, failure.value.replace("-", "_")) == limit + 1


@pytest.mark.parametrize(
    "reason", [Reason.INVALID_SPEC, Reason.TABLE_NOT_FOUND, Reason.UNSUPPORTED, Reason.ACCESS_DENIED]
)
def test_what_the_only_driver_was_refused_needs_no_look_into_the_table(reason: Reason) -> None:
    """The table may never be readable for us either."""
    way = under_way().ask(driver=ended(outcome_of(reason, Failure.USER, message="because")), found=UNKNOWN)
    assert way.reason is reason
    assert Action.FIND_RUN not in way.last.actions


def test_what_a_later_driver_was_refused_says_nothing_of_an_earlier_one() -> None:
    way = under_way().ask(driver=ended(outcome_of(Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE)))
    way.ask(driver=None).ask(after=601).ask()
    outcome = outcome_of(Reason.ACCESS_DENIED, Failure.USER, attempt=2, message="because")
    way.ask(driver=ended(outcome, attempt=2, uid="pod-2"), found=UNKNOWN)
    assert not way.reason.is_final
    assert search(way, FOUND).reason is Reason.COMPACTED


def test_more_memory_after_each_lack_of_it() -> None:
    way = under_way()
    assert memory_factor(way.run) == 1.0
    way.ask(driver=ended(outcome_of(Reason.OUT_OF_MEMORY, Failure.OUT_OF_MEMORY)))
    assert memory_factor(way.run) == 1.5


DEATHS = [
    case(ended(trouble=Trouble.OUT_OF_MEMORY, exit_code=1), Reason.OUT_OF_MEMORY, id="out of memory"),
    case(ended(exit_code=137), Reason.OUT_OF_MEMORY, id="killed"),
    case(ended(exit_code=137, terminating=True), Reason.DRIVER_LOST, id="killed after it was told to end"),
    case(ended(trouble=Trouble.DISRUPTED, exit_code=143), Reason.DRIVER_LOST, id="evicted"),
    case(ended(), Reason.DRIVER_LOST, id="nobody knows"),
    case(ended(exit_code=1), Reason.DRIVER_FAILED, id="exit code"),
    case(ended(exit_code=0), Reason.DRIVER_FAILED, id="exit code 0"),
    case(ended(outcome_of(Reason.CANCELLED)), Reason.DRIVER_LOST, id="says it was told to end"),
    case(ended(outcome_of(Reason.RUNNING)), Reason.DRIVER_FAILED, id="says something strange"),
    case(ended(PLANNED), Reason.DRIVER_FAILED, id="says planned unasked"),
]


@pytest.mark.parametrize(("driver", "reason"), DEATHS)
def test_an_attempt_without_success_is_told_apart(driver: DriverState, reason: Reason) -> None:
    way = under_way().ask(driver=driver)
    if driver.outcome is None:
        search(way)
    assert way.reason is Reason.BACKING_OFF
    assert way.run.status.attempt_history[-1].reason == reason.value


@pytest.mark.parametrize(
    "driver",
    [
        case(ended(exit_code=1), id="died"),
        case(ended(outcome_of(Reason.CORRUPT_TABLE, Failure.USER)), id="failed for good"),
    ],
)
def test_a_commit_is_never_reported_as_a_failure(driver: DriverState) -> None:
    way = search(under_way().ask(driver=driver), FOUND)
    status = way.run.status
    assert way.reason is Reason.COMPACTED
    assert status.result is not None
    assert (status.result.recovered, status.committed_snapshot_id, status.base_snapshot_id) == (
        True,
        "8",
        "7",
    )


SOME = replace(FOUND, is_complete=False)
"""A run that has committed some of its steps."""


def test_a_run_that_ended_between_two_steps_goes_on() -> None:
    way = search(under_way().ask(driver=ended(exit_code=1)), SOME)
    assert way.reason is Reason.BACKING_OFF
    assert way.run.status.attempt_history[-1].reason == Reason.DRIVER_FAILED.value


def test_a_run_that_cannot_go_on_has_done_what_it_has_done() -> None:
    way = done(under_way(), outcome_of(Reason.DRIVER_FAILED, Failure.BUG))
    way.ask(driver=None).ask(after=601)
    search(way.ask(driver=ended(exit_code=1, attempt=2, uid="pod-2")), SOME)
    assert way.reason is Reason.COMPACTED
    assert way.run.status.result is not None
    assert way.run.status.result.recovered
    assert "which then ended" in way.run.status.conditions[0].message


def test_a_search_does_not_heed_answers_from_before_the_driver_was_gone() -> None:
    way = under_way().ask(driver=ended(exit_code=1), found=None)
    assert way.last.actions == ()
    assert way.reason is Reason.SEARCHING_COMMIT


def test_a_table_that_cannot_be_read_is_waited_for_then_the_end_says_so() -> None:
    way = under_way().ask(driver=ended(exit_code=1)).ask(after=DEADLINES.searching_seconds - 1)
    assert (way.reason, way.last.actions) == (Reason.SEARCHING_COMMIT, (Action.FIND_RUN,))
    way.ask(after=1)
    assert way.reason is Reason.DRIVER_LOST
    assert "could not be read" in way.run.status.conditions[0].message


def test_nothing_to_do_after_a_lost_attempt_is_looked_into() -> None:
    way = failed_once()
    way.ask(driver=ended(outcome_of(Reason.NOTHING_TO_DO, attempt=2), attempt=2, uid="pod-2"))
    assert search(way, FOUND).reason is Reason.COMPACTED


def failed_once() -> Way:
    way = done(under_way(), outcome_of(Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE))
    return way.ask(driver=None).ask(after=601)


def test_an_older_attempt_that_comes_back_counts_if_it_compacted() -> None:
    way = failed_once().ask(driver=ended(COMPACTED))
    assert way.reason is Reason.COMPACTED


@pytest.mark.parametrize(
    "snapshot",
    [
        case("42", id="a number"),
        case("8274931150398217734", id="64 bits"),
        case("-9223372036854775808:9223372036854775807", id="two numbers"),
        case("9f0c-4e1d_a.b", id="text"),
    ],
)
def test_ids_of_snapshots_are_opaque(snapshot: str) -> None:
    committed = outcome_of(Reason.COMPACTED, base_snapshot_id=snapshot, committed_snapshot_id=snapshot)
    status = done(under_way(), committed).run.status
    assert (status.base_snapshot_id, status.committed_snapshot_id) == (snapshot, snapshot)


@pytest.mark.parametrize(
    "snapshot",
    [
        case("", id="nothing"),
        case("7" * 65, id="too long"),
        case("7\n", id="control character"),
        case("snapshot 7", id="space"),
        case("\u0667", id="digit of another script"),
        case("<b>7</b>", id="markup"),
    ],
)
def test_results_without_sense_are_taken_without_them(snapshot: str) -> None:
    way = done(under_way(), outcome_of(Reason.COMPACTED, committed_snapshot_id=snapshot))
    assert way.run.status.committed_snapshot_id is None
    assert way.run.status.result == ResultSummary()


def test_history_keeps_five_attempts() -> None:
    way = Way().ask()
    retries = replace(way.facts.policy.retries, infrastructure=10)
    way.facts = replace(way.facts, policy=replace(way.facts.policy, retries=retries))
    for attempt in range(1, 8):
        lost = outcome_of(Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE, attempt=attempt)
        way.ask(driver=ended(lost, attempt=attempt, uid=f"pod-{attempt}")).ask(driver=None).ask(after=601)
    assert [attempt.attempt for attempt in way.run.status.attempt_history] == [3, 4, 5, 6, 7]


EXPIRY = RunKind.EXPIRE_SNAPSHOTS


def test_maintenance_says_what_it_did() -> None:
    way = done(under_way(kind=EXPIRY), MAINTAINED)
    status = way.run.status
    assert status.maintenance == MAINTAINED.maintenance
    assert status.files == "3 snapshots, 1 data file"
    assert way.run.message == "Done: 3 snapshots, 1 data file; the oldest snapshot that is left is 8."


def test_files_that_stay_are_not_told_as_done() -> None:
    figures = (MaintenanceFigure(name="dataFiles", count=2), MaintenanceFigure(name="foreignFiles", count=1))
    way = done(under_way(kind=EXPIRY), replace(MAINTAINED, maintenance=MaintenanceSummary(figures=figures)))
    assert way.run.message == "Done: 2 data files; 1 file outside of the table's folders left alone."
    assert way.run.status.files == "2 data files"


def test_files_that_stay_are_told_where_nothing_was_done() -> None:
    found = MaintenanceSummary(figures=(MaintenanceFigure(name="foreignFiles", count=1),))
    kind = RunKind.REMOVE_ORPHANS
    way = done(under_way(kind=kind), replace(MAINTAINED, reason=Reason.NOTHING_TO_DO, maintenance=found))
    assert way.run.message == "There is nothing to do; 1 file outside of the table's folders left alone."
    assert way.run.status.files is None


@pytest.mark.parametrize(
    "forged",
    [
        case({"figures": [{"name": "\x1b[2Jdone", "count": 1}]}, id="a figure"),
        case({"figures": [{"name": "dataFiles", "count": -1}]}, id="a number"),
        case({"oldestSnapshotId": "\x1b[2J"}, id="a snapshot"),
    ],
)
def test_forged_summaries_are_no_outcome(forged: dict[str, Any]) -> None:
    """Whoever may change a pod can write any outcome."""
    told = {"run": "r", "attempt": 1, "reason": "Maintained", "maintenance": forged}
    assert read_outcome(json.dumps(told)) is None


def test_samples_of_a_forged_summary_cannot_move_the_cursor() -> None:
    forged = MaintenanceSummary(
        figures=(MaintenanceFigure(name="dataFiles", count=2),), samples=("a\x1b[2Jb",)
    )
    way = done(under_way(kind=EXPIRY), replace(MAINTAINED, maintenance=forged))
    assert way.run.status.maintenance is not None
    assert "\x1b" not in way.run.status.maintenance.samples[0]


def test_dry_run_of_maintenance_has_a_driver_and_says_what_would_go() -> None:
    """The operator's workers cannot plan it."""
    way = done(under_way(kind=EXPIRY, dry_run=True), replace(MAINTAINED, reason=Reason.PLANNED))
    assert way.reason is Reason.PLANNED
    assert way.run.message.startswith("A run would change: 3 snapshots, 1 data file;")


@pytest.mark.parametrize(
    "driver",
    [
        case(ended(exit_code=1), id="died without an outcome"),
        case(ended(outcome_of(Reason.COMMIT_CONFLICT, Failure.CONFLICT)), id="its plan was stale"),
    ],
)
def test_maintenance_that_failed_is_tried_again_and_never_searched_for(driver: DriverState) -> None:
    way = under_way(kind=EXPIRY).ask(driver=driver)
    assert way.reason is Reason.BACKING_OFF
    way.ask(driver=None).ask(after=601).ask()
    assert way.reason is Reason.SUBMITTING
    assert way.run.status.attempts == 2


def test_cancelled_maintenance_ends_at_once() -> None:
    way = under_way(kind=EXPIRY).edit(cancel=True).ask()
    way.ask(driver=ended(exit_code=143))
    assert way.reason is Reason.CANCELLED


@pytest.mark.parametrize(
    ("kind", "forged"),
    [
        case(RunKind.COMPACT, MAINTAINED, id="a compaction that says it maintained"),
        case(EXPIRY, COMPACTED, id="maintenance that says it compacted"),
    ],
)
def test_outcome_of_another_kind_of_run_is_no_success(kind: RunKind, forged: Outcome) -> None:
    """Whoever may change a pod can write any outcome."""
    way = done(under_way(kind=kind), forged)
    for attempt in (2, 3):
        way.ask(driver=None).ask(after=601).ask()
        assert way.reason.status is not ConditionStatus.TRUE
        way.ask(driver=ended(replace(forged, attempt=attempt), attempt=attempt, uid=f"pod-{attempt}"))
    assert way.reason.status is not ConditionStatus.TRUE


@pytest.mark.parametrize(
    ("length", "expected"), [case(4096, True, id="fits"), case(4097, False, id="would be cut off")]
)
def test_compaction_says_how_to_undo_it(length: int, *, expected: bool) -> None:
    way = under_way().ask(
        driver=ended(COMPACTED), undo=lambda snapshot: f"--to={snapshot}".ljust(length, ".")
    )
    undo = way.run.status.undo
    assert (undo is not None and undo.startswith("--to=7")) is expected


def test_format_without_rollback_says_nothing() -> None:
    assert done(under_way(), COMPACTED).run.status.undo is None


@pytest.mark.parametrize("reason", ENDINGS, ids=lambda reason: reason.value)
def test_only_a_compacted_run_can_be_rolled_back(reason: Reason) -> None:
    way = ENDINGS[reason]()
    later = way.ask(rolled_back=True).reason
    assert later is (Reason.ROLLED_BACK if reason is Reason.COMPACTED else reason)


def test_a_run_that_was_rolled_back_keeps_its_result_and_tells_no_way_back() -> None:
    way = done(under_way().ask(undo=lambda before: f"go back to {before}"), COMPACTED)
    before = way.run.status
    after = way.ask(after=60, rolled_back=True).run.status
    assert before.undo == "go back to 7"
    kept = ("result", "completion_time", "duration", "attempt_history", "committed_snapshot_id", "files")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert after.undo is None
    assert way.ask(after=60, rolled_back=False).run.status == after


def test_a_driver_cannot_report_that_its_run_was_rolled_back() -> None:
    assert done(under_way(), outcome_of(Reason.ROLLED_BACK)).reason is Reason.BACKING_OFF
