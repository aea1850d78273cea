"""What every adapter of a table format does, through the Protocols of `formats.protocol` and whole runs."""

from __future__ import annotations

import json
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest

from formats.tables import FormatTables
from lithify.clock import Clock, SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.engine.run.steps import Commits
from lithify.errors import CommitConflict, InvalidOption, NotFound, UnsupportedTable
from lithify.faults import EVERY_RUN, POINTS
from lithify.formats.declared import check_blocks, declared
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.committing import CommitStep
from lithify.formats.protocol.details import totals_of
from lithify.formats.protocol.model import SnapshotId, is_snapshot_id
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter, ObservationRequest, TableObserver
from lithify.formats.protocol.planning import Plan
from lithify.formats.protocol.results import TaskFailure, TaskOutputs, TaskResult
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.table import OpenTable
from lithify.formats.protocol.tasks import Sizing, Task
from lithify.formats.registry import open_observer, open_table
from support.cases import case
from support.crashes import SETTLED
from support.races import Meanwhile, step_at
from support.runs import ShiftedClock, start

CLOCK = SystemClock(UTC)
CLEANING = {"condemned": "0", "orphans-deleted": "1.1"}
"""Points of the clean-up behind a dead attempt, and the hours after which a run comes to them."""
ONE_BY_ONE = ("--commit-every", "1")


def run(
    address: TableAddress,
    strategy: Strategy = Strategy.FULL,
    *,
    runner: InlineRunner | None = None,
    shift: timedelta = timedelta(),
    **changes: Any,
) -> Report:
    """Compacts in this process."""
    request = Request(address, Selection(strategy=strategy), **changes)
    return compact(request, runner or InlineRunner(), ShiftedClock(shift))


def kill(address: TableAddress, point: str, *arguments: str) -> None:
    """Compacts in a process that is killed at a point."""
    catalog = json.dumps(dict(address.catalog_options))
    given = ("--format", address.format, "--catalog", catalog, *arguments)
    process = start(address, *given, faults={point: "kill"})
    assert process.wait().code == -signal.SIGKILL


def assert_cleaned_up(tables: FormatTables, table: Any, rows: list[Any]) -> None:
    """The next runs remove all that dead attempts have left, and change no row."""
    for later in (timedelta(), SETTLED, 2 * SETTLED, 3 * SETTLED):
        run(tables.address(table), shift=later)
        assert tables.rows(table) == rows
    assert (tables.strays(table), tables.notes(table)) == (set(), set())


def files_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def planned(address: TableAddress) -> tuple[OpenTable, Plan]:
    """The plan of a full compaction."""
    opened = open_table(address)
    view = opened.pin_view(Selection())
    assert view is not None
    return opened, opened.plan(view, Selection(strategy=Strategy.FULL), CLOCK)


def begun(opened: OpenTable, plan: Plan) -> CommitStep:
    return opened.begin(plan, opened.tasks_of(plan, Sizing()), "run-a", 0, CLOCK)


def at_an_executor(task: Task) -> TaskResult:
    """What a task comes back with from another process."""
    there: Task = pickle.loads(pickle.dumps(task))
    back: TaskResult = pickle.loads(pickle.dumps(there.run(CLOCK)))
    return back


class TestIdentity:
    def test_a_format_that_nobody_knows_is_refused_by_name(self) -> None:
        with pytest.raises(InvalidOption) as refused:
            open_table(TableAddress("/nowhere", "db.t", format="parchment"))
        assert refused.value.option == "format"

    def test_a_table_has_one_identity_however_often_it_is_opened(
        self, tables: FormatTables, table: Any
    ) -> None:
        first = open_table(tables.address(table))
        tables.append(table)
        second = open_table(tables.address(table))
        assert (first.name, first.uuid) == (second.name, second.uuid)

    def test_a_table_that_is_created_again_is_another_one(self, tables: FormatTables, table: Any) -> None:
        address = tables.address(table)
        former = open_table(address).uuid
        tables.make_again(table)
        rows = tables.rows(table)

        with pytest.raises(NotFound):
            run(replace(address, uuid=former))

        assert open_table(address).uuid != former
        assert (tables.rows(table), tables.strays(table)) == (rows, set())

    @pytest.mark.parametrize("name", [case("db.none", id="table"), case("none.t", id="database")])
    def test_what_does_not_exist_is_not_found(self, tables: FormatTables, table: Any, name: str) -> None:
        with pytest.raises(NotFound):
            open_table(replace(tables.address(table), name=name))

    def test_a_catalog_lists_its_tables(self, tables: FormatTables, table: Any, tmp_path: Path) -> None:
        address = tables.address(table)
        assert watch_of(address, tmp_path / "cache").list_tables(address) == (address.name,)


