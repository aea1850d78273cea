"""Plays a random history of a keyed table: nobody may see that it was compacted in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from infrastructure.arctic.merge_on_read import PositionRule, merge_on_read
from infrastructure.arctic.random_tables import RandomHistory
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CommitConflict, UnsupportedTable
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.races import Meanwhile

_ROUNDS, _STEPS = 4, 4
_EAGER = {"compact.major.file.cnt": "1"}
"""Makes small partitions due for minor compactions, too."""

Rows = list[Any]


def play(history: RandomHistory[Any], address: TableAddress, read: Callable[[], Rows], key: str) -> None:
    """Plays a history.

    Args:
        history: the table and what happens to it.
        address: where runs find it.
        read: all rows of the table as its reader merges them.
        key: the column of the primary key.
    """
    for _ in range(_ROUNDS):
        print(*history.changing(_STEPS))
        before, expected = read(), model_of(history, key)
        assert before == expected, "the reader and the model disagree before we do anything"
        _compact(history, address)
        assert read() == model_of(history, key)
        if history.chance.random() < 0.4:
            kept = read()
            print(history.optimize())
            assert read() == kept, "the other executor changed a row"


def model_of(history: RandomHistory[Any], key: str) -> Rows:
    """The rows that have to be, whoever reads."""
    files, line = history.writer.files(history.table), history.writer.line(history.table)
    rows = merge_on_read(files.base, files.change, line, [key], PositionRule.SAME_NODE)
    return sorted([list(row) for row in rows.rows()], key=repr)


def _compact(history: RandomHistory[Any], address: TableAddress) -> None:
    """A run of ours, in half of them with a step of others between its tasks and its commit."""
    is_raced, is_full = history.chance.random() < 0.5, history.chance.random() < 0.7
    before, files, line = model_of(history, "id"), _changes(history), history.writer.line(history.table)
    runner = Meanwhile(after=lambda: print("meanwhile", *history.changing(1))) if is_raced else InlineRunner()
    selection = Selection(strategy=Strategy.FULL if is_full else Strategy.MINOR)
    request = Request(replace(address, overrides={**address.overrides, **_EAGER}), selection)
    try:
        print("ours", selection.strategy, compact(request, runner, SystemClock()).status)
    except (CommitConflict, UnsupportedTable) as error:
        print("ours", type(error).__name__)
    if not is_raced:
        assert model_of(history, "id") == before
    moved = {key: now for key, now in history.writer.line(history.table).items() if now != line.get(key)}
    assert moved.items() <= files, "the line is not that of a change that was there when the run began"


def _changes(history: RandomHistory[Any]) -> set[tuple[str, int | None]]:
    """Partition and sequence number of each change file."""
    return {(file.partition, file.sequence) for file in history.writer.files(history.table).change}
