"""Deletion vectors are never lost, doubled or left over: conflicts with Java's commits, and crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from support.comparing.vectors import cardinality, unpaired
from support.races import step_at
from support.runs import clean_up, run_inline, start
from support.tables import copy_of, expire, stray_files

pytestmark = pytest.mark.oracle

KEYS = 9000
BUCKETS = 2


def rows(first: int, count: int, mark: int, kind: str = "+I") -> list[Row]:
    return [[kind, key, mark] for key in range(first, first + count)]


def compacted(oracle: Oracle, table: Table) -> None:
    """Java moves level 0 up and deletes the rows that it supersedes."""
    oracle.manager_round(table, full=False, commit=True)


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    """Many rows at the top level, of which two compactions have deleted some; few new ones in level 0."""
    table = Table(tmp_path / "warehouse", "db.t")
    options = {"bucket": f"{BUCKETS}", "write-only": "true", "deletion-vectors.enabled": "true"}
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "INT"}, ["id"], options=options)
    oracle.write(table, rows(0, KEYS, 0))
    oracle.manager_round(table, full=True, commit=True)
    oracle.write(table, rows(0, 50, 1, "-D"))
    compacted(oracle, table)
    assert cardinality(oracle, table) == 50
    oracle.write(table, rows(100, 20, 1))
    return table


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", ["tasks-done", "manifests-written"])
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
def test_rows_that_java_deletes_meanwhile_stay_deleted(
    oracle: Oracle, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, full: bool
) -> None:
    """Java's commit replaces none of the inputs of ours, only the vectors that ours has applied."""
    run_inline(table, full=False)  # nothing is left in level 0
    if full:
        run_inline(table, full=True)
        oracle.write(table, rows(200, 30, 2, "-D"))
        compacted(oracle, table)
    oracle.write(table, rows(300, 5, 3))

    def meanwhile() -> None:
        oracle.write(table, rows(400, 40, 4, "-D"))
        compacted(oracle, table)

    twin = copy_of(table, tmp_path / "twin")
    oracle.write(twin, rows(400, 40, 4, "-D"))
    oracle.compact(twin, full=True)
    step_at(monkeypatch, point, meanwhile)

    report = run_inline(table, full=full)

    assert report.status == ("Compacted" if full else "NothingToDo")
    assert oracle.read(table) == oracle.read(twin)
    assert unpaired(oracle, table) == set()
    assert stray_files(oracle, table) == set()


def test_only_the_vectors_of_a_file_at_the_top_have_changed(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full compaction of the top level alone rewrites files with vectors; Java deletes more of their rows.

    So no input of ours is gone.
    """
    run_inline(table, full=True)
    oracle.write(table, rows(500, 30, 2, "-D"))
    compacted(oracle, table)
    assert {file.level for file in oracle.files(table)} == {5}
    assert cardinality(oracle, table) == 30

    def meanwhile() -> None:
        oracle.write(table, rows(600, 40, 3, "-D"))
        compacted(oracle, table)

    step_at(monkeypatch, "tasks-done", meanwhile)

    report = run_inline(table, full=True)

    assert (report.status, report.rounds) == ("Compacted", 2)
    assert len(oracle.read(table)) == KEYS - 50 - 30 - 40
    assert cardinality(oracle, table) == 0
    assert stray_files(oracle, table) == set()


def test_the_file_whose_rows_are_to_be_deleted_is_replaced(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compaction that began before there was anything in level 0 replaces it; no input of ours is gone.

    There are no vectors yet, so only the file tells.
    """
    run_inline(table, full=True)
    names = {file.name for file in oracle.files(table)}
    again = {"compaction.force-rewrite-all-files": "true"}
    token = oracle.manager_round(table, full=True, commit=False, options=again).token
    assert token is not None
    oracle.write(table, rows(700, 20, 5))
    step_at(monkeypatch, "tasks-done", lambda: oracle.commit_prepared(token))

    run_inline(table, full=False)

    assert not names & {file.name for file in oracle.files(table)}
    assert len(oracle.read(table)) == KEYS - 50
    assert unpaired(oracle, table) == set()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("point", ["file-written", "tasks-done", "manifests-written"])
def test_what_a_killed_run_leaves_goes_in_time(oracle: Oracle, table: Table, point: str) -> None:
    before = oracle.read(table)
    index = oracle.index_files(table)
    start(table, "--minor", faults={point: "kill"}).wait()
    assert oracle.read(table) == before
    assert oracle.index_files(table) == index

    clean_up(table, 24.1, 25.2)

    assert stray_files(oracle, table) == set()
    assert unpaired(oracle, table) == set()
    assert len(oracle.read(table)) == KEYS - 50


@pytest.mark.parametrize("point", ["snapshot-written", "hint-written", "leftovers-deleted"])
def test_index_files_of_a_committed_run_stay(oracle: Oracle, table: Table, point: str) -> None:
    start(table, "--minor", faults={point: "kill"}).wait()
    rows_after, index = oracle.read(table), oracle.index_files(table)
    assert sum(len(each.deletion_vectors) for each in index) == BUCKETS
    assert cardinality(oracle, table) == 70

    clean_up(table, 24.1)

    assert oracle.read(table) == rows_after
    assert oracle.index_files(table) == index


def test_old_index_files_go_when_their_snapshots_expire(oracle: Oracle, table: Table) -> None:
    old = {index.path for index in oracle.index_files(table)}
    rows_before = len(oracle.read(table))
    run_inline(table, full=False)
    assert old.isdisjoint(index.path for index in oracle.index_files(table))

    expire(oracle, table)

    assert not [path for path in old if Path(path.removeprefix("file:")).exists()]
    assert len(oracle.read(table)) == rows_before
    assert stray_files(oracle, table) == set()


def test_a_damaged_index_file_blocks_its_bucket_only(oracle: Oracle, table: Table) -> None:
    damaged, other = oracle.index_files(table)
    path = Path(damaged.path.removeprefix("file:"))
    content = bytearray(path.read_bytes())
    content[-5] ^= 0xFF
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_bytes(content)

    report = run_inline(table, full=False)

    assert [blocked.group for blocked in report.blocked] == [f"bucket-{damaged.bucket}"]
    assert [bucket["bucket"] for bucket in report.to_dict()["buckets"]] == [f"bucket-{other.bucket}"]
    assert {index.bucket for index in oracle.index_files(table)} == {0, 1}
    assert stray_files(oracle, table) == set()
