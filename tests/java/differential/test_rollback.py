"""Rollbacks beside Java's, by name: what random histories (`java.fuzz`) do not reach, or seldom."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from support.expired_snapshots import files_of, numbers
from support.rolled_back_tables import latest, roll_back, roll_back_both
from support.runs import run_inline
from support.tables import append, copy_of, make_plain, stray_files

pytestmark = pytest.mark.oracle


def test_compaction_of_ours_is_undone_and_done_again(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "table", **{"changelog-producer": "full-compaction"})
    before, rows = numbers(table)[-1], oracle.read(table)
    assert run_inline(table).snapshot_after == str(before + 1)

    done = roll_back_both(oracle, table, before, tmp_path / "java")

    assert done.figures["lostCommits"] == 0
    assert ", a changelog of " in done.samples[0]
    assert run_inline(table).snapshot_after == str(before + 1)
    assert oracle.read(table) == rows


def test_tags_go_as_with_java(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "table")
    for number in (2, 3, 4, 4, 5):
        oracle.create_tag(table, f"t{number}-{len(oracle.tags(table))}", number)
    assert roll_back_both(oracle, table, 3, tmp_path / "java").figures["tags"] == 3
    assert sorted(oracle.tags(table)) == ["t2-0", "t3-1"]


def test_branch_is_rolled_back_as_by_java(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "table", commits=2)
    oracle.create_tag(table, "first", 2)
    oracle.create_branch(table, "b", "first")
    branch = table.branch("b")
    for mark in ("x", "y"):
        append(oracle, branch, mark)
    main = oracle.read(table)
    twin = copy_of(table, tmp_path / "java")
    oracle.rollback_to(twin.branch("b"), snapshot_id=3)

    roll_back(branch, 3)

    assert files_of(table) == files_of(twin)
    assert oracle.read(branch) == oracle.read(twin.branch("b"))
    assert oracle.read(table) == main


def test_snapshot_behind_a_gap_goes_here_and_not_with_java(oracle: Oracle, tmp_path: Path) -> None:
    """The listed difference: Java counts down from the LATEST hint, and the stray comes back later."""
    table = make_plain(oracle, tmp_path / "table")
    newest = numbers(table)[-1]
    (table.folder / "snapshot" / f"snapshot-{newest - 1}").unlink()
    (table.folder / "snapshot" / "LATEST").write_text(str(newest - 2))
    twin = copy_of(table, tmp_path / "java")
    oracle.rollback_to(twin, snapshot_id=2)

    roll_back(table, 2)

    assert numbers(twin) == [1, 2, newest]
    assert (numbers(table), latest(table)) == ([1, 2], "2")


def test_java_removes_what_a_rollback_leaves_as_orphans(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "table")
    before = numbers(table)[-1]
    run_inline(table)
    rows = oracle.read(table)
    roll_back(table, before)
    assert stray_files(oracle, table) != set()
    assert oracle.read(table) == rows