def test_what_is_not_supported_is_refused_by_name_before_any_work(
    tables: FormatTables, tmp_path: Path
) -> None:
    table, option = tables.make_unsupported(tmp_path / "warehouse")
    address, before = tables.address(table), files_of(tmp_path)

    seen = watch_of(address, tmp_path / "cache").observe(ObservationRequest(address, "table"))
    with pytest.raises(UnsupportedTable) as refused:
        run(address)

    assert any(option in reason for reason in refused.value.reasons)
    assert seen is not None
    assert seen.refusals == refused.value.reasons
    assert files_of(tmp_path / "warehouse") == before


class TestInspection:
    def test_writes_nothing_and_finds_what_a_look_finds(
        self, tables: FormatTables, table: Any, tmp_path: Path
    ) -> None:
        before, address = files_of(tmp_path), tables.address(table)
        found = open_table(address).inspect(Selection(), CLOCK)
        assert files_of(tmp_path) == before
        seen = watch_of(address, tmp_path / "cache").observe(ObservationRequest(address, "table"))
        assert seen is not None
        assert (found.snapshot, found.unsupported) == (seen.snapshot, ())
        names = ("files", "bytes", "small_files")
        sums = [sum(getattr(group, name) for group in found.groups) for name in names]
        assert sums == [getattr(seen, name) for name in names]
        due = {group.due for group in found.groups if group.due is not None}
        assert due == {finding.trigger for finding in seen.findings}

    def test_shows_what_is_not_supported(self, tables: FormatTables, tmp_path: Path) -> None:
        table, option = tables.make_unsupported(tmp_path)
        found = open_table(tables.address(table)).inspect(Selection(), CLOCK)
        assert any(option in reason for reason in found.unsupported)


class TestSelection:
    def test_a_partition_that_is_selected_is_all_that_is_pinned(
        self, tables: FormatTables, table: Any
    ) -> None:
        opened, plan = planned(tables.address(table))
        groups = {unit.group for unit in plan.units}
        selection = Selection((tables.a_partition,), strategy=Strategy.FULL)
        view = opened.pin_view(selection)
        assert view is not None
        found = {unit.group for unit in opened.plan(view, selection, CLOCK).units}
        [partition] = {each.partition for each in found}
        assert found == {each for each in groups if each.partition == partition}
        assert len({(each.partition, each.division) for each in groups}) == len(groups)

    def test_a_column_that_does_not_partition_is_refused_by_name(
        self, tables: FormatTables, table: Any
    ) -> None:
        with pytest.raises(InvalidOption) as refused:
            open_table(tables.address(table)).pin_view(Selection(({"nowhere": "x"},)))
        assert refused.value.option == "--partition"

    def test_buckets_narrow_it_or_are_refused_by_name(self, tables: FormatTables, table: Any) -> None:
        opened, plan = planned(tables.address(table))
        buckets = frozenset({0})
        if isinstance(plan.units[0].group.division, int):
            view = opened.pin_view(Selection(buckets=buckets))
            assert view is not None
            units = opened.plan(view, Selection(strategy=Strategy.FULL), CLOCK).units
            assert {unit.group.division for unit in units} == buckets
        else:
            with pytest.raises(InvalidOption) as refused:
                opened.pin_view(Selection(buckets=buckets))
            assert refused.value.option == "--bucket"


