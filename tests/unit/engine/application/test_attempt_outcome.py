"""What is reported of an attempt: every error has its reason, every report its outcome."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lithify import errors
from lithify.contract.outcome import MOST_BYTES, Outcome, read_outcome, write_outcome
from lithify.contract.reasons import failure_of, outcome_of_error, outcome_of_plan, reason_of
from lithify.engine.application.outcome import outcome_of_report, save_outcome
from lithify.engine.run.report import Report
from lithify.errors import Failure
from lithify.formats.paimon.planning.details import UPGRADED
from lithify.formats.protocol.details import Detail
from lithify.formats.protocol.model import BlockedGroup, SnapshotId
from lithify.formats.protocol.observation import PlanFound
from lithify.formats.protocol.results import GroupReport, Totals
from lithify.resources.compaction import PlanSummary, Reason
from support.cases import case


def found_of(plan: PlanSummary) -> PlanFound:
    """What a worker finds where a run's plan is the given one."""
    totals = {"upgraded_files": plan.upgraded_files, "unread_files": plan.unread_files, "of_a_format": 9}
    return PlanFound(SnapshotId("7"), plan.buckets, plan.tasks, plan.files, plan.bytes, totals)


REASONS = {
    errors.LithifyError: Reason.DRIVER_FAILED,
    errors.UserError: Reason.INVALID_SPEC,
    errors.InvalidOption: Reason.INVALID_SPEC,
    errors.InvalidResource: Reason.INVALID_SPEC,
    errors.NotFound: Reason.INVALID_SPEC,
    errors.NotAllowed: Reason.ACCESS_DENIED,
    errors.OutOfReach: Reason.ACCESS_DENIED,
    errors.UnsupportedTable: Reason.UNSUPPORTED,
    errors.CanaryFailed: Reason.CANARY_FAILED,
    errors.CorruptTable: Reason.CORRUPT_TABLE,
    errors.MissingFile: Reason.CORRUPT_TABLE,
    errors.StorageError: Reason.STORAGE_UNAVAILABLE,
    errors.StorageUnavailable: Reason.STORAGE_UNAVAILABLE,
    errors.CatalogSilent: Reason.STORAGE_UNAVAILABLE,
    errors.CatalogUnavailable: Reason.STORAGE_UNAVAILABLE,
    errors.CommitUnknown: Reason.STORAGE_UNAVAILABLE,
    errors.CommitConflict: Reason.COMMIT_CONFLICT,
    errors.CommitOutrun: Reason.COMMIT_CONFLICT,
    errors.CatalogLocked: Reason.COMMIT_CONFLICT,
    errors.StalePlan: Reason.COMMIT_CONFLICT,
    errors.RollbackOutrun: Reason.COMMIT_CONFLICT,
    errors.CommitsWouldBeLost: Reason.INVALID_SPEC,
    errors.TooManyOrphans: Reason.INVALID_SPEC,
    errors.AttemptFenced: Reason.DRIVER_LOST,
    errors.TaskStopped: Reason.DRIVER_FAILED,
    errors.TaskFailed: Reason.DRIVER_FAILED,
    errors.OutOfMemory: Reason.OUT_OF_MEMORY,
    errors.TimedOut: Reason.DRIVER_FAILED,
    errors.NoExecutors: Reason.SCHEDULING_TIMED_OUT,
    errors.ProcessLost: Reason.DRIVER_LOST,
    errors.ProcessLimit: Reason.OUT_OF_MEMORY,
    errors.ClusterError: Reason.DRIVER_FAILED,
    errors.ClusterUnavailable: Reason.DRIVER_FAILED,
    errors.ClusterConflict: Reason.DRIVER_FAILED,
    errors.ClusterExists: Reason.DRIVER_FAILED,
    errors.NameTaken: Reason.DRIVER_FAILED,
    errors.ClusterRefused: Reason.DRIVER_FAILED,
    errors.AccountMissing: Reason.DRIVER_FAILED,
}
PLAN = PlanSummary(buckets=1, tasks=2, files=6, bytes=7, upgraded_files=3, unread_files=1)
DETAILS = (Detail(UPGRADED, 2),)
BUCKET = GroupReport("dt=1/bucket-0", "Full", "", Totals(6, 600, 60), Totals(1, 400, 50), DETAILS)
COMPACTED = Report(
    table="db.t",
    run="run",
    status="Compacted",
    strategy="full",
    snapshot_before=SnapshotId("7"),
    snapshot_after=SnapshotId("9"),
    groups=(BUCKET,),
    tasks=2,
    task_seconds=0.0314159,
    core_seconds=2.6,
    skipped={f"bucket-{number}": "gone" * 200 for number in range(9)},
)


def family(kind: type[errors.LithifyError]) -> Iterator[type[errors.LithifyError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from family(child)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=kind.__name__) for kind in family(errors.LithifyError)]
)
def test_every_error_has_its_reason(kind: type[errors.LithifyError]) -> None:
    error = kind.__new__(kind)
    assert (reason_of(error), failure_of(error)) == (REASONS[kind], kind.failure)


