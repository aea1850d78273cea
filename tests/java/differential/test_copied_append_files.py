"""Append tables whose row groups are copied: Java would write the same rows, files and statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import Table
from support.comparing import typed_append
from support.comparing.rounds import metadata
from support.comparing.typed_append import (
    FILTERS,
    IN_A_BUCKET,
    INDEXES,
    ROWS,
    STATS,
    VALUES,
    append,
    in_order,
    rows_by_question,
)
from support.copying import copying_from
from support.runs import clean_up, run_inline, start
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

SMALL_GROUPS = {"parquet.block.size": "100000", "parquet.page.size": "10000"}


@pytest.fixture(autouse=True)
def _small_row_groups() -> Iterator[None]:
    with copying_from(1):
        yield


def make(oracle: Oracle, folder: Path, options: Mapping[str, str]) -> Table:
    return typed_append.make(oracle, folder, {**SMALL_GROUPS, **options})


@pytest.mark.parametrize("place", [{}, IN_A_BUCKET], ids=["no buckets", "a bucket"])
@pytest.mark.parametrize(
    "options",
    [{}, STATS, {"file.compression": "snappy"}, {"parquet.writer.version": "PARQUET_2_0"}],
    ids=["plain", "all statistics", "another codec", "pages of version 2"],
)
def test_files_and_statistics_are_those_of_java(
    oracle: Oracle, tmp_path: Path, place: dict[str, str], options: dict[str, str]
) -> None:
    table = make(oracle, tmp_path / "ours", {**place, **options})
    java = copy_of(table, tmp_path / "java")
    before = {file.name for file in oracle.files(table)}
    rows = oracle.read(table, in_order=bool(place))
    expected = oracle.filtered_digests(table, FILTERS, skipping=False)
    oracle.compact(java, full=False)

    report = run_inline(table, full=False)

    assert report.copied_bytes > 0.9 * report.before.bytes
    assert oracle.read(table, in_order=bool(place)) == rows
    assert oracle.filtered_digests(table, FILTERS) == expected
    mine, theirs = (in_order(oracle.files(each)) for each in (table, java))
    kept = [{file.name for file in files} & before for files in (mine, theirs)]
    assert kept[0] == kept[1] < before
    assert [metadata(file) for file in mine] == [
        metadata(file, like=like) for file, like in zip(theirs, mine, strict=True)
    ]
    assert stray_files(oracle, table) == set()

    append(oracle, table, 5, seed=2)
    rows = oracle.read(table, in_order=bool(place))
    oracle.compact(table, full=False)
    assert oracle.read(table, in_order=bool(place)) == rows, "Java has compacted our files"


def test_copied_rows_are_indexed_as_by_java(oracle: Oracle, tmp_path: Path) -> None:
    table = make(oracle, tmp_path / "ours", INDEXES)
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java, full=False)

    report = run_inline(table, full=False)

    assert report.copied_bytes > 0.9 * report.before.bytes
    mine, theirs = rows_by_question(oracle, table, java)
    assert mine == theirs
    assert sum(mine[0]) == 0, "no file has the first value"


def test_our_own_files_are_copied_once_more(oracle: Oracle, tmp_path: Path) -> None:
    table = make(oracle, tmp_path, IN_A_BUCKET)
    run_inline(table, full=True)
    append(oracle, table, 5, seed=2)
    rows = oracle.read(table, in_order=True)

    report = run_inline(table, full=True)

    assert (report.status, len(oracle.files(table))) == ("Compacted", 1)
    assert report.copied_bytes > 0.9 * report.before.bytes
    assert oracle.read(table, in_order=True) == rows


CHANGES: dict[str, dict[str, Any]] = {
    "an option": {"set_option": ["metadata.stats-mode", "full"]},
    "another codec": {"set_option": ["file.compression", "snappy"]},
    "a column more": {"add_column": {"name": "more", "type": "INT"}},
    "a column less": {"drop_column": "city"},
    "another name": {"rename_column": ["city", "town"]},
    "a wider type": {"update_type": ["small", "INT"]},
}


@pytest.mark.parametrize("name", CHANGES)
def test_only_files_with_the_newest_columns_are_copied(oracle: Oracle, tmp_path: Path, name: str) -> None:
    table = make(oracle, tmp_path / "ours", {})
    oracle.alter_table(table, CHANGES[name])
    after = [column["name"] for column in oracle.schema(table)["fields"]]
    values = {column: how for column, how in VALUES.items() if column in after}
    oracle.generate(table, rows=2 * ROWS, commits=2, seed=3, columns=values)
    java = copy_of(table, tmp_path / "java")
    rows = oracle.read(table)
    oracle.compact(java, full=False)

    report = run_inline(table, full=False)

    share = report.copied_bytes / report.before.bytes
    assert share > 0.9 if name == "an option" else 0.1 < share < 0.5
    assert oracle.read(table) == rows == oracle.read(java)
    mine, theirs = (in_order(oracle.files(each)) for each in (table, java))
    assert [metadata(file) for file in mine] == [
        metadata(file, like=like) for file, like in zip(theirs, mine, strict=True)
    ]


@pytest.mark.parametrize("point", ["file-written", "tasks-done", "snapshot-written"])
def test_a_kill_leaves_rows_and_files_as_they_are(oracle: Oracle, tmp_path: Path, point: str) -> None:
    table = make(oracle, tmp_path, {})
    rows = oracle.digest(table)
    killed = start(table, "--run", "run-a", "--copy-from", "1", faults={point: "kill"}).wait()
    assert killed.code < 0
    assert oracle.digest(table) == rows

    report = run_inline(table, run="run-a")

    assert report.status == ("AlreadyCommitted" if point == "snapshot-written" else "Compacted")
    assert oracle.digest(table) == rows
    assert len(oracle.files(table)) == 1
    clean_up(table, 24.1, 25.2)
    assert stray_files(oracle, table) == set()
