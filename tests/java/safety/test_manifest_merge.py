"""Merges of manifests beside Java's commits, and killed at each point: nothing is lost, nothing is left."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.merged_manifests import ended, live, manifests, merge, merge_process
from support.runs import Held, clean_up
from support.tables import append, copy_of, journals, kept_journals, make_plain, stray_files

pytestmark = pytest.mark.oracle

POINTS = (
    pytest.param("journal-written", marks=pytest.mark.thorough),
    "manifests-merged",
    pytest.param("manifests-written", marks=pytest.mark.thorough),
    pytest.param("prepared", marks=pytest.mark.thorough),
    "snapshot-written",
    pytest.param("hint-written", marks=pytest.mark.thorough),
)
IN_PLACE = ("snapshot-written", "hint-written")
"""Points at which the snapshot is committed."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", POINTS)
def test_killed_merge_leaves_a_table_that_the_next_one_completes(
    oracle: Oracle, table: Table, point: str
) -> None:
    append(oracle, table)
    rows, files, before = oracle.read(table), live(oracle, table), len(oracle.snapshots(table))

    code, _ = ended(merge_process(table, f"{point}=kill"))

    assert code == -signal.SIGKILL
    assert (oracle.read(table), live(oracle, table)) == (rows, files)
    assert len(oracle.snapshots(table)) == before + (point in IN_PLACE)
    assert merge(table).status == ("NothingToDo" if point in IN_PLACE else "Done")
    assert manifests(oracle, table) == (1, 0)
    assert (oracle.read(table), live(oracle, table)) == (rows, files)
    clean_up(table, 40, 44, 48)
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


@pytest.mark.parametrize("point", [pytest.param("manifests-merged", marks=pytest.mark.thorough), "prepared"])
def test_commit_of_java_during_a_merge_is_kept(
    oracle: Oracle, table: Table, tmp_path: Path, point: str
) -> None:
    """The manifests of the first try are used again: they still replace the same ones."""
    twin = copy_of(table, tmp_path / "twin")
    append(oracle, twin, "beside")
    append(oracle, twin, "after")
    append(oracle, table, "beside")
    held = Held(tmp_path)
    process = merge_process(table, f"{point}={held.action}")
    held.reached()
    merged = {
        path.name for path in (table.folder / "manifest").glob("manifest-*-0") if "list" not in path.name
    }
    append(oracle, table, "after")
    held.release()

    code, report = ended(process)

    assert (code, report["status"]) == (0, "Done")
    assert oracle.read(table) == oracle.read(twin)
    assert rows_by_file(oracle, table) == rows_by_file(oracle, twin)
    base = [each["name"] for each in oracle.manifests(table)["base"]]
    assert len(base) == 2
    assert base[0] in merged
    assert stray_files(oracle, table) == set()
    assert (journals(table), len(kept_journals(table))) == (set(), 1)


def rows_by_file(oracle: Oracle, table: Table) -> list[int]:
    return sorted(file.rows for file in live(oracle, table))


def test_compaction_of_java_during_a_merge_is_kept(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    """It removes files whose entries the merge has written."""
    append(oracle, table)
    rows = oracle.read(table)
    held = Held(tmp_path)
    process = merge_process(table, f"prepared={held.action}")
    held.reached()
    oracle.compact(table, full=True)
    files = live(oracle, table)
    held.release()

    code, _ = ended(process)

    assert code == 0
    assert (oracle.read(table), live(oracle, table)) == (rows, files)
    assert stray_files(oracle, table) == set()


def test_merge_that_java_has_done_in_between_is_not_repeated(
    oracle: Oracle, table: Table, tmp_path: Path
) -> None:
    append(oracle, table)
    held = Held(tmp_path)
    process = merge_process(table, f"prepared={held.action}")
    held.reached()
    oracle.compact_manifests(table)
    newest = len(oracle.snapshots(table))
    held.release()

    code, report = ended(process)

    assert (code, report["status"]) == (0, "NothingToDo")
    assert len(oracle.snapshots(table)) == newest
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_full_disk_leaves_nothing(oracle: Oracle, table: Table) -> None:
    append(oracle, table)
    rows = oracle.read(table)
    code, _ = ended(merge_process(table, "manifests-merged=raise:28"))
    assert code != 0
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_both_merge_manifests_and_others_commit_without_loss(oracle: Oracle, tmp_path: Path) -> None:
    """Java commits and merges in turn while ours runs again and again."""
    table = make_plain(oracle, tmp_path / "busy", commits=2, keys=20)
    twin = copy_of(table, tmp_path / "twin")
    for number in range(4):
        process = merge_process(table)
        for mark in ("one", "two", "three"):
            for each in (table, twin):
                append(oracle, each, f"{mark}-{number}")
        if number == 2:
            oracle.compact_manifests(table)
        assert ended(process)[0] == 0
    assert oracle.read(table) == oracle.read(twin)
    assert stray_files(oracle, table) == set()
