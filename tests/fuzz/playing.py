"""Plays a history on a real table, and asks after each of our compactions what Java makes of the same.

Alone, a compaction of ours must be the round that Java's manager makes on a copy. With commits of Java beside
it, the rows must be those of a copy on which Java alone committed. Later steps build on what we made, older
snapshots must stay as they were, and at the end Java compacts our files.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from differential.rounds import Round, assert_rounds_agree
from differential.rows import Value, create, draw_keys, draw_row, positive, values_of
from fuzz.history import Alter, Beside, Branch, Compact, Expire, History, JavaCompacts, Step, Write
from lithify.job.planner import Sizing
from lithify.job.steps import Commits
from lithify.rewriting.budget import Budget
from oracle.client import Oracle, Table
from oracle.model import Digest, Row
from support.races import Meanwhile
from support.runs import run_inline
from support.tables import copy_of, expire, stray_files


def play(history: History, oracle: Oracle, folder: Path) -> None:
    """Plays all of it in an empty folder.

    Raises:
        AssertionError: something is not as Java has it.
        LithifyError: we would not do what Java does.
        OracleError: Java would not do what we do, or the history makes no sense.
    """
    _Play(history, oracle, folder).to_the_end()


class _Play:
    def __init__(self, history: History, oracle: Oracle, folder: Path) -> None:
        self._history = history
        self._oracle = oracle
        self._folder = folder
        self._table = Table(folder / "table", "db.t")
        self._snapshots: dict[tuple[str | None, int], Digest] = {}
        self._keys = draw_keys(Random(history.seed), history, history.key_values)

    def to_the_end(self) -> None:
        create(self._oracle, self._table, self._history, self._history.options)
        for step in self._history.steps:
            self._take(step)
        self._check_snapshots()
        rows = self._oracle.read(self._table)
        self._oracle.compact(self._table, options={"compaction.force-rewrite-all-files": "true"})
        assert self._oracle.read(self._table) == rows, "Java has compacted our files"

    def _take(self, step: Step) -> None:
        match step:
            case Compact():
                self._look()
                if step.beside:
                    self._compact_beside(step)
                else:
                    self._compact_alone(step)
            case Expire():
                expire(self._oracle, self._table)
                self._snapshots.clear()
            case Branch():
                self._oracle.create_tag(self._table, "tag")
                self._oracle.create_branch(self._table, "branch", "tag")
                self._table = self._table.branch("branch")
            case _:
                self._let_java(self._table, step)

    def _let_java(self, table: Table, step: Beside) -> None:
        match step:
            case Write():
                self._oracle.write(table, self._rows(table, step))
            case JavaCompacts(full):
                low = {"num-sorted-run.compaction-trigger": "3"}
                self._oracle.compact(table, full=full, options=low)
            case Alter(changes):
                self._oracle.alter_table(table, *changes)

    # What we do

    def _compact_alone(self, step: Compact) -> None:
        oracle, table = self._oracle, self._table
        rows, before = oracle.read(table), oracle.files(table)
        java = copy_of(table, self._folder / "java")
        oracle.manager_round(java, full=step.full, commit=True)
        self._run(step)
        assert oracle.read(table) == rows
        of_ours, of_java = (Round(each, before, oracle.files(each)) for each in (table, java))
        assert_rounds_agree(oracle, of_ours, of_java)
        self._leave(java)

    def _compact_beside(self, step: Compact) -> None:
        twin = copy_of(self._table, self._folder / "twin")
        for other in step.beside:
            self._let_java(twin, other)
        to_come = [partial(self._let_java, self._table, other) for other in step.beside]

        def java_commits() -> None:
            while to_come:
                to_come.pop(0)()

        self._run(step, runner=Meanwhile(after=java_commits))
        java_commits()
        assert self._oracle.read(self._table) == self._oracle.read(twin)
        self._leave(twin)

    def _run(self, step: Compact, **how: Any) -> None:
        sizing = Sizing(step.task_bytes, Budget(step.budget))
        run_inline(self._table, full=step.full, sizing=sizing, commits=Commits(step.step_bytes), **how)

    def _leave(self, other: Table) -> None:
        """Our table has nothing left over, and the copy goes."""
        assert stray_files(self._oracle, self._table) == set()
        shutil.rmtree(str(other.warehouse))

    # What stays as it is

    def _look(self) -> None:
        """Remembers what a reader gets of the newest snapshot."""
        snapshots = [snapshot["id"] for snapshot in self._oracle.snapshots(self._table)]
        if snapshots:
            name = (self._table.name, max(snapshots))
            self._snapshots[name] = self._oracle.digest(self._table, snapshot_id=name[1])

    def _check_snapshots(self) -> None:
        for (name, snapshot), digest in self._snapshots.items():
            table = Table(self._table.warehouse, name)
            assert self._oracle.digest(table, snapshot_id=snapshot) == digest, (name, snapshot)

    # What Java writes

    def _rows(self, table: Table, step: Write) -> list[Row]:
        random, history = Random(step.seed), self._history
        values = values_of(self._oracle, table, history)
        if history.has_orc:
            # Java reads a batch of an ORC file that has only zeros as if all had the sign of the first.
            values = {name: _positive(value) for name, value in values.items()}
        rows = [draw_row(random, history, self._keys, values, step.deletes) for _ in range(step.rows)]
        told_by = history.options.get("rowkind.field")
        return rows if told_by is None else [_told(row, 1 + [*values].index(told_by)) for row in rows]


def _positive(value: Value) -> Value:
    return lambda random: positive(value(random))


def _told(row: Row, place: int) -> Row:
    """A row whose kind is in one of its columns."""
    return ["+I", *row[1:place], row[0], *row[place + 1 :]]
