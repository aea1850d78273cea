"""Plays a history on a real Iceberg table: Spark reads the same rows before and after each of our runs.

Others change the table between our runs, and at points of them. Rows are read before a run, after each change
in its course, and after it, so what the run changes shows at once. The first change after a run must have its
effect on what we wrote, where that effect is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from unittest.mock import patch

import pytest

from infrastructure.iceberg import catalogs
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import SparkTable
from java.fuzz.iceberg.columns import FIXED
from java.fuzz.iceberg.history import Append, Compact, Delete, Foreign, History, RollBack, Step
from java.fuzz.iceberg.others import BRANCH, Others
from java.fuzz.iceberg.reading import assert_filters_agree, assert_go_agrees
from java.fuzz.iceberg.rows import (
    Rows,
    assert_ids_are_unique,
    assert_rows_are_kept,
    assert_rows_stay,
    chosen,
    read,
)
from lithify.engine.rewrite.budget import Budget
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.engine.run.steps import Commits
from lithify.errors import AttemptFenced, CommitConflict, UnsupportedTable
from lithify.formats.iceberg.rewriting import packing
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Sizing
from support.copying import copying_from
from support.iceberg_checks import assert_nothing_left_over, assert_whole, data_files
from support.joining import joining_from
from support.races import steps_at
from support.runs import ShiftedClock

MAIN = "main"


def play(history: History, spark: SparkIceberg, folder: Path) -> None:
    """Plays all of it in an empty folder.

    Raises:
        AssertionError: a run has changed the table's rows, or has left it in disorder.
        LithifyError: we refuse a table that Spark made.
        OracleError: Spark cannot read or change what we wrote.
    """
    address = spark.add_catalog(catalogs.sql(folder / "catalog"))
    _Play(history, SparkTable(spark, address, "db.t"), folder).to_the_end()


class _Play:
    def __init__(self, history: History, table: SparkTable, folder: Path) -> None:
        self._history = history
        self._table = table
        self._others = Others(table, f"file://{folder}/elsewhere")
        self._folder = folder
        self._rows: dict[str, Rows] = {}
        self._runs = 0
        self._is_fresh = False
        self._is_known = True

    def to_the_end(self) -> None:
        self._create()
        for step in self._history.steps:
            self._take(step)
        assert_filters_agree(self._table)
        if self._history.is_parquet:  # iceberg-go reads nothing else
            assert_go_agrees(self._table)
        self._table.run(f"DROP TABLE {self._table.name}")

    def _create(self) -> None:
        history = self._history
        columns = {**FIXED, **history.columns}
        modes = {"write.delete.mode": "copy-on-write"} if history.version == 1 else {}
        data = f"file://{self._folder}/elsewhere"
        properties = {name: text.format(data=data) for name, text in history.properties.items()}
        self._table.create(
            history.version,
            properties={**properties, **modes},
            columns=", ".join(f"{name} {kind}" for name, kind in columns.items()),
        )
        for transform in history.partitions:
            self._table.alter(f"ADD PARTITION FIELD {transform}")
        self._rows = self._read()

    def _take(self, step: Step) -> None:
        if isinstance(step, Compact):
            self._compact(step)
        else:
            self._foreign(step)

    def _read(self) -> dict[str, Rows]:
        """The rows by branch."""
        version = self._others.version
        found = {MAIN: read(self._table, version)}
        if self._others.has_branch:
            found[BRANCH] = read(self._table, version, BRANCH)
        return found

    def _foreign(self, step: Foreign) -> None:
        before = self._rows
        self._others.take(step)
        self._is_known = self._runs > 0 or self._is_fresh
        if self._is_known:
            self._rows = self._read()
            _assert_effect(step, before[MAIN], self._rows[MAIN])
        self._is_fresh = False

    def _compact(self, step: Compact) -> None:
        self._rows = self._rows if self._is_known else self._read()
        self._is_known = True
        self._runs += 1
        before = data_files(self._table)
        with pytest.MonkeyPatch.context() as patched, _handling(step.joins):
            points = self._points(step)
            if points:
                steps_at(patched, points)
            try:
                self._run(step)
            except CommitConflict:
                assert step.beside or self._runs > 1
            except AttemptFenced:  # a run beside it found that its files are gone, and cleans up after it
                assert self._runs > 1 or any(isinstance(other, Compact) for _, other in step.beside)
            except UnsupportedTable:
                if self._history.is_parquet:
                    raise
        if not step.beside and self._runs == 1:
            assert_nothing_left_over(self._table, before)
        after = self._read()
        for branch, rows in self._rows.items():
            assert_rows_stay(rows, after[branch])
            assert_whole(self._table, branch)
        self._rows, self._is_fresh = after, True
        self._runs -= 1

    def _run(self, step: Compact) -> None:
        strategy = Strategy.FULL if step.full else Strategy.MINOR
        branch = BRANCH if step.on_branch and self._others.has_branch else ""
        request = Request(
            address_of(self._table, branch, step),
            Selection(strategy=strategy),
            sizing=Sizing(step.task_bytes, Budget(step.budget)),
            commits=Commits(step.step_bytes),
        )
        report = compact(request, InlineRunner(), ShiftedClock())
        print(
            f"{report.status}: {len(report.groups)} groups in {report.commits} commits, "
            f"{report.rounds} rounds, {report.commit_tries} tries, {report.copied_bytes} bytes copied"
        )

    def _points(self, step: Compact) -> dict[str, Callable[[], None]]:
        """What others do at each point: their first step when the run comes there first, and so on."""
        queues: dict[str, list[Step]] = defaultdict(list)
        for point, other in step.beside:
            queues[point].append(other)

        def next_of(point: str) -> Callable[[], None]:
            return lambda: self._take(queues[point].pop(0)) if queues[point] else None

        return {point: next_of(point) for point in queues}


def address_of(table: SparkTable, branch: str, step: Compact) -> TableAddress:
    """The table as a run opens it."""
    known = table.catalog
    name = f"{table.identifier}$branch_{branch}" if branch else table.identifier
    database = known.pyiceberg["uri"].removeprefix("sqlite:///")
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{database}", "catalog-name": known.name}
    return TableAddress(known.pyiceberg["warehouse"], name, options, overrides=step.options, format="iceberg")


def _assert_effect(step: Foreign, before: Rows, after: Rows) -> None:
    """Checks what others did to rows that we may have rewritten, where that follows from the step alone."""
    match step:
        case Append():
            assert_rows_are_kept(before, after)
            assert after.total() == before.total() + step.count
        case Delete():
            assert_rows_stay(chosen(before, lambda number: number not in step.which), after)
    if not isinstance(step, RollBack):
        assert_ids_are_unique(after)


def _handling(joins: str) -> AbstractContextManager[object]:
    """Files of a few rows are joined or copied as large ones are, for a run."""
    if joins == "join":
        return joining_from()
    if joins == "copy":
        return _copying()
    return nullcontext()


def _copying() -> AbstractContextManager[object]:
    stack = ExitStack()
    stack.enter_context(copying_from(1))
    stack.enter_context(patch.object(packing, "SMALLEST_COPIED", 1))
    return stack
