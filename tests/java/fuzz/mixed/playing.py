"""Plays random histories of keyed tables: Arctic reads the same rows before and after each of our runs.

Writers and Arctic's own optimizer change the table between our runs, and one of them at a point of some runs.
Now and then all snapshots expire that are not needed.
The model of merge-on-read says the same rows, with position deletes as either generation of readers has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Generic, Protocol

import pytest

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.merge_on_read import PositionRule, is_below, merge_on_read
from infrastructure.arctic.model import Files, KeyedTable
from infrastructure.arctic.random_tables import COLUMNS, RandomHistory, T, T_contra, Writer
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.maintaining import maintain
from lithify.engine.run.runner import InlineRunner
from lithify.errors import AttemptFenced, CommitConflict, UnsupportedTable
from lithify.formats.mixed.stores import PRIMARY_KEY
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.strategy import Strategy
from support.races import step_at
from support.runs import ShiftedClock

POINTS = ("planned", "journal-written", "file-written", "tasks-done", "prepared", "snapshot-written")
_ROUNDS = 3
_ALL = {"history.expire.max-snapshot-age-ms": "0"}
_STRATEGIES = (Strategy.FULL, Strategy.FULL, Strategy.FULL, Strategy.MINOR)


def history_in_folders(
    arctic: Arctic, folder: Path, seed: int
) -> tuple[RandomHistory[KeyedTable], TableAddress]:
    """A history of a table of Arctic 0.4, whose key the address names, and the address."""

    def create(partition: Sequence[str], properties: Mapping[str, str]) -> KeyedTable:
        return arctic.create(KeyedTable(folder / "db" / "t", COLUMNS, ["id"], partition), properties)

    history = RandomHistory.start(arctic, create, seed, has_plain_positions=False)
    return history, TableAddress(str(folder), "db.t", overrides={PRIMARY_KEY: "id"}, format="mixed-iceberg")


class ReadingWriter(Writer[T_contra], Protocol[T_contra]):
    """A writer that reads, too."""

    def read(self, table: T_contra) -> list[list[Any]]: ...


@dataclass(slots=True)
class Player(Generic[T]):
    """Plays one history.

    Attributes:
        history: of the steps of others.
        reader: reads the table as Arctic does.
        address: of the table, as a run opens it.
        taken: names of the steps so far.
    """

    history: RandomHistory[T]
    reader: ReadingWriter[T]
    address: TableAddress
    taken: list[str] = field(default_factory=list)

    def play(self) -> None:
        """Plays rounds of changes, each before a run of ours or of Arctic's, and prints its steps."""
        try:
            self._play()
        finally:
            print(*self.taken, sep="\n")

    def _play(self) -> None:
        for _ in range(_ROUNDS):
            self.taken += self.history.changing(4)
            before = self._rows()
            if self.history.chance.random() < 0.8:
                self._compact(before)
            else:
                self.taken.append(self.history.optimize())
                self._check(before)
            if self.history.chance.random() < 0.5:
                self._expire()

    def _expire(self) -> None:
        """Expires all snapshots that are not needed, as if a month had passed."""
        before = self._rows()
        address = replace(self.address, overrides={**self.address.overrides, **_ALL})
        report = maintain(address, MaintenanceKind.EXPIRE_SNAPSHOTS, ShiftedClock(timedelta(days=30)))
        self.taken.append(f"expiry: {report.figures}")
        self._check(before)

    def _compact(self, before: list[list[Any]]) -> None:
        strategy = self.history.chance.choice(_STRATEGIES)
        expected, beside = [before], self.history.chance.random() < 0.4

        def step() -> None:
            self.taken.append(f"beside: {self.history.beside()}")
            expected.append(self._rows())

        with pytest.MonkeyPatch.context() as patched:
            if beside:
                step_at(patched, self.history.chance.choice(POINTS), step)
            self.taken.append(self._run(strategy, beside=beside))
        self._check(expected[-1])

    def _run(self, strategy: Strategy, *, beside: bool) -> str:
        request = Request(self.address, Selection(strategy=strategy))
        changes, line = self._changes(), self.reader.line(self.history.table)
        try:
            report = compact(request, InlineRunner(), ShiftedClock())
        except (AttemptFenced, CommitConflict):
            assert beside
            return f"{strategy}: conflict"
        except UnsupportedTable:
            # Position deletes in a node above base files, as Arctic's minor leaves them when nodes change.
            assert self._has_positions_above()
            return f"{strategy}: refused"
        if not beside:
            moved = dict(self.reader.line(self.history.table).items() - line.items())
            assert moved.items() <= changes, "the line is not that of a change that was there"
        return f"{strategy}: {report.status}, {report.commits} commits"

    def _changes(self) -> set[tuple[str, int | None]]:
        """Partition and sequence number of each change file."""
        return {(file.partition, file.sequence) for file in self.reader.files(self.history.table).change}

    def _has_positions_above(self) -> bool:
        files = self.reader.files(self.history.table).base
        above = {(file.partition, file.node) for file in files if file.type == "PD"}
        return any(
            file.partition == partition and file.node != node and is_below(file.node, node)
            for file in files
            if file.type == "B"
            for partition, node in above
        )

    def _rows(self) -> list[list[Any]]:
        return _ordered(self.reader.read(self.history.table))

    def _check(self, expected: list[list[Any]]) -> None:
        assert self._rows() == expected
        files, line = self.reader.files(self.history.table), self.reader.line(self.history.table)
        for rule in PositionRule:
            assert _by_model(files, line, rule) == expected, rule


def _by_model(files: Files, line: Mapping[str, int], rule: PositionRule) -> list[list[Any]]:
    return _ordered(merge_on_read(files.base, files.change, line, ["id"], rule).rows())


def _ordered(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return sorted((list(row) for row in rows), key=repr)
