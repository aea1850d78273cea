"""What every adapter of a table format does, through `tables.format` and whole runs alone."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from formats.paimon import PaimonTables
from infrastructure.oracle.client import Table
from lithify.clock import SystemClock
from lithify.errors import InvalidOption, NotFound, UnsupportedTable
from lithify.job.driver import Request, compact
from lithify.job.runner import InlineRunner
from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.format import Selection, Sizing, TableAddress
from lithify.tables.registry import open_table, open_watch
from lithify.tables.watching import Look
from support.cases import case
from support.crashes import assert_a_kill_is_harmless
from support.races import Meanwhile
from support.runs import ShiftedClock, run_inline, start
from support.tables import journals

pytestmark = pytest.mark.oracle

CLOCK = SystemClock(UTC)
BEFORE_COMMIT = ["planned", "journal-written", "file-written", "tasks-done", "manifests-written"]
AFTER_COMMIT = ["snapshot-written", "hint-written", "leftovers-deleted"]


def files_of(table: Table) -> set[Path]:
    return {path for path in table.folder.rglob("*") if path.is_file()}


def test_a_format_that_nobody_knows_is_refused_by_name() -> None:
    with pytest.raises(InvalidOption) as refused:
        open_table(TableAddress("/nowhere", "db.t", format="parchment"))
    assert refused.value.option == "format"


def test_a_table_has_one_identity_however_often_it_is_opened(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path)
    first, second = (open_table(tables.address(table)) for _ in range(2))
    assert (first.name, first.uuid) == (second.name, second.uuid)


@pytest.mark.parametrize("name", [case("db.none", id="table"), case("none.t", id="database")])
def test_what_does_not_exist_is_not_found(tables: PaimonTables, tmp_path: Path, name: str) -> None:
    table = tables.make(tmp_path)
    with pytest.raises(NotFound):
        open_table(TableAddress(str(table.warehouse), name))


def test_a_run_meant_for_a_table_that_was_replaced_does_nothing(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path)
    before = files_of(table)
    with pytest.raises(NotFound):
        run_inline(table, table_uuid="another")
    assert files_of(table) == before


def test_what_is_not_supported_is_refused_by_name_before_any_work(
    tables: PaimonTables, tmp_path: Path
) -> None:
    table, option = tables.make_unsupported(tmp_path)
    before = files_of(table)
    with pytest.raises(UnsupportedTable) as refused:
        run_inline(table)
    assert any(option in reason for reason in refused.value.reasons)
    assert files_of(table) == before


def test_a_plan_writes_nothing(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path)
    before = files_of(table)
    opened = open_table(tables.address(table))
    plan = opened.plan(opened.look(Selection()), Strategy.FULL, CLOCK, {})
    assert len(plan.units) == len(opened.tasks_of(plan, Sizing())) == 2
    assert all(unit.read_bytes > 0 and unit.rewritten_files > 0 for unit in plan.units)
    assert files_of(table) == before


def test_a_compaction_changes_no_row_and_says_what_it_did(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path)
    rows = tables.rows(table)

    report = run_inline(table)

    assert tables.rows(table) == rows
    assert (report.status, len(report.groups), report.skipped) == ("Compacted", 2, {})
    assert report.before.files > report.after.files > 0
    assert report.snapshot_before is not None
    assert report.snapshot_after is not None
    assert run_inline(table).status == "NothingToDo"
    assert tables.strays(table) == set()


def test_tasks_survive_the_way_to_an_executor(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path)
    opened = open_table(tables.address(table))
    plan = opened.plan(opened.look(Selection()), Strategy.FULL, CLOCK, {})
    for of_unit in opened.tasks_of(plan, Sizing()).values():
        for task in of_unit:
            assert pickle.loads(pickle.dumps(task)).input_sizes == task.input_sizes


def test_a_conflict_of_one_group_leaves_the_others_their_work(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path)
    rows = tables.rows(table)
    runner = Meanwhile(after=lambda: tables.compact_first_group(table))
    request = Request(tables.address(table), Strategy.FULL, max_rounds=1)

    report = compact(request, runner, ShiftedClock())

    assert [group.group for group in report.groups] == ["bucket-1"]
    assert list(report.skipped) == ["bucket-0"]
    assert tables.rows(table) == rows
    assert tables.strays(table) == set()


def test_rows_that_come_meanwhile_are_kept(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path)
    runner = Meanwhile(after=lambda: tables.append(table))

    report = run_inline(table, runner=runner)

    assert report.status == "Compacted"
    assert "late" in str(tables.rows(table))


def test_a_failed_run_leaves_nothing_behind(tables: PaimonTables, tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("planted")

    table = tables.make(tmp_path)
    rows = tables.rows(table)
    with pytest.raises(RuntimeError, match="planted"):
        run_inline(table, runner=Meanwhile(after=fail))
    for hours in (0, 2, 4):
        run_inline(table, full=False, shift=timedelta(hours=hours))
    assert tables.rows(table) == rows
    assert (tables.strays(table), journals(table)) == (set(), set())


@pytest.mark.parametrize("point", [*BEFORE_COMMIT, *AFTER_COMMIT])
def test_a_kill_at_any_point_is_harmless(tables: PaimonTables, tmp_path: Path, point: str) -> None:
    assert_a_kill_is_harmless(tables.oracle, tables.make(tmp_path), point)


def test_a_run_that_is_started_again_commits_once(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path)
    start(table, "--run", "run-a", faults={"snapshot-written": "kill"}).wait()

    opened = open_table(tables.address(table))
    found, committed = opened.find_run("run-a"), opened.committed_by("run-a")

    assert found is not None
    assert committed is not None
    assert (committed.snapshot, committed.is_complete) == (found.snapshot, True)
    assert len(opened.groups_of("run-a")) == 2
    request = Request(tables.address(table), Strategy.FULL, run="run-a")
    assert compact(request, InlineRunner(), ShiftedClock()).status == "AlreadyCommitted"


def test_looks_that_follow_a_table_find_what_a_full_look_finds(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path / "warehouse")
    address = tables.address(table)
    following, fresh = (
        open_watch(address.format, tmp_path / name, 1 << 20, CLOCK, 8) for name in ("following", "fresh")
    )
    look, seen = Look(address, "table", UTC), None
    for change in (lambda: None, lambda: tables.append(table), lambda: run_inline(table)):
        change()
        known = (
            look if seen is None else replace(look, known_uuid=seen.table_uuid, known_snapshot=seen.snapshot)
        )
        seen = following.observe(known)
        assert seen is not None
        assert seen == fresh.observe(replace(look, is_full=True))
        again = replace(look, known_uuid=seen.table_uuid, known_snapshot=seen.snapshot)
        assert following.observe(again) is None


def test_a_catalog_lists_its_tables(tables: PaimonTables, tmp_path: Path) -> None:
    table = tables.make(tmp_path / "warehouse")
    watch = open_watch(tables.address(table).format, tmp_path / "kept", 1 << 20, CLOCK, 8)
    assert watch.list_tables(tables.address(table)) == (str(table.name),)
