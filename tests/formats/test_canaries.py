"""Canaries of every adapter that has them: nothing stays of one that passes, and wrong rows stop the run."""

from __future__ import annotations

import json
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from formats.tables import FormatTables
from lithify.engine.attempts.canary_records import CanaryRecords
from lithify.engine.run.canary import copy_of, run_of_copy
from lithify.engine.run.driver import Request, Silent, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CanaryFailed, UnsupportedTable
from lithify.faults import CANARY_POINTS
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.canary import CanaryTable
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.registry import open_table
from support.crashes import SETTLED
from support.runs import ShiftedClock, start
from support.wrong_rewrites import Damage, WrongRewrites, lose_a_row, repeat_a_row

RUN = "run-a"
DEAD = timedelta(hours=25)
"""When a run without a sign of life is dead."""
COPY = copy_of(RUN)


@pytest.fixture
def canary(tables: FormatTables, table: Any) -> CanaryTable:
    """The copies of a table; formats without any have their own test."""
    address = tables.address(table)
    found = open_table(address).canary(address)
    if found is None:
        pytest.skip("tables of this format have no canary")
    return found


def run(
    address: TableAddress,
    runner: InlineRunner | None = None,
    *,
    shift: timedelta = timedelta(),
    observer: Silent | None = None,
    **changes: Any,
) -> Report:
    request = Request(address, Selection(strategy=Strategy.FULL), **{"canary": True, "run": RUN, **changes})
    return compact(request, runner or InlineRunner(), ShiftedClock(shift), observer)


def kill(address: TableAddress, point: str) -> None:
    catalog = json.dumps(dict(address.catalog_options))
    given = ("--format", address.format, "--catalog", catalog, "--canary", "--run", RUN)
    assert start(address, *given, faults={point: "kill"}).wait().code == -signal.SIGKILL


def head(address: TableAddress) -> str:
    view = open_table(address).pin_view(Selection())
    assert view is not None
    return view.snapshot_id


def records(canary: CanaryTable) -> CanaryRecords:
    return CanaryRecords(canary.home, canary.storage)


def test_a_format_without_copies_refuses_canaries_by_name(tables: FormatTables, table: Any) -> None:
    address = tables.address(table)
    if open_table(address).canary(address) is not None:
        pytest.skip("tables of this format have canaries")
    with pytest.raises(UnsupportedTable) as refused:
        run(address)
    assert [reason.split(":")[0] for reason in refused.value.reasons] == ["option canary"]
    assert run(address, canary=False).status == "Compacted"


def test_a_canary_that_passes_leaves_nothing_but_the_compaction(
    tables: FormatTables, table: Any, canary: CanaryTable
) -> None:
    rows, address = tables.rows(table), tables.address(table)

    report = run(address)

    assert report.status == "Compacted"
    assert report.canary is not None
    assert (report.canary.groups, report.canary.rows) == (len(report.groups), len(rows))
    assert not report.uncleaned
    assert tables.rows(table) == rows
    assert not canary.has_copy(COPY)
    assert records(canary).all() == []
    assert tables.strays(table) == set()
    assert run(address, run="run-b").canary is not None


def test_a_table_without_work_has_a_canary_that_compares_nothing(
    tables: FormatTables, table: Any, canary: CanaryTable
) -> None:
    address = tables.address(table)
    run(address, canary=False)
    again = run(address, run="run-b")
    assert again.status == "NothingToDo"
    assert again.canary is not None
    assert (again.canary.groups, again.canary.rows) == (0, 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", [lose_a_row, repeat_a_row])
def test_wrong_rows_stop_the_run_before_it_begins(
    tables: FormatTables, table: Any, canary: CanaryTable, tmp_path: Path, damage: Damage
) -> None:
    rows, address = tables.rows(table), tables.address(table)
    before = head(address)

    with pytest.raises(CanaryFailed) as failed:
        run(address, WrongRewrites(tmp_path, damage))

    assert failed.value.copy == COPY
    assert (tables.rows(table), head(address)) == (rows, before)
    assert canary.has_copy(COPY)
    found = records(canary).of(RUN)
    assert found is not None
    assert found.differences.count(" before, ") == 1
    runner = WrongRewrites(tmp_path)
    for name in (RUN, "run-b"):  # until somebody has looked
        with pytest.raises(CanaryFailed):
            run(address, runner, run=name, shift=DEAD)
    assert runner.digested == 0
    assert run(address, run="run-c", canary=False, shift=DEAD).status == "Compacted"
    assert tables.rows(table) == rows
    canary.drop_copy(COPY, run_of_copy(RUN))
    assert run(address, run="run-d").status == "NothingToDo"
    assert records(canary).all() == []
    assert tables.rows(table) == rows


@pytest.mark.sampled(3)
@pytest.mark.parametrize("point", [*CANARY_POINTS, "journal-written", "tasks-done", "snapshot-written"])
def test_a_kill_at_any_point_leaves_a_table_that_the_next_attempt_compacts(
    tables: FormatTables, table: Any, canary: CanaryTable, point: str
) -> None:
    if point == "canary-branch-deleted" and tables.address(table).format != "paimon":
        pytest.skip("branches of this format are dropped in one commit")
    rows, address = tables.rows(table), tables.address(table)
    before = head(address)

    kill(address, point)

    assert (tables.rows(table), head(address)) == (rows, before)
    assert len(records(canary).all()) == 1
    runner = WrongRewrites(Path(canary.home))
    report = run(address, runner)
    has_passed = point in ("canary-passed",)
    assert (report.status, tables.rows(table)) == ("Compacted", rows)
    assert report.canary is not None
    assert report.canary.rows == len(rows)
    assert bool(runner.digested) != has_passed
    assert not canary.has_copy(COPY)
    assert records(canary).all() == []


def test_a_copy_of_a_dead_run_is_dropped_by_any_later_run(
    tables: FormatTables, table: Any, canary: CanaryTable
) -> None:
    rows, address = tables.rows(table), tables.address(table)
    kill(address, "canary-compacted")
    run(address, run="run-b", canary=False)
    assert canary.has_copy(COPY)  # its run may live

    run(address, run="run-c", canary=False, shift=DEAD)

    assert not canary.has_copy(COPY)
    assert records(canary).all() == []
    for later in (SETTLED, 2 * SETTLED, 3 * SETTLED):
        run(address, run="run-d", canary=False, shift=DEAD + later)
    assert (tables.strays(table), tables.notes(table), tables.rows(table)) == (set(), set(), rows)


class Stopping(Silent):
    """Stops the run as soon as some tasks of the copy are done."""

    def progressed(self, done: int) -> None:
        if done:
            raise KeyboardInterrupt


def test_a_run_that_is_stopped_drops_its_copy(tables: FormatTables, table: Any, canary: CanaryTable) -> None:
    rows, address = tables.rows(table), tables.address(table)
    before = head(address)
    with pytest.raises(KeyboardInterrupt):
        run(address, observer=Stopping())
    assert not canary.has_copy(COPY)
    assert records(canary).all() == []
    assert (tables.rows(table), head(address)) == (rows, before)