class TestPlan:
    def test_units_say_what_they_do_and_why(self, tables: FormatTables, table: Any) -> None:
        _, plan = planned(tables.address(table))
        for unit in plan.units:
            assert unit.trigger
            assert unit.reason
            assert sum(len(names) for names in unit.rewrites) == unit.rewritten_files
        sums = totals_of(unit.details for unit in plan.units)
        assert {name: plan.totals[name] for name in sums} == sums

    def test_planning_writes_nothing_and_groups_are_distinct(
        self, tables: FormatTables, table: Any, tmp_path: Path
    ) -> None:
        before = files_of(tmp_path)
        opened, plan = planned(tables.address(table))
        assert len(plan.units) == len(opened.tasks_of(plan, Sizing())) == 2
        assert all(unit.read_bytes > 0 and unit.rewritten_files > 0 for unit in plan.units)
        assert len({unit.group for unit in plan.units}) == len({unit.group.path for unit in plan.units}) == 2
        assert files_of(tmp_path) == before

    def test_counts_tasks_without_making_them(self, tables: FormatTables, table: Any) -> None:
        opened, plan = planned(tables.address(table))
        for sizing in (Sizing(), Sizing(task_bytes=1)):
            tasks = opened.tasks_of(plan, sizing)
            assert opened.count_tasks(plan, sizing) == sum(map(len, tasks.values()))

    def test_a_part_of_it_is_of_the_same_snapshot(self, tables: FormatTables, table: Any) -> None:
        opened, plan = planned(tables.address(table))
        part = opened.part_of(plan, plan.units[:1])
        assert ([unit.group for unit in part.units], part.snapshot_id) == (
            [plan.units[0].group],
            plan.snapshot_id,
        )


class TestTasks:
    def test_survive_the_way_to_an_executor_and_their_results_the_way_back(
        self, tables: FormatTables, table: Any
    ) -> None:
        rows = tables.rows(table)
        opened, plan = planned(tables.address(table))
        step = begun(opened, plan)

        results = [at_an_executor(task) for task in step.tasks]
        followed = [at_an_executor(task) for task in step.followers(results)]
        blocks = step.finish(results, followed)
        outcome = step.commit(0)

        assert all(task.input_sizes for task in step.tasks)
        assert all(isinstance(result.outputs, TaskOutputs) and result.outputs.data for result in results)
        assert (list(blocks), step.clean()) == ([], ())
        assert {report.group for report in outcome.reports} == {unit.group.path for unit in plan.units}
        assert (tables.rows(table), outcome.conflicts) == (rows, {})

    def test_outputs_of_a_step_that_is_given_up_are_deleted(
        self, tables: FormatTables, table: Any, tmp_path: Path
    ) -> None:
        before = files_of(tmp_path)
        step = begun(*planned(tables.address(table)))
        for task in step.tasks:
            at_an_executor(task)
        assert files_of(tmp_path) > before

        step.give_up()

        assert files_of(tmp_path) == before


def stopped(results: Sequence[TaskResult]) -> list[int]:
    """The numbers of the tasks that were stopped."""
    return [each.index for each in results if each.failure is not None and each.failure.kind == "TaskStopped"]


def stop_files(tables: FormatTables, table: Any) -> set[str]:
    return {name for name in tables.notes(table) if "-stop-" in name}


class OthersFirst(InlineRunner):
    """Others take a step; progress is reported, as Spark does all the time; then the tasks run."""

    def __init__(self, step: Callable[[], object]) -> None:
        self._step = step
        self.stopped: list[int] = []

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        self._step()
        progress(0)
        results = super().run(tasks, clock, progress)
        self.stopped += stopped(results)
        return results


