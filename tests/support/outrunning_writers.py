"""Runs on an Iceberg table beside a writer that outruns their first tries."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from signal import SIGKILL

import pytest

from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import Strategy
from support.iceberg_commits import delete_positions
from support.iceberg_tables import Lakehouse
from support.races import steps_at
from support.runs import ShiftedClock


@dataclass
class OutrunningWriter:
    """Deletes a row by position during each of the first tries, of a file that is being compacted.

    Attributes:
        lakehouse: the table, whose files have rows 0 and 1, 2 and 3...
        left: how many tries it still outruns.
        rows: the rows that it deletes, one with each commit.
        deleted: the rows that it has deleted so far.
        files: the file of each row.
    """

    lakehouse: Lakehouse
    left: int
    rows: list[int]
    deleted: list[int] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)

    def take(self) -> None:
        """Commits, unless it has outrun enough tries."""
        if self.left:
            self.left -= 1
            self.deleted.append(row := self.rows.pop())
            delete_positions(self.lakehouse.address(), {self.files[row]: [row % 2]})


def run(lakehouse: Lakehouse, name: str, hours: int = 0) -> Report:
    """Compacts two files each to one, some hours from now."""
    address = replace(lakehouse.address(), overrides={"max-file-group-input-files": "2"})
    request = Request(address, Selection(strategy=Strategy.FULL), run=name)
    return compact(request, InlineRunner(), ShiftedClock(timedelta(hours=hours)))


def dies(lakehouse: Lakehouse, writer: OutrunningWriter, point: str, number: int) -> None:
    """Runs beside the writer; kills the process when it is at a point for the time of this number."""
    times = iter(range(10**6))

    def at(here: str) -> None:
        if here == "prepared":
            writer.take()
        if here == point and next(times) == number:
            os.kill(os.getpid(), SIGKILL)

    with pytest.MonkeyPatch.context() as patched:
        steps_at(patched, {each: partial(at, each) for each in {"prepared", point}})
        run(lakehouse, "run")
