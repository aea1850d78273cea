"""Rows of append tables that Java deletes while a compaction runs stay deleted; crashes are harmless."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from support.cases import case
from support.comparing.vectors import cardinality, unpaired, with_ids
from support.races import step_at
from support.runs import clean_up, run_inline, start
from support.tables import copy_of, expire, stray_files

pytestmark = pytest.mark.oracle

FILES, ROWS = 6, 100
LARGE = 1000
"""Rows of the files that are large: one with a deleted row, one with none."""


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    """A partition of small files and two large ones, some with deleted rows, and two without any."""
    table = Table(tmp_path / "warehouse", "db.t")
    options = {
        "source.split.open-file-cost": "1 b",
        "deletion-vectors.enabled": "true",
        "target-file-size": "6 kb",
        "manifest.merge-min-count": "3",
    }
    columns = {"id": "INT", "v": "STRING", "p": "STRING"}
    oracle.create_table(table, columns, partition_keys=["p"], options=options)
    for number in range(2):
        first = 10_000 * (number + 1)
        oracle.write(table, [["+I", first + row, f"{hash_of(row)}", "a"] for row in range(LARGE)])
    for number in range(FILES):
        rows = [["+I", number * ROWS + row, f"{row}", "ab"[row % 2]] for row in range(ROWS)]
        oracle.write(table, rows)
    oracle.write(table, [["+I", 30_000 + row, "alone", "c"] for row in range(9)])
    oracle.delete(table, with_ids(0, 2, 10_007))
    assert cardinality(oracle, table) == 3
    return table


def hash_of(row: int) -> str:
    """A text that does not compress."""
    return f"{(row * 2654435761) % (1 << 32):x}{(row * 40503 + 77) % (1 << 32):x}"


MEANWHILE = [
    case(with_ids(104), True, id="a row of an input that had no vector"),
    case(with_ids(4), True, id="a row of an input that had one"),
    case(with_ids(10_009), True, id="a row of a large file whose vector shares the index file"),
    case(with_ids(20_009), False, id="a row of a large file that had none"),
    case(with_ids(5), True, id="a row of an input in another partition"),
    case(with_ids(30_005), False, id="a row of a partition without work"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("point", ["tasks-done", "manifests-written"])
@pytest.mark.parametrize(("where", "is_conflict"), MEANWHILE)
def test_rows_that_java_deletes_meanwhile_stay_deleted(
    oracle: Oracle,
    table: Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    where: dict[str, Any],
    is_conflict: bool,
) -> None:
    """The partition is left out and planned again; where Java deletes other rows, it is committed."""
    twin = copy_of(table, tmp_path / "twin")
    oracle.delete(twin, where)
    step_at(monkeypatch, point, lambda: oracle.delete(table, where))

    report = run_inline(table, full=False)

    assert (report.status, report.rounds) == ("Compacted", 2 if is_conflict else 1)
    assert oracle.read(table) == oracle.read(twin)
    assert unpaired(oracle, table) == set()
    assert stray_files(oracle, table) == set()
    assert len([file for file in oracle.files(table) if file.rows <= ROWS]) < 2 * FILES


@pytest.mark.parametrize(
    ("where", "is_touched"),
    [case(with_ids(104), True, id="a row of an input"), case(with_ids(20_009), False, id="another row")],
)
def test_a_delete_that_began_before_and_commits_after_ours(
    oracle: Oracle, table: Table, where: dict[str, Any], is_touched: bool
) -> None:
    """Java refuses it where its file is gone, and it is done again, as Spark does; else it is committed."""
    token = oracle.prepare_delete(table, where)
    rows = len(oracle.read(table))
    assert run_inline(table, full=False).status == "Compacted"
    if is_touched:
        with pytest.raises(OracleError, match="conflict"):
            oracle.commit_prepared(token)
        oracle.delete(table, where)
    else:
        oracle.commit_prepared(token)
    assert len(oracle.read(table)) == rows - 1
    assert unpaired(oracle, table) == set()
    run_inline(table, full=True)
    assert len(oracle.read(table)) == rows - 1
    assert oracle.index_files(table) == []


def test_an_update_of_java_meanwhile(
    oracle: Oracle, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deletes and a new file; both have to be there afterwards."""

    def update(updated: Table) -> None:
        oracle.delete(updated, with_ids(104, 10_011))
        oracle.write(updated, [["+I", 104, "new", "a"], ["+I", 10_011, "new", "a"]])

    twin = copy_of(table, tmp_path / "twin")
    update(twin)
    step_at(monkeypatch, "tasks-done", lambda: update(table))
    assert run_inline(table, full=False).status == "Compacted"
    assert oracle.read(table) == oracle.read(twin)
    assert stray_files(oracle, table) == set()


def test_an_overwrite_of_java_meanwhile(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It drops the files, and their vectors with them."""
    new = [["+I", 1, "only", "a"]]
    step_at(monkeypatch, "tasks-done", lambda: oracle.write(table, new, overwrite_partition={"p": "a"}))
    run_inline(table, full=False)
    assert [row for row in oracle.read(table) if row[3] == "a"] == new
    assert unpaired(oracle, table) == set()
    assert stray_files(oracle, table) == set()


def test_a_compaction_of_java_meanwhile(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = oracle.read(table)
    step_at(monkeypatch, "tasks-done", lambda: oracle.compact(table))
    run_inline(table, full=False)
    assert oracle.read(table) == rows
    assert unpaired(oracle, table) == set()
    assert stray_files(oracle, table) == set()


def test_the_index_file_expires_before_it_is_read(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others have compacted the partition and expired what was planned on."""
    rows = oracle.read(table)

    def meanwhile() -> None:
        oracle.compact(table)
        oracle.write(table, [["+I", 1, "late", "b"]])
        expire(oracle, table)

    step_at(monkeypatch, "planned", meanwhile)
    run_inline(table, full=False)
    assert len(oracle.read(table)) == len(rows) + 1
    assert unpaired(oracle, table) == set()


def test_a_missing_index_file_blocks_its_partition_only(oracle: Oracle, table: Table) -> None:
    """Nobody has compacted the partition since, so it is damaged, and planning it again would not help."""
    (index,) = oracle.index_files(table)
    Path(index.path.removeprefix("file:")).unlink()
    report = run_inline(table, full=False)
    assert [blocked.group for blocked in report.blocked] == ["p=a/bucket-0"]
    assert [group.group for group in report.groups] == ["p=b/bucket-0"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "point", ["file-written", "tasks-done", "manifests-written", "snapshot-written", "leftovers-deleted"]
)
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
def test_a_kill_at_any_point_is_harmless(oracle: Oracle, table: Table, point: str, full: bool) -> None:
    rows = oracle.read(table)
    start(table, "--run", "run-a", *([] if full else ["--minor"]), faults={point: "kill"}).wait()
    assert oracle.read(table) == rows

    run_inline(table, run="run-a", full=full)
    oracle.delete(table, with_ids(300))
    run_inline(table, full=True)
    clean_up(table, 24.1, 26)

    assert len(oracle.read(table)) == len(rows) - 1
    assert oracle.index_files(table) == []
    assert stray_files(oracle, table) == set()