class TestLostGroups:
    def test_tasks_of_a_group_that_others_compacted_stop_and_the_others_commit(
        self, tables: FormatTables, table: Any
    ) -> None:
        rows, address = tables.rows(table), tables.address(table)
        opened, plan = planned(address)
        step = begun(opened, plan)
        step.stop_lost()
        nothing_lost = tables.notes(table)
        lost = tables.compact_first_group(table)

        step.stop_lost()
        results = [at_an_executor(task) for task in step.tasks]
        step.finish(results, [at_an_executor(task) for task in step.followers(results)])
        outcome = step.commit(0)

        numbers = [number for number, unit in enumerate(plan.units) if unit.group.path == lost]
        assert len(nothing_lost) == len(numbers) == 1, "the journal alone, and one task of the group"
        assert stopped(results) == (numbers if tables.tells_lost else [])
        assert [group.path for group in outcome.conflicts] == [lost]
        assert [report.group for report in outcome.reports] != [lost]
        assert len(outcome.reports) == 1
        assert len(stop_files(tables, table)) == tables.tells_lost
        assert (step.clean(), tables.strays(table), stop_files(tables, table)) == ((), set(), set())
        assert tables.rows(table) == rows

    def test_a_run_finds_them_between_its_tasks(self, tables: FormatTables, table: Any) -> None:
        rows, lost = tables.rows(table), list[str]()
        runner = OthersFirst(lambda: lost.append(tables.compact_first_group(table)))

        report = run(tables.address(table), runner=runner, max_rounds=1, check_seconds=0)

        assert len(runner.stopped) == tables.tells_lost
        assert ([*report.skipped], len(report.groups)) == (lost, 1)
        assert (tables.rows(table), tables.strays(table), stop_files(tables, table)) == (rows, set(), set())

    def test_later_runs_clean_up_after_an_attempt_that_died_after_it_stopped_tasks(
        self, tables: FormatTables, table: Any
    ) -> None:
        step, rows = begun(*planned(tables.address(table))), tables.rows(table)
        tables.compact_first_group(table)
        step.stop_lost()
        assert_cleaned_up(tables, table, rows)

    def test_nothing_is_left_of_a_step_that_is_given_up_after_it_stopped_tasks(
        self, tables: FormatTables, table: Any
    ) -> None:
        step = begun(*planned(tables.address(table)))
        tables.compact_first_group(table)
        step.stop_lost()
        step.give_up()
        assert (tables.strays(table), tables.notes(table)) == (set(), set())


