"""Attempts may take days: they commit as long as they are heard of, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.clock import Clock
from lithify.engine.run.driver import compact
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.errors import AttemptFenced
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.protocol.results import TaskResult
from support.runs import ShiftedClock, clean_up, request
from support.tables import journals, kept_journals, stray_files

pytestmark = pytest.mark.oracle


class GoingClock(ShiftedClock):
    """Goes on by itself when a test lets it."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


class Slow(InlineRunner):
    """Its tasks take days; whether their driver hears of them meanwhile is up to the test."""

    def __init__(self, table: Table, clock: GoingClock, hours: Sequence[float]) -> None:
        self._table = table
        self._clock = clock
        self._hours = hours

    def run(self, tasks: Sequence[MergeTask], clock: Clock, progress: Progress) -> list[TaskResult]:
        results = super().run(tasks, clock, lambda _: None)
        for hours in self._hours:
            self._clock.ahead += timedelta(hours=hours)
            clean_up(self._table, self._clock.ahead / timedelta(hours=1))
            progress(0)
        return results


def test_a_run_of_three_days_commits_though_others_clean_up_meanwhile(oracle: Oracle, table: Table) -> None:
    rows, clock = oracle.read(table), GoingClock()

    report = compact(request(table), Slow(table, clock, [6.0] * 12), clock)

    assert report.status == "Compacted"
    assert oracle.read(table) == rows
    clean_up(table, 24 * 4)
    assert (stray_files(oracle, table), journals(table), kept_journals(table)) == (set(), set(), set())
    assert list(table.folder.rglob(".lithify-*")) == []


@pytest.mark.parametrize("hours", [[6.0, 13.0], [6.0, 30.0]], ids=["nobody noticed", "somebody cleaned up"])
def test_a_run_that_slept_too_long_does_not(oracle: Oracle, table: Table, hours: list[float]) -> None:
    snapshots, clock = oracle.snapshots(table), GoingClock()

    with pytest.raises(AttemptFenced):
        compact(request(table), Slow(table, clock, hours), clock)

    assert oracle.snapshots(table) == snapshots
    clean_up(table, 72, 74, 76)
    assert (stray_files(oracle, table), journals(table)) == (set(), set())
