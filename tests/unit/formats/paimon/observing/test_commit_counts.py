"""Commits since the last full compaction, counted from the table's own snapshots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lithify.formats.protocol.observation import CommitCount
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.orders_table import run
from support.small_tables import SmallTable
from unit.formats.paimon.observing.test_observation import Watcher

pytestmark = pytest.mark.thorough

OPTION = "full-compaction.delta-commits"
THREE = {OPTION: "3"}


def make(folder: Path, commits: int, **options: str) -> tuple[SmallTable, Watcher]:
    table = SmallTable(folder / "warehouse", options=options or THREE).create()
    for _ in range(commits):
        table.append()
    return table, Watcher(table, folder / "kept")


def count(watcher: Watcher) -> int:
    """What a look finds, that of a worker that knows the table and that of one that does not."""
    known, fresh = watcher.find(reconsider=True), watcher.full()
    assert known.commits == fresh.commits
    assert known.commits is not None
    assert (known.commits.wanted, known.commits.option) == (3, OPTION)
    return known.commits.found


def test_appends_count_until_there_are_as_many_as_the_table_asks_for(tmp_path: Path) -> None:
    table, watcher = make(tmp_path, 1)
    counts = [count(watcher)]
    for _ in range(3):
        table.append()
        counts.append(count(watcher))
    assert counts == [1, 2, 3, 3]


def test_a_full_compaction_starts_over(tmp_path: Path) -> None:
    table, watcher = make(tmp_path, 2)
    assert count(watcher) == 2
    run(table.address, Strategy.FULL)
    assert count(watcher) == 0
    table.append()
    assert count(watcher) == 1


def test_a_minor_compaction_does_not(tmp_path: Path) -> None:
    table, watcher = make(tmp_path, 2)
    eager = replace(table.address, overrides={"num-sorted-run.compaction-trigger": "1"})
    assert run(eager, Strategy.MINOR).groups
    table.append()
    assert count(watcher) == 3


def test_commits_that_come_while_a_full_compaction_runs_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, watcher = make(tmp_path, 2)

    def append(point: str, *_: object) -> None:
        if point == "tasks-done":
            table.append("a")

    monkeypatch.setattr("lithify.engine.tasks.step.failpoint", append)
    run(table.address, Strategy.FULL)
    assert count(watcher) == 1


def test_a_history_that_is_expired_counts_what_is_left(tmp_path: Path) -> None:
    table, watcher = make(tmp_path, 3)
    table.expire(keep=1)
    assert watcher.full().commits == CommitCount(1, 3, OPTION)


@pytest.mark.parametrize(
    "options",
    [
        case({OPTION: "0"}, id="no number of commits"),
        case({"num-levels": "5"}, id="no such option"),
        case({OPTION: "3", "write-only": "false"}, id="writers compact, and count by themselves"),
    ],
)
def test_others_do_not_count(options: dict[str, str], tmp_path: Path) -> None:
    _, watcher = make(tmp_path, 1, **options)
    assert watcher.find().commits is None


@pytest.mark.parametrize(
    ("text", "seconds"), [case("30 s", 30, id="seconds"), case("1 ms", 1, id="less than a second")]
)
def test_the_interval_of_readers_is_told(text: str, seconds: int, tmp_path: Path) -> None:
    _, watcher = make(tmp_path, 1, **{"continuous.discovery-interval": text})
    assert watcher.find().check_seconds == seconds
