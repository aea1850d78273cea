"""A run that was killed commits at most once when it is started again, and its files go in time.

That a kill at any point is harmless, every adapter has to show: see `formats.test_contract`.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.runs import clean_up, run_inline, start
from support.tables import make_plain, stray_files

pytestmark = pytest.mark.oracle

BEFORE_COMMIT = ["planned", "journal-written", "file-written", "tasks-done", "manifests-written"]
AFTER_COMMIT = ["snapshot-written", "hint-written", "leftovers-deleted"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", BEFORE_COMMIT)
def test_same_run_started_again_commits_what_it_had_not(oracle: Oracle, tmp_path: Path, point: str) -> None:
    table = make_plain(oracle, tmp_path)
    rows, snapshots = oracle.read(table), len(oracle.snapshots(table))
    start(table, "--run", "run-a", faults={point: "kill"}).wait()

    report = run_inline(table, run="run-a")

    assert report.status == "Compacted"
    assert len(oracle.snapshots(table)) == snapshots + 1
    assert oracle.read(table) == rows


@pytest.mark.sampled(1)
@pytest.mark.parametrize("point", AFTER_COMMIT)
def test_same_run_started_again_never_commits_twice(oracle: Oracle, tmp_path: Path, point: str) -> None:
    table = make_plain(oracle, tmp_path)
    start(table, "--run", "run-a", faults={point: "kill"}).wait()
    snapshots = oracle.snapshots(table)

    report = run_inline(table, run="run-a")

    assert (report.status, report.snapshot_after) == ("AlreadyCommitted", str(snapshots[-1]["id"]))
    assert oracle.snapshots(table) == snapshots


def test_files_of_a_dead_attempt_that_could_still_commit_wait(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path)
    start(table, faults={"tasks-done": "kill"}).wait()
    orphans = stray_files(oracle, table)

    (report,) = clean_up(table, 0)

    assert report.status == "NothingToDo"
    assert stray_files(oracle, table) == orphans != set()


def test_files_of_a_dead_attempt_go_after_the_safe_age(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path)
    start(table, faults={"tasks-done": "kill"}).wait()

    condemned, swept = clean_up(table, 24.1, 25.2)

    assert (condemned.orphans_deleted, swept.orphans_deleted > 0) == (0, True)
    assert stray_files(oracle, table) == set()


def test_a_branch_keeps_the_files_of_an_attempt_whose_snapshot_was_rolled_back(
    oracle: Oracle, tmp_path: Path
) -> None:
    table = make_plain(oracle, tmp_path)
    base = oracle.snapshots(table)[-1]["id"]
    start(table, faults={"hint-written": "kill"}).wait()
    oracle.create_tag(table, "compacted")
    oracle.create_branch(table, "b", tag="compacted")
    branch = Table(tmp_path, "db.t$branch_b")
    rows = oracle.read(branch)
    oracle.rollback_to(table, snapshot_id=base)

    for days in (0, 2):
        run_inline(table, shift=timedelta(days=days))

    assert oracle.read(branch) == rows
    assert oracle.read(table) == rows
