"""Whole runs in this process on tables that pypaimon made: what they do, and what their report says of it.

The rows of Java's tables, crashes and the like are for the tests in `tests/java`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lithify.engine.run.driver import Silent
from lithify.errors import CommitConflict, InvalidOption, NotFound
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.paimon.primary_key.planning import RunPlan
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Sizing
from support.orders_table import ALL_THERE, BUCKETS, rows, run, without_snapshots


class Meanwhile(Silent):
    """Lets others do something while the tasks of the first rounds are about to run."""

    def __init__(self, *others: Callable[[], object]) -> None:
        self._others = list(others)
        self.done: list[int] = []

    def planned(self, plan: RunPlan, tasks: Sequence[MergeTask]) -> None:
        del plan, tasks
        if self._others:
            self._others.pop(0)()

    def progressed(self, done: int) -> None:
        self.done.append(done)


def levels(address: TableAddress) -> dict[str, list[int]]:
    """The level of each file, by bucket."""
    view = open_table(address).view(Selection())
    assert view is not None
    return {str(each): sorted(file.level for file in view.bucket(each).files) for each in view.bucket_ids}


def journals(address: TableAddress) -> list[Path]:
    return list(Path(address.warehouse).rglob("lithify/attempts/*.json"))


class TestCompacted:
    def test_report_says_what_became_of_each_bucket(self, orders: TableAddress) -> None:
        before = rows(orders)

        report = run(orders)

        assert (report.table, report.strategy, report.status) == ("shop.orders", "full", "Compacted")
        assert (report.snapshot_before, report.snapshot_after) == ("2", "3")
        assert [group.group for group in report.groups] == BUCKETS
        assert {group.trigger for group in report.groups} == {"Full"}
        assert all(group.levels_before == {0: 2} for group in report.groups)
        assert all(group.levels_after == {5: 1} for group in report.groups)
        assert (report.before.files, report.after.files, report.upgraded) == (8, 4, 0)
        assert report.after.rows == before.num_rows < report.before.rows == 60
        assert rows(orders).equals(before)
        assert levels(orders) == {bucket: [5] for bucket in BUCKETS}
        assert journals(orders) == []

    def test_report_says_what_it_took(self, orders: TableAddress) -> None:
        watching = Meanwhile()
        report = run(orders, observer=watching)
        assert (report.rounds, report.commit_tries) == (1, 1)
        assert (report.tasks, report.task_retries, report.orphans_deleted) == (4, 0, 0)
        assert watching.done == [1, 2, 3, 4]
        assert report.core_seconds == report.task_seconds > 0  # no Spark: the tasks are all there is
        assert report.peak_task_bytes > 1 << 20
        assert set(report.seconds) == {"reconcile", "plan", "rewrite", "commit"}

    def test_minor_names_the_trigger_and_its_numbers(self, orders: TableAddress) -> None:
        eager = replace(orders, overrides={"num-sorted-run.compaction-trigger": "1"})
        report = run(eager, Strategy.MINOR)
        assert report.strategy == "minor"
        assert len(report.groups) == 4
        assert all(group.reason for group in report.groups)
        assert {group.trigger for group in report.groups} == {"SortedRuns"}

    def test_only_what_was_selected(self, orders: TableAddress) -> None:
        report = run(orders, buckets=frozenset({1}), partitions=({"dt": "2026-01-02"},))
        assert [group.group for group in report.groups] == [BUCKETS[3]]
        assert levels(orders) == {bucket: [5] if bucket == BUCKETS[3] else [0, 0] for bucket in BUCKETS}

    def test_small_files_between_tasks_are_joined(self, orders: TableAddress) -> None:
        before = rows(orders)

        report = run(orders, sizing=Sizing(task_bytes=1))

        assert report.tasks > 4
        assert report.after.files == len(report.groups) == 4
        assert rows(orders).equals(before)
        files = {path.name for path in Path(orders.warehouse).rglob("bucket-*/*")}
        assert len(files) == report.before.files + report.after.files


class TestNothingToDo:
    def test_no_snapshot_yet(self, made: TableAddress, tmp_path: Path) -> None:
        report = run(without_snapshots(made, tmp_path / "warehouse"))
        assert (report.status, report.snapshot_before, report.snapshot_after) == ("NothingToDo", None, None)
        assert (report.rounds, report.resting, report.groups) == (0, {}, ())

    def test_no_trigger_fired(self, made: TableAddress) -> None:
        report = run(made, Strategy.MINOR)
        assert (report.status, report.snapshot_before, report.snapshot_after) == ("NothingToDo", "2", None)
        assert report.resting == {"no trigger fired": 4}
        assert (report.tasks, report.commit_tries, report.groups, report.skipped) == (0, 0, (), {})
        assert journals(made) == []

    def test_all_is_done_already(self, orders: TableAddress) -> None:
        run(orders)
        report = run(orders)
        assert (report.status, report.resting) == ("NothingToDo", {ALL_THERE: 4})


class TestStartedAgain:
    def test_does_not_commit_twice(self, orders: TableAddress) -> None:
        first = run(orders, run="nightly-7")
        again = run(orders, run="nightly-7")
        assert (first.run, first.status, first.snapshot_after) == ("nightly-7", "Compacted", "3")
        assert (again.run, again.status, again.snapshot_after) == ("nightly-7", "AlreadyCommitted", "3")
        assert again.groups == ()

    def test_runs_without_a_name_get_different_ones(self, made: TableAddress) -> None:
        assert run(made, Strategy.MINOR).run != run(made, Strategy.MINOR).run


class TestConflicts:
    def test_buckets_of_others_are_planned_anew_and_what_rests_is_counted_over_all_rounds(
        self, orders: TableAddress
    ) -> None:
        before = rows(orders)
        run(orders, buckets=frozenset({0}))
        others = Meanwhile(lambda: run(orders, buckets=frozenset({1}), partitions=({"dt": "2026-01-01"},)))

        report = run(orders, observer=others)

        assert report.status == "Compacted"
        assert [group.group for group in report.groups] == [BUCKETS[3]]
        assert (report.rounds, report.skipped) == (2, {})
        assert report.resting == {ALL_THERE: 3}
        assert rows(orders).equals(before)
        assert journals(orders) == []

    def test_buckets_that_stay_in_conflict_are_skipped_with_the_reason(self, orders: TableAddress) -> None:
        report = run(
            orders,
            observer=Meanwhile(lambda: run(orders, buckets=frozenset({0}))),
            max_rounds=1,
        )
        assert report.status == "Compacted"
        assert [group.group for group in report.groups] == [BUCKETS[1], BUCKETS[3]]
        assert set(report.skipped) == {BUCKETS[0], BUCKETS[2]}
        assert all(report.skipped.values())

    def test_nothing_left_to_commit_is_an_error_that_names_the_buckets(self, orders: TableAddress) -> None:
        before = rows(orders)
        others = Meanwhile(lambda: run(orders))

        with pytest.raises(CommitConflict) as caught:
            run(orders, observer=others, max_rounds=1)

        assert (caught.value.table, caught.value.rounds) == ("shop.orders", 1)
        assert set(caught.value.buckets) == set(BUCKETS)
        assert rows(orders).equals(before)
        assert journals(orders) == []

    def test_nothing_left_to_do_after_others_did_it(self, orders: TableAddress) -> None:
        report = run(orders, observer=Meanwhile(lambda: run(orders)))
        assert (report.status, report.rounds, report.resting) == ("NothingToDo", 2, {ALL_THERE: 4})


class TestBadRequests:
    @pytest.mark.parametrize(
        ("change", "error"),
        [
            pytest.param({"partitions": ({"hr": "12"},)}, InvalidOption, id="column that does not exist"),
            pytest.param({"partitions": ({"amount": "12"},)}, InvalidOption, id="column of another kind"),
            pytest.param({"partitions": ({"dt": "2026-01-03"},)}, NotFound, id="partition without files"),
            pytest.param({"buckets": frozenset({2})}, NotFound, id="bucket without files"),
        ],
    )
    def test_a_selection_of_unknown_groups_begins_no_attempt(
        self, made: TableAddress, change: dict[str, Any], error: type[Exception]
    ) -> None:
        with pytest.raises(error):
            run(made, **change)
        assert journals(made) == []