class TestRun:
    def test_changes_no_row_and_says_what_it_did(self, tables: FormatTables, table: Any) -> None:
        rows, address = tables.rows(table), tables.address(table)

        report = run(address)

        assert tables.rows(table) == rows
        assert (report.status, len(report.groups), report.skipped) == ("Compacted", 2, {})
        assert report.before.files > report.after.files > 0
        assert report.before.rows >= report.after.rows > 0
        assert report.before.bytes > 0 < report.after.bytes
        assert all(group.trigger and group.reason for group in report.groups)
        declared = {*open_table(address).reported}
        assert all({detail.kind for detail in group.details} == declared for group in report.groups)
        assert run(address).status == "NothingToDo"
        assert tables.strays(table) == set()

    def test_commits_as_many_steps_as_it_is_told(self, tables: FormatTables, table: Any) -> None:
        rows = tables.rows(table)
        report = run(tables.address(table), commits=Commits(1))
        assert (report.commits, len(report.groups)) == (2, 2)
        assert tables.rows(table) == rows

    def test_a_conflict_of_one_group_leaves_the_others_their_work(
        self, tables: FormatTables, table: Any
    ) -> None:
        rows = tables.rows(table)
        lost: list[str] = []
        runner = Meanwhile(after=lambda: lost.append(tables.compact_first_group(table)))

        report = run(tables.address(table), runner=runner, max_rounds=1)

        assert list(report.skipped) == lost
        assert len(report.groups) == 1
        assert report.groups[0].group not in lost
        assert tables.rows(table) == rows
        assert tables.strays(table) == set()

    def test_rows_that_come_meanwhile_are_kept(self, tables: FormatTables, table: Any) -> None:
        report = run(tables.address(table), runner=Meanwhile(after=lambda: tables.append(table)))
        assert report.status == "Compacted"
        assert "late" in str(tables.rows(table))

    def test_never_brings_back_what_was_rolled_back_meanwhile(
        self, tables: FormatTables, table: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tables.append(table)
        step_at(monkeypatch, "prepared", lambda: tables.roll_back(table))

        with suppress(CommitConflict):
            run(tables.address(table))

        assert "LITHIFY_FAULTS" not in os.environ, "nobody has rolled back"
        assert "late" not in str(tables.rows(table))

    def test_never_loses_what_came_after_a_rollback_meanwhile(
        self, tables: FormatTables, table: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def rewrite_history() -> None:
            tables.roll_back(table)
            tables.append(table)

        step_at(monkeypatch, "prepared", rewrite_history)

        with suppress(CommitConflict):
            run(tables.address(table))

        assert "LITHIFY_FAULTS" not in os.environ, "nobody has rewritten history"
        assert "late" in str(tables.rows(table))

    def test_that_fails_leaves_nothing_behind(self, tables: FormatTables, table: Any) -> None:
        def fail() -> None:
            raise RuntimeError("planted")

        rows = tables.rows(table)
        with pytest.raises(RuntimeError, match="planted"):
            run(tables.address(table), runner=Meanwhile(after=fail))
        assert_cleaned_up(tables, table, rows)

    def test_that_is_started_again_commits_once(self, tables: FormatTables, table: Any) -> None:
        address = tables.address(table)
        kill(address, "snapshot-written", "--run", "run-a")

        opened = open_table(address)
        past = opened.find_run("run-a")

        assert past is not None
        found = past.found
        assert found.is_complete
        assert (found.input_files > found.output_files > 0, found.input_bytes > 0) == (True, True)
        assert len(past.groups) == 2
        assert opened.find_run("run-b") is None
        again = run(address, run="run-a")
        assert (again.status, again.snapshot_after) == ("AlreadyCommitted", found.snapshot)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_point_is_harmless(tables: FormatTables, table: Any, point: str) -> None:
    if point not in {*EVERY_RUN, *tables.own_points}:
        pytest.skip("runs on these tables do not come there")
    rows, address = tables.rows(table), tables.address(table)
    if point in CLEANING:
        kill(address, "tasks-done")
        run(address)
    if point == "orphans-deleted":
        run(address)
    arguments = ONE_BY_ONE if point == "step-done" else ("--hours", CLEANING.get(point, "0"))

    kill(address, point, *arguments)

    assert tables.rows(table) == rows
    assert_cleaned_up(tables, table, rows)


def watch_of(address: TableAddress, cache: Path) -> TableObserver:
    return open_observer(address.format, cache, 1 << 20, CLOCK, 8)


def test_figures_are_those_that_the_format_declares(tables: FormatTables, table: Any, tmp_path: Path) -> None:
    address = tables.address(table)
    declared_blocks = {block.name: block for block in declared(address.format).blocks}
    seen = watch_of(address, tmp_path / "cache").observe(ObservationRequest(address, "table"))
    assert seen is not None
    assert seen.blocks.keys() <= declared_blocks.keys()
    check_blocks(seen.blocks)
    groups = open_table(address).inspect(Selection(), CLOCK).groups
    assert (seen.groups, seen.files) == (len(groups), sum(group.files for group in groups))
    for name, block in [each for group in groups for each in group.blocks.items()]:
        block_declared = declared_blocks[name]
        assert [*block.figures] == [figure.name for figure in block_declared.group_figures]
        breakdown = block_declared.breakdown
        needed = set() if breakdown is None else {breakdown.part, "files", "bytes", "rows"}
        assert (breakdown is not None) == bool(block.parts)
        assert all(needed <= part.keys() for part in block.parts)


def following(look: ObservationRequest, seen: Observation | None) -> ObservationRequest:
    """The look after one that has seen something."""
    return look if seen is None else replace(look, known_uuid=seen.table_uuid, known_snapshot=seen.snapshot)


def test_looks_that_follow_a_table_find_what_a_full_look_finds(
    tables: FormatTables, table: Any, tmp_path: Path
) -> None:
    address = tables.address(table)
    watch, fresh = (watch_of(address, tmp_path / name) for name in ("following", "fresh"))
    look, seen = ObservationRequest(address, "table"), None

    def rewrite_history() -> None:
        tables.roll_back(table)
        tables.append(table)
        tables.append(table)

    changes = {
        "nothing": lambda: None,
        "others append": lambda: tables.append(table),
        "others compact": lambda: tables.compact_first_group(table),
        "a run": lambda: run(address),
        "others rewrite history": rewrite_history,
    }
    for name, change in changes.items():
        change()
        seen = watch.observe(following(look, seen))
        assert seen is not None, name
        assert seen == fresh.observe(replace(look, is_full=True)), name
        assert watch.observe(following(look, seen)) is None, name


def test_blocked_groups_stay_reported_until_their_files_change(
    tables: FormatTables, table: Any, tmp_path: Path
) -> None:
    address = tables.address(table)
    step = begun(*planned(address))
    failed = [
        TaskResult(
            *(task.index, TaskOutputs(), 0.0, 0),
            failure=TaskFailure("CorruptTable", next(iter(task.input_sizes)), "cut off"),
        )
        for task in step.tasks
    ]
    step.followers(failed)
    held = {block.told.group: block.told.fingerprint for block in step.finish(failed, [])}
    step.give_up()
    watch, look = watch_of(address, tmp_path / "cache"), ObservationRequest(address, "table")
    look = replace(look, wanted=Filter(Selection(held=held)))

    seen = watch.observe(look)
    changed = tables.compact_first_group(table)
    later = watch.observe(following(look, seen))

    assert seen is not None
    assert later is not None
    assert len(held) == 2
    assert {each.group: each.fingerprint for each in seen.blocked} == held
    assert [finding for finding in seen.findings if finding.bucket in held] == []
    assert {each.group for each in later.blocked} == held.keys() - {changed}


def test_a_full_look_finds_another_table_of_the_name(
    tables: FormatTables, table: Any, tmp_path: Path
) -> None:
    look = ObservationRequest(tables.address(table), "table")
    watch = watch_of(look.address, tmp_path / "cache")
    former = watch.observe(look)
    tables.make_again(table)

    seen = watch.observe(replace(following(look, former), is_full=True))

    assert former is not None
    assert seen is not None
    assert seen.table_uuid == open_table(look.address).uuid != former.table_uuid


class Reversed(InlineRunner):
    """Results come in the order in which tasks happen to end."""

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        return super().run(tasks, clock, progress)[::-1]


def test_the_order_of_results_does_not_matter(tables: FormatTables, table: Any) -> None:
    rows = tables.rows(table)
    report = run(tables.address(table), runner=Reversed(), sizing=Sizing(task_bytes=1))
    assert (report.status, tables.rows(table)) == ("Compacted", rows)


class TestSnapshots:
    """Ids are opaque: the same snapshot has the same id wherever it is named, and nothing else is asked."""

    def test_the_same_one_has_the_same_id_everywhere(
        self, tables: FormatTables, table: Any, tmp_path: Path
    ) -> None:
        address, look = tables.address(table), ObservationRequest(tables.address(table), "table")
        watch = watch_of(address, tmp_path / "cache")
        before = watch.observe(look)
        _, plan = planned(address)

        report = run(address, run="run-a")

        after, past = watch.observe(following(look, before)), open_table(address).find_run("run-a")
        assert before is not None
        assert after is not None
        assert past is not None
        found = past.found
        assert before.snapshot == plan.snapshot_id == report.snapshot_before == found.base
        assert after.snapshot == report.snapshot_after == found.snapshot
        assert found == watch.find_run(address, "run-a")
        assert before.snapshot != after.snapshot
        assert all(each is not None and is_snapshot_id(each) for each in (before.snapshot, after.snapshot))

    @pytest.mark.parametrize("known", ["another-format:7", "-1", "9" * 64])
    def test_one_that_the_table_never_had_is_no_news_that_nothing_changed(
        self, tables: FormatTables, table: Any, tmp_path: Path, known: str
    ) -> None:
        look = ObservationRequest(tables.address(table), "table")
        watch = watch_of(look.address, tmp_path / "cache")
        seen = watch.observe(look)
        assert seen is not None
        stale = replace(following(look, seen), known_snapshot=SnapshotId(known))
        assert watch.observe(stale) == seen
