"""Plays a history on a real table, and asks after each of our compactions what Java makes of the same.

Alone, a compaction of ours must be the round that Java's manager makes on a copy. With commits of Java beside
it, the rows must be those of a copy on which Java alone committed. Later steps build on what we made, older
snapshots must stay as they were, and at the end Java compacts our files.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from java.fuzz.engines import is_stable
from java.fuzz.history import Branch, Compact, Consume, FastForward, History, Step, Tag
from java.fuzz.index_reads import (
    IndexedTable,
    asks_of_indexes,
    assert_indexed_alike,
    assert_skipped_alike,
)
from java.fuzz.java import Java
from java.fuzz.memory import Memory
from java.fuzz.metadata import asks, misled, standing
from java.fuzz.outside import Outside
from java.fuzz.postponing import assert_moved_as_by_java
from java.fuzz.producers import assert_changelog_files_agree, written_changes
from java.fuzz.streaming import CONSUMER, assert_streams_agree, is_replayable
from lithify.engine.rewrite.budget import Budget
from lithify.engine.run.steps import Commits
from lithify.formats.protocol.tasks import Sizing
from lithify.sizes import parse_size
from support.comparing.rounds import TARGET, Round, assert_rounds_agree
from support.comparing.streams import assert_stream_is_the_table
from support.comparing.vectors import deleted, unpaired
from support.races import Meanwhile
from support.runs import run_inline
from support.tables import copy_of, stray_files


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
        self._table = self._main = Table(folder / "table", "db.t")
        self._outside = Outside(folder / "outside")
        self._memory = Memory(oracle, self._main)
        self._java = Java(history, oracle, self._memory, folder / "outside")

    def to_the_end(self) -> None:
        self._java.create(self._table)
        for step in self._history.steps:
            self._take(step)
        self._memory.check()
        rows = self._oracle.read(self._table)
        self._java.compact(self._table, {"compaction.force-rewrite-all-files": "true"}, full=True)
        if is_stable(self._history.options):
            assert self._oracle.read(self._table) == rows, "Java has compacted our files"
        if is_replayable(self._history):
            assert_stream_is_the_table(self._oracle, self._table)

    def _take(self, step: Step) -> None:
        match step:
            case Compact():
                self._memory.look(self._table)
                if step.beside and not self._history.aggregates:
                    self._compact_beside(step)
                else:
                    self._compact_alone(step)
                    for other in step.beside:
                        self._java.take(self._table, other)
            case Consume(plans):
                self._oracle.consume(self._table, CONSUMER, plans)
            case Tag():
                self._memory.tag()
            case Branch() if not self._oracle.snapshots(self._main):
                pass  # Java ignored all that was written
            case FastForward() if self._table == self._main:
                pass
            case Branch():
                self._oracle.create_tag(self._main, "tag")
                self._oracle.create_branch(self._main, "branch", "tag")
                self._table = self._main.branch("branch")
            case FastForward():
                self._oracle.fast_forward(self._main, "branch")
                self._table = self._main
                self._memory.forget(self._main, after=0)
            case _:
                self._java.take(self._table, step)

    def _compact_alone(self, step: Compact) -> None:
        oracle, table, outside = self._oracle, self._table, self._outside.files
        schema = oracle.schema(table)
        target = parse_size(schema["options"].get("target-file-size", "128 mb"))
        if self._history.is_postponed:
            assert_moved_as_by_java(oracle, table, self._folder, target, self._outside.of_copy)
        rows, before = oracle.read(table), oracle.files(table)
        newest = max((int(snapshot["id"]) for snapshot in oracle.snapshots(table)), default=0)
        java = copy_of(table, self._folder / "java")
        with self._outside.of_copy():
            self._java.round(java, full=step.full)
            if self._history.aggregates:
                rows = oracle.read(java)  # what is merged first makes a difference
        self._run(step)
        if not is_stable(self._history.options):
            rows = oracle.read(java)
        assert oracle.read(table) == rows
        key = [*self._history.key.values()]
        of_ours, of_java = (Round(each, before, oracle.files(each), target, key) for each in (table, java))
        assert_rounds_agree(oracle, of_ours, of_java)
        indexed = IndexedTable.of(schema)
        self._compare_indexes(indexed, rows, of_ours, of_java)
        is_whole = step.step_bytes is None and target >= TARGET
        ours, theirs = (standing(oracle, each, with_manifests=is_whole) for each in (table, java))
        assert ours == theirs
        assert written_changes(oracle, table, newest) == written_changes(oracle, java, newest)
        if is_whole and step.task_bytes is None:
            assert_changelog_files_agree(oracle, table, java, newest, indexed.types)
        assert_streams_agree(oracle, table, java, newest)
        assert deleted(oracle, table) == deleted(oracle, java)
        assert len(unpaired(oracle, table)) <= len(unpaired(oracle, java))
        if step.full:
            columns = {each["name"]: each["type"] for each in schema["fields"]}
            self._ask(asks(Random(len(rows)), columns, rows), java)
        self._leave(java, outside)

    def _compare_indexes(self, table: IndexedTable, rows: Sequence[Row], ours: Round, java: Round) -> None:
        """New files of both have the same indexes, and Java skips as much by ours as by its own."""
        mine, theirs = ours.added, java.added
        assert_indexed_alike(mine, theirs, table.types)
        filters = asks_of_indexes(Random(len(rows)), table, rows)
        pairs = [*zip(mine, theirs, strict=True)] if len(mine) == len(theirs) else []
        assert_skipped_alike(self._oracle, (ours.table, java.table), pairs, filters)
        self._ask(filters, java.table)

    def _ask(self, filters: Sequence[Filter], java: Table) -> None:
        """Java finds no less in our files than in its own."""
        missed = misled(self._oracle, self._table, [ask for ask in filters if "[" not in ask["column"]])
        if missed:
            assert missed == misled(self._oracle, java, missed)

    def _compact_beside(self, step: Compact) -> None:
        outside = self._outside.files
        twin = copy_of(self._table, self._folder / "twin")
        with self._outside.of_copy():
            for other in step.beside:
                self._java.take(twin, other)
        to_come = [partial(self._java.take, self._table, other) for other in step.beside]

        def java_commits() -> None:
            while to_come:
                to_come.pop(0)()

        moment = {"before" if step.early else "after": java_commits}
        self._run(step, runner=Meanwhile(**moment))
        java_commits()
        rows = self._oracle.read(self._table)
        assert rows == self._oracle.read(twin)
        indexed = IndexedTable.of(self._oracle.schema(self._table))
        self._ask(asks_of_indexes(Random(len(rows)), indexed, rows), twin)
        self._leave(twin, outside)

    def _run(self, step: Compact, **how: Any) -> None:
        sizing = Sizing(step.task_bytes, Budget(step.budget))
        commits = Commits(step.step_bytes)
        report = run_inline(self._table, full=step.full, sizing=sizing, commits=commits, **how)
        assert report.blocked == ()

    def _leave(self, other: Table, outside: set[Path]) -> None:
        """Our table has nothing left over, and the copy goes."""
        shutil.rmtree(str(other.warehouse))
        self._outside.forget_copies()
        assert stray_files(self._oracle, self._table) <= self._java.left
        strays = self._outside.strays(self._oracle, self._table, outside)
        assert {path.name for path in strays} <= self._java.left
