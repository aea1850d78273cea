"""Rollbacks beside compactions, writers and crashes: no row is lost that should stay, and none comes back."""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from lithify.errors import NotFound, StalePlan
from lithify.faults import ROLLBACK_POINTS
from support.expired_snapshots import answers, files_of, numbers
from support.races import step_at, step_before
from support.rolled_back_tables import latest, roll_back
from support.runs import DEADLINE, LITHIFY, clean_up, run_inline
from support.tables import append, copy_of, journals, kept_journals, make_plain

pytestmark = pytest.mark.oracle

COMMITS = 30
LATER = (0, 2, 48, 50)
"""Hours: at once, after other writers and readers have stopped, and when attempts are too old to commit."""


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    return make_plain(oracle, tmp_path / "table")


# Compactions


def test_rollback_before_the_commit_of_a_run_is_not_undone_by_it(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = oracle.read(table, snapshot_id=1)
    step_at(monkeypatch, "manifests-written", lambda: roll_back(table, 1))
    run_inline(table)
    assert oracle.read(table) == rows
    assert numbers(table) == list(range(1, numbers(table)[-1] + 1))


def test_id_of_the_base_that_is_used_again_does_not_pass_for_the_base(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = numbers(table)[-1]
    rows: list[object] = []

    def roll_back_and_append() -> None:
        roll_back(table, base - 1)
        assert append(oracle, table) == base
        rows.append(oracle.read(table))

    step_at(monkeypatch, "manifests-written", roll_back_and_append)
    assert run_inline(table).status == "Compacted"
    assert [oracle.read(table)] == rows


def test_snapshot_of_a_run_that_arrives_after_the_rollback_is_taken_back(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is linked to a number behind the target's, whose base is gone."""
    rows: list[object] = []

    def roll_back_and_append() -> None:
        roll_back(table, 1)
        assert append(oracle, table) == 2
        rows.append(oracle.read(table))

    step_before(
        monkeypatch,
        (Path, "hardlink_to"),
        roll_back_and_append,
        matches=lambda source: "snapshot-" in source.name,
    )
    report = run_inline(table)
    assert [oracle.read(table)] == rows
    assert (report.status, report.snapshot_after, numbers(table)) == ("Compacted", "3", [1, 2, 3])
    assert latest(table) == "3"


def test_run_whose_commit_was_undone_commits_again(oracle: Oracle, table: Table) -> None:
    """Its id stands in no snapshot any more, though the number of its commit is used again."""
    base, rows = numbers(table)[-1], oracle.read(table)
    assert run_inline(table, run="r-1").snapshot_after == str(base + 1)
    roll_back(table, base, lose=False)
    assert append(oracle, table, "again") == base + 1
    rows = oracle.read(table)

    report = run_inline(table, run="r-1")

    assert (report.status, report.snapshot_after) == ("Compacted", str(base + 2))
    assert oracle.read(table) == rows
    assert {file.level for file in oracle.files(table)} == {5}


def test_clean_up_removes_the_files_of_a_run_that_was_undone(oracle: Oracle, table: Table) -> None:
    base = numbers(table)[-1]
    before = files_of(table)
    run_inline(table)
    roll_back(table, base)
    rows = oracle.read(table)
    append(oracle, table)
    kept = oracle.read(table)

    clean_up(table, *LATER)

    assert oracle.read(table, snapshot_id=base) == rows
    assert oracle.read(table) == kept
    left = {path for path in files_of(table) - before if "bucket-" in path}
    assert {Path(path).name for path in left} <= {file.name for file in oracle.files(table)}
    assert (journals(table), kept_journals(table)) == (set(), set())


# Crashes


def rollback(table: Table, to: int, point: str | None = None) -> int:
    """Runs the command in a process, killed at a point; returns its exit code."""
    environment = {**os.environ, "LITHIFY_FAULTS": f"{point}=kill" if point else ""}
    words = ["--warehouse", str(table.warehouse), "--table", str(table.name), "--to", str(to)]
    command = [LITHIFY, "rollback", *words, "--lose-commits"]
    return subprocess.run(
        command, env=environment, capture_output=True, timeout=DEADLINE, check=False
    ).returncode


@pytest.fixture(scope="module")
def model(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    table = make_plain(oracle, tmp_path_factory.mktemp("model"), **{"changelog-producer": "input"})
    oracle.compact(table, full=True)
    append(oracle, table)
    for number in (2, *numbers(table)[-2:]):
        oracle.create_tag(table, f"t{number}", number)
    return table


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", ROLLBACK_POINTS)
def test_kill_at_any_point_leaves_a_table_that_the_next_rollback_completes(
    oracle: Oracle, model: Table, tmp_path: Path, point: str
) -> None:
    table, java = copy_of(model, tmp_path / "killed"), copy_of(model, tmp_path / "java")
    before = answers(oracle, table)
    oracle.rollback_to(java, snapshot_id=4)

    assert rollback(table, 4, point) == -signal.SIGKILL

    after = answers(oracle, table)
    assert after == {name: before[name] for name in after}
    assert oracle.read(table) == before[f"snapshot {numbers(table)[-1]}"]
    assert rollback(table, 4) == 0
    assert (files_of(table), latest(table)) == (files_of(java), latest(java))
    assert answers(oracle, table) == answers(oracle, java)


def test_java_commits_to_a_table_whose_rollback_was_killed(
    oracle: Oracle, model: Table, tmp_path: Path
) -> None:
    """Half of the snapshots are gone; the writer goes on from the newest that is left."""
    table = copy_of(model, tmp_path / "killed")
    newest = numbers(table)[-1]
    assert rollback(table, 4, "rolled-back-snapshot-deleted") == -signal.SIGKILL
    assert numbers(table)[-1] == newest - 1
    assert append(oracle, table, "after the kill") == newest
    assert rollback(table, 4) == 0
    assert numbers(table) == [1, 2, 3, 4]
    append(oracle, table)
    assert len(answers(oracle, table)) == 6


# Writers


def write(writer: Oracle, table: Table) -> int:
    """Commits and compacts; returns how often the writer gave up, because its files had been undone."""
    given_up = 0
    for commit in range(COMMITS):
        try:
            append(writer, table, f"late {commit}")
            if commit % 4 == 0:
                writer.compact(table, full=commit % 8 == 0)
        except OracleError:
            given_up += 1
    return given_up


def roll_back_until(done: Future[int], table: Table) -> int:
    """Rolls back by two snapshots again and again; returns how often it succeeded."""
    succeeded = 0
    while not done.done():
        try:
            there = numbers(table)
            succeeded += bool(len(there) > 2 and roll_back(table, there[-3]).figures["snapshots"])
        except (StalePlan, NotFound):
            continue
    return succeeded


def test_every_snapshot_beside_a_busy_writer_can_be_read(oracle: Oracle, tmp_path: Path) -> None:
    """Whoever comes first: no file goes that a commit of the writer needs, and the newest one is whole."""
    table = make_plain(oracle, tmp_path, **{"manifest.merge-min-count": "3"})
    with Oracle.start() as writer, ThreadPoolExecutor(1) as background:
        writing = background.submit(write, writer, table)
        assert roll_back_until(writing, table) > 0
        assert writing.result() < COMMITS // 2

    answers(oracle, table)
    newest = numbers(table)[-1]
    assert latest(table) == str(newest)
    assert oracle.read(table) == oracle.read(table, snapshot_id=newest)
    roll_back(table, numbers(table)[0])
    assert append(oracle, table) == numbers(table)[0] + 1
    rows = oracle.read(table)
    run_inline(table)
    assert oracle.read(table) == rows