@pytest.mark.parametrize(
    ("error", "reason", "failure"),
    [
        case(MemoryError(), Reason.OUT_OF_MEMORY, Failure.OUT_OF_MEMORY, id="memory"),
        case(ZeroDivisionError("x"), Reason.DRIVER_FAILED, Failure.BUG, id="a bug"),
        case(OSError(5, "x"), Reason.DRIVER_FAILED, Failure.BUG, id="an error nobody translated"),
    ],
)
def test_each_error_has_its_reason_and_failure(error: Exception, reason: Reason, failure: Failure) -> None:
    outcome = outcome_of_error("run", 2, error, PLAN)
    assert (outcome.run, outcome.attempt, outcome.plan) == ("run", 2, PLAN)
    assert (outcome.reason, outcome.failure) == (reason, failure)
    assert type(error).__name__ in outcome.message


class TestReports:
    def test_report_of_a_commit_becomes_result_and_snapshots(self) -> None:
        outcome = outcome_of_report(COMPACTED, 3, PLAN)
        assert (outcome.reason, outcome.failure, outcome.plan) == (Reason.COMPACTED, None, PLAN)
        assert (outcome.base_snapshot_id, outcome.committed_snapshot_id) == ("7", "9")
        result = outcome.result
        assert result is not None
        assert (result.input_files, result.input_bytes, result.input_rows) == (6, 600, 60)
        assert (result.output_files, result.output_bytes, result.output_rows) == (1, 400, 50)
        assert (result.upgraded_files, result.buckets, result.tasks, result.core_seconds) == (2, 1, 2, 2.6)
        assert result.task_seconds == 0.031
        assert (result.skipped_buckets, len(result.skipped_samples), result.recovered) == (9, 5, False)
        assert len(write_outcome(outcome).encode()) <= MOST_BYTES
        assert read_outcome(write_outcome(outcome)) == outcome

    def test_a_report_without_work_counts_deleted_orphans(self) -> None:
        report = Report(
            "db.t", "run", "NothingToDo", "minor", snapshot_before=SnapshotId("7"), orphans_deleted=4
        )
        outcome = outcome_of_report(report, 1, None)
        assert (outcome.reason, outcome.committed_snapshot_id) == (Reason.NOTHING_TO_DO, None)
        assert outcome.result is not None
        assert outcome.result.orphans_deleted == 4

    def test_rerun_of_a_committed_run_reports_its_snapshot(self) -> None:
        report = Report("db.t", "run", "AlreadyCommitted", "minor", snapshot_after=SnapshotId("9"))
        outcome = outcome_of_report(report, 2, None)
        assert (outcome.reason, outcome.result) == (Reason.COMPACTED, None)
        assert outcome.committed_snapshot_id == "9"

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            case({}, Reason.PLANNED, id="something to do"),
            case({"buckets": 0}, Reason.NOTHING_TO_DO, id="nothing to do"),
        ],
    )
    def test_outcome_of_a_plan_has_its_figures_and_base(
        self, changes: dict[str, int], reason: Reason
    ) -> None:
        plan = replace(PLAN, **changes)
        outcome = outcome_of_plan("run", 1, found_of(plan))
        assert (outcome.reason, outcome.plan, outcome.base_snapshot_id) == (reason, plan, "7")

    def test_planned_without_a_snapshot(self) -> None:
        outcome = outcome_of_plan("run", 1, PlanFound(snapshot=None))
        assert (outcome.reason, outcome.plan, outcome.base_snapshot_id) == (Reason.NOTHING_TO_DO, None, None)

    @pytest.mark.parametrize(
        ("corrupt", "reason"), [(True, Reason.CORRUPT_TABLE), (False, Reason.UNSUPPORTED)]
    )
    def test_planned_and_nothing_but_blocked_buckets(self, corrupt: bool, reason: Reason) -> None:
        blocked = BlockedGroup("bucket-0", is_corrupt=corrupt, problem="a key is NaN", fingerprint="0f")
        found = PlanFound(
            snapshot=SnapshotId("7"), blocked=(blocked,), blocked_count=2, problem="nothing is left"
        )
        outcome = outcome_of_plan("run", 1, found)
        assert (outcome.reason, outcome.failure, outcome.message) == (reason, Failure.USER, "nothing is left")
        assert ([each.bucket for each in outcome.blocked], outcome.blocked_count) == (["bucket-0"], 2)


class TestSaved:
    OUTCOME = Outcome(run="run", attempt=1, reason=Reason.COMPACTED)

    def test_an_outcome_replaces_a_longer_file_in_one_go(self, tmp_path: Path) -> None:
        path = tmp_path / "outcome.json"
        path.write_text("what was there before, and is longer than what is there afterwards" * 9)
        save_outcome(self.OUTCOME, path)
        assert read_outcome(path.read_text()) == self.OUTCOME
        assert list(tmp_path.iterdir()) == [path]

    def test_where_no_other_file_can_be_made(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        path = tmp_path / "termination-log"
        path.touch()

        def busy(*_: object) -> None:
            raise OSError(16, os.strerror(16))

        monkeypatch.setattr(Path, "replace", busy)
        save_outcome(self.OUTCOME, path)
        assert read_outcome(path.read_text()) == self.OUTCOME
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        *((what, Reason.TABLE_NOT_FOUND) for what in ("table", "branch", "database", "warehouse")),
        *((what, Reason.INVALID_SPEC) for what in ("partition", "bucket", "key")),
    ],
)
def test_a_table_that_is_not_there_is_no_mistake_of_the_run(what: str, reason: Reason) -> None:
    assert reason_of(errors.NotFound(what, "db.t", "look again")) is reason
