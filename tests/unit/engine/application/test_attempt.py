"""A driver's attempt in this process, on tables that pypaimon made, without Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lithify.clock import SystemClock
from lithify.contract.executors import ExecutorSizing
from lithify.contract.order import Instructions, MaintenanceInstructions
from lithify.contract.outcome import Outcome
from lithify.controller.launching.ordering import instructions_of
from lithify.engine.application.attempt import DriverAttempt
from lithify.engine.application.log import AttemptLog
from lithify.engine.application.progress import DriveObserver
from lithify.engine.application.request import request_of
from lithify.engine.application.spark_settings import spark_settings
from lithify.engine.application.stopping import STOPPED, StopSignal
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.engine.run.steps import Commits
from lithify.errors import Failure, StorageError, UnsupportedTable
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.strategy import Strategy
from lithify.resources.compaction import PlanSummary, Reason
from support.launching.orders import order
from support.orders_table import copy_of, make_orders, run
from support.races import Meanwhile
from support.small_tables import SmallTable
from support.wrong_rewrites import WrongRewrites, lose_a_row

pytestmark = pytest.mark.thorough

PASSWORD = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> TableAddress:
    """A table of three commits with four buckets, for reading only."""
    return make_orders(tmp_path_factory.mktemp("orders"), commits=3)


@pytest.fixture
def table(orders: TableAddress, tmp_path: Path) -> TableAddress:
    return copy_of(orders, tmp_path / "warehouse")


def told(warehouse: str, **changes: Any) -> Instructions:
    return instructions_of(order(warehouse, **changes), master="local[1]", conf={}, credentials={})


def attempt(instructions: Instructions, stop: StopSignal | None = None) -> DriverAttempt:
    log = AttemptLog(instructions, verbose=False)
    return DriverAttempt(instructions, log, stop or StopSignal(), lambda _: None)


def inline(request: Request, observer: DriveObserver, runner: InlineRunner | None = None) -> Report:
    return compact(request, runner or InlineRunner(), SystemClock(), observer)


def execute(
    instructions: Instructions, runs: Callable[[Request, DriveObserver], Report] = inline
) -> tuple[Outcome | None, int]:
    made = attempt(instructions)
    return made.execute(Path(), runs), made.exit_code


def test_number_of_executors_follows_from_the_plan() -> None:
    sizing = ExecutorSizing(fewest=1, most=8, cores=2, target_seconds=60, bytes_per_second=1.0)
    instructions = replace(told("/w"), conf={"spark.executor.instances": "8"}, sizing=sizing, patience=90)
    pod_ip = "fd00::7"
    with spark_settings(instructions, pod_ip, verbose=False) as settings:
        assert settings.conf["spark.driver.host"] == "[fd00::7]"
        assert settings.sized(300, 100) == {"spark.executor.instances": "3"}
        assert settings.sized(300, 3) == {"spark.executor.instances": "2"}
        assert (settings.patience, settings.verbose) == (90, True)
    whole = PlanSummary(buckets=4, tasks=100, files=9, bytes=600, upgraded_files=0)
    with spark_settings(instructions, pod_ip, False, lambda: whole) as settings:
        assert settings.sized(300, 3) == {"spark.executor.instances": "5"}
    with spark_settings(told("/w"), None, verbose=False) as settings:
        assert (settings.sized(300, 100), settings.patience, settings.verbose) == ({}, None, False)


def test_tasks_are_smaller_after_one_ran_out_of_memory(orders: TableAddress) -> None:
    request = request_of(told(orders.warehouse, memory_factor=2.0), {})
    assert (request.sizing.share, request.sizing.budget.total) == (0.5, 768 << 20)


class TestOutcome:
    def test_a_committed_attempt_reports_snapshot_and_files(self, table: TableAddress) -> None:
        outcome, code = execute(told(table.warehouse, uuid=open_table(table).uuid))
        assert outcome is not None
        assert (outcome.reason, outcome.committed_snapshot_id, code) == (Reason.COMPACTED, "4", 0)
        assert outcome.plan is not None
        assert outcome.result is not None
        assert outcome.plan.files == outcome.result.input_files == 12

    def test_a_canary_is_told_and_its_commits_are_not(self, table: TableAddress) -> None:
        outcome, code = execute(told(table.warehouse, canary=True))
        assert outcome is not None
        assert (outcome.reason, outcome.committed_snapshot_id, code) == (Reason.COMPACTED, "4", 0)
        assert outcome.result is not None
        assert outcome.result.canary is not None
        assert outcome.result.canary.groups == outcome.result.buckets == 4

    def test_an_attempt_that_its_canary_ends_is_not_tried_again(
        self, table: TableAddress, tmp_path: Path
    ) -> None:
        def wrong(request: Request, observer: DriveObserver) -> Report:
            return inline(request, observer, WrongRewrites(tmp_path, lose_a_row))

        outcome, code = execute(told(table.warehouse, canary=True), wrong)
        assert outcome is not None
        assert (outcome.reason, outcome.failure, code) == (Reason.CANARY_FAILED, Failure.USER, 1)
        assert "lithify-canary-" in outcome.message
        assert outcome.committed_snapshot_id is None

    def test_an_attempt_without_work_ends_with_nothing_to_do(self, orders: TableAddress) -> None:
        outcome, code = execute(told(orders.warehouse, strategy=Strategy.MINOR))
        assert outcome is not None
        assert (outcome.reason, code) == (Reason.NOTHING_TO_DO, 0)

    @pytest.mark.parametrize(
        ("changes", "reason", "code"),
        [
            pytest.param({"name": "shop.nothing"}, Reason.TABLE_NOT_FOUND, 2, id="no such table"),
            pytest.param({"uuid": "another"}, Reason.TABLE_NOT_FOUND, 2, id="another table"),
            pytest.param({"time_zone": "Mars/Olympus"}, Reason.INVALID_SPEC, 2, id="no such time zone"),
            pytest.param({"buckets": frozenset({77})}, Reason.INVALID_SPEC, 2, id="no such bucket"),
            pytest.param({"overrides": {"bucket": "9"}}, Reason.INVALID_SPEC, 2, id="not to be overridden"),
        ],
    )
    def test_request_that_cannot_be_served(
        self, orders: TableAddress, changes: dict[str, Any], reason: Reason, code: int
    ) -> None:
        outcome, ended = execute(told(orders.warehouse, **changes))
        assert outcome is not None
        assert (outcome.reason, outcome.failure, ended) == (reason, Failure.USER, code)

    def test_error_that_nobody_expected_is_reported_without_secrets(
        self, capsys: pytest.CaptureFixture[str], orders: TableAddress
    ) -> None:
        def fails(request: Request, observer: DriveObserver) -> Report:
            raise ValueError(f"bad options {request.table.catalog_options}")

        instructions = replace(told(orders.warehouse), credentials={"s3.secret-key": PASSWORD})
        outcome, code = execute(instructions, fails)

        assert outcome is not None
        assert (outcome.reason, outcome.failure, code) == (Reason.DRIVER_FAILED, Failure.BUG, 1)
        assert "ValueError" in outcome.message
        assert "s3.secret-key" in outcome.message
        assert PASSWORD not in outcome.message + capsys.readouterr().err


class TestMaintenance:
    """An attempt that maintains a table instead of compacting it; the runner of compactions is not asked."""

    @pytest.fixture
    def small(self, tmp_path: Path) -> SmallTable:
        """A table of many old snapshots, of which it keeps one, and lets at most three expire at a time."""
        options = {"snapshot.num-retained.min": "1", "snapshot.expire.limit": "3"}
        made = SmallTable(tmp_path / "warehouse", options=options).create()
        for _ in range(8):
            made.append()
        made.grow_old(timedelta(hours=2))
        return made

    def maintained(self, small: SmallTable, **fields: Any) -> tuple[Outcome | None, int]:
        maintenance = MaintenanceInstructions(**{"kind": MaintenanceKind.EXPIRE_SNAPSHOTS, **fields})
        told_so = told(str(small.warehouse), name=small.name, maintenance=maintenance)
        return execute(told_so, lambda *_: pytest.fail("nothing is compacted"))

    def test_all_that_may_expire_does_in_one_run(self, small: SmallTable) -> None:
        outcome, code = self.maintained(small)
        assert outcome is not None
        assert outcome.maintenance is not None
        assert (outcome.reason, code, small.numbers) == (Reason.MAINTAINED, 0, [8])
        figures = {each.name: each.count for each in outcome.maintenance.figures}
        assert figures["snapshots"] == 7
        assert outcome.maintenance.oldest_snapshot_id == "8"

    def test_a_dry_run_says_what_the_first_round_would_do(self, small: SmallTable) -> None:
        outcome, _ = self.maintained(small, is_dry_run=True)
        assert outcome is not None
        assert outcome.maintenance is not None
        assert (outcome.reason, small.numbers) == (Reason.PLANNED, [*range(1, 9)])
        assert [each.count for each in outcome.maintenance.figures if each.name == "snapshots"] == [3]

    def test_nothing_to_do(self, small: SmallTable) -> None:
        self.maintained(small)
        outcome, code = self.maintained(small)
        assert outcome is not None
        assert (outcome.reason, code) == (Reason.NOTHING_TO_DO, 0)

    def test_settings_of_the_order_count(self, small: SmallTable) -> None:
        """Files of the last hour may belong to writers that have not committed."""
        outcome, code = self.maintained(small, kind=MaintenanceKind.REMOVE_ORPHANS, orphan_seconds=3600)
        assert outcome is not None
        assert (outcome.reason, outcome.failure, code) == (Reason.INVALID_SPEC, Failure.USER, 2)

    def test_table_that_is_broken(self, small: SmallTable) -> None:
        shutil.rmtree(small.folder / "manifest")
        outcome, _ = self.maintained(small)
        assert outcome is not None
        assert outcome.reason is Reason.CORRUPT_TABLE


class TestCommitted:
    """What was committed is never reported as failed."""

    def test_before_an_error_of_a_later_round(self, table: TableAddress) -> None:
        def fails(request: Request, observer: DriveObserver) -> Report:
            others = Meanwhile(before=lambda: run(table, buckets=frozenset({0})))
            report = inline(replace(request, max_rounds=1), observer, others)
            assert report.skipped
            raise StorageError("/warehouse", "the disk is full")

        outcome, code = execute(told(table.warehouse), fails)

        assert outcome is not None
        assert (outcome.reason, outcome.failure, code) == (Reason.COMPACTED, None, 0)
        assert outcome.committed_snapshot_id == "5"
        assert outcome.result is not None
        assert outcome.result.buckets == 2
        assert "the disk is full" in outcome.message

    def test_by_an_earlier_attempt(self, table: TableAddress) -> None:
        execute(told(table.warehouse))
        outcome, code = execute(told(table.warehouse, attempt=2))
        assert outcome is not None
        assert (outcome.reason, outcome.attempt, code) == (Reason.COMPACTED, 2, 0)
        assert (outcome.base_snapshot_id, outcome.committed_snapshot_id) == ("3", "4")
        assert outcome.result is not None
        assert (outcome.result.input_files, outcome.result.output_files) == (12, 4)
        assert outcome.result.recovered

    def test_while_it_is_asked_to_stop(self, table: TableAddress) -> None:
        stop = StopSignal()
        made = attempt(told(table.warehouse), stop)

        class Committing(DriveObserver):
            def committing(self) -> None:
                super().committing()
                stop.handle()

        def stopped(request: Request, observer: DriveObserver) -> Report:
            made._observer = Committing(lambda _: None, stop)
            return inline(request, made._observer)

        outcome = made.execute(Path(), stopped)
        assert outcome is not None
        assert (outcome.reason, outcome.committed_snapshot_id, made.exit_code) == (Reason.COMPACTED, "4", 0)
        assert outcome.message == ""

    def test_before_it_is_asked_to_stop(self, table: TableAddress) -> None:
        stop = StopSignal()
        made = attempt(told(table.warehouse), stop)

        def stopped(request: Request, observer: DriveObserver) -> Report:
            inline(replace(request, selection=replace(request.selection, buckets=frozenset({0}))), observer)
            stop.unshield()
            stop.handle()
            raise AssertionError("it went on")

        outcome = made.execute(Path(), stopped)
        assert outcome is not None
        assert (outcome.reason, outcome.committed_snapshot_id, made.exit_code) == (Reason.COMPACTED, "4", 0)
        assert outcome.message


class TestSteps:
    """What another attempt may do is not the end."""

    def steps(
        self, table: TableAddress, then: Callable[[], object], stop: StopSignal | None = None
    ) -> tuple[Outcome | None, int]:
        made = attempt(told(table.warehouse), stop)

        class Between(DriveObserver):
            def continued(self) -> None:
                then()
                super().continued()

        def in_steps(request: Request, observer: DriveObserver) -> Report:
            made._observer = Between(lambda _: None, stop or StopSignal())
            return inline(replace(request, commits=Commits(most_bytes=1)), made._observer)

        return made.execute(Path(), in_steps), made.exit_code

    def test_error_that_may_pass_is_told_as_such(self, table: TableAddress) -> None:
        def fails() -> None:
            raise StorageError("/warehouse", "the disk is full")

        outcome, code = self.steps(table, fails)

        assert outcome is not None
        assert (outcome.reason, outcome.failure) == (Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE)
        assert code == StorageError.exit_code
        again, _ = execute(told(table.warehouse, attempt=2))
        assert again is not None
        assert again.result is not None
        assert (again.reason, again.result.buckets) == (Reason.COMPACTED, 3)

    def test_error_that_stays_leaves_what_is_done(self, table: TableAddress) -> None:
        def fails() -> None:
            raise UnsupportedTable("shop.orders", ("something new",))

        outcome, code = self.steps(table, fails)

        assert outcome is not None
        assert (outcome.reason, outcome.committed_snapshot_id, code) == (Reason.COMPACTED, "4", 0)
        assert "something new" in outcome.message

    def test_asked_to_stop_it_leaves_the_rest_to_the_next_attempt(self, table: TableAddress) -> None:
        stop = StopSignal()
        outcome, code = self.steps(table, stop.handle, stop)
        assert (outcome, code) == (None, STOPPED)
        assert open_table(table).snapshots.numbers()[-1] == 4


def test_stopped_before_it_has_committed_it_leaves_neither_outcome_nor_files(table: TableAddress) -> None:
    stop = StopSignal()
    files = sorted(Path(table.warehouse).rglob("bucket-*/*"))
    made = attempt(told(table.warehouse), stop)

    outcome = made.execute(
        Path(), lambda request, observer: inline(request, observer, Meanwhile(after=stop.handle))
    )

    assert (outcome, made.exit_code) == (None, STOPPED)
    assert sorted(Path(table.warehouse).rglob("bucket-*/*")) == files
    (journal,) = Path(table.warehouse).rglob("lithify/attempts/*")
    assert json.loads(journal.read_text())["condemned"] is not None
