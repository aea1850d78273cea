"""Append tables of small files whose pages are joined: Java would write the same rows and statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import DataFile, Table
from support.comparing.rounds import metadata
from support.joining import joining_from
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

COMMITS, ROWS = 6, 3_000
COLUMNS = {
    "id": "BIGINT",
    "text": "STRING",
    "city": "STRING",
    "ratio": "DOUBLE",
    "money": "DECIMAL(12, 2)",
    "little": "DECIMAL(8, 2)",
    "large": "DECIMAL(30, 4)",
    "day": "DATE",
    "moment": "TIMESTAMP(6)",
    "instant": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "flag": "BOOLEAN",
    "small": "SMALLINT",
    "raw": "BYTES",
    "tags": "ARRAY<INT>",
    "spot": "ROW<x INT, y STRING>",
    "nothing": "INT",
}
VALUES: dict[str, dict[str, Any]] = {
    "id": {"kind": "random", "min": 0, "max": 1 << 40, "nulls": 0.1},
    "text": {"kind": "random", "min": 0, "max": 60, "nulls": 0.1},
    "city": {"kind": "low", "values": 9, "prefix": "city-"},
    "tags": {"kind": "nested", "items": 2, "of": {"kind": "low", "values": 9}},
    "spot": {"kind": "nested", "of": {"kind": "random", "min": 4, "max": 12}},
    "nothing": {"kind": "random", "min": 0, "max": 9, "nulls": 1.0},
}
FILTERS: list[Filter] = [
    {"column": "id", "op": "greater_than", "literal": 1 << 39},
    {"column": "id", "op": "less_than", "literal": 1 << 30},
    {"column": "city", "op": "equal", "literal": "city-000000000003"},
    {"column": "text", "op": "starts_with", "literal": "b"},
    {"column": "ratio", "op": "greater_than", "literal": 1e5},
    {"column": "money", "op": "less_than", "literal": "12.00"},
]
IN_A_BUCKET = {"bucket": "1", "bucket-key": "id"}
STATS = {"metadata.stats-mode": "full", "metadata.stats-dense-store": "false"}
SMALL_PAGES = {"parquet.page.size": "4000"}
INDEXES = {"file-index.bloom-filter.columns": "id", "file-index.bitmap.columns": "city"}

INDEXED: list[Filter] = [
    {"column": "id", "op": "equal", "literal": -7},
    {"column": "city", "op": "equal", "literal": "city-000000000003"},
    {"column": "city", "op": "equal", "literal": "none"},
]


def make(oracle: Oracle, folder: Path, options: Mapping[str, str]) -> Table:
    table = Table(folder, "db.t")
    oracle.create_table(table, COLUMNS, options=options)
    oracle.generate(table, rows=ROWS * COMMITS, commits=COMMITS, seed=1, columns=VALUES)
    return table


def in_order(files: Iterable[DataFile]) -> list[DataFile]:
    return sorted(files, key=lambda file: (file.min_sequence, file.rows))


@pytest.mark.parametrize(
    "options",
    [IN_A_BUCKET, STATS, {"file.compression": "snappy"}, SMALL_PAGES],
    ids=["a bucket", "all statistics", "another codec", "several pages"],
)
def test_files_and_statistics_are_those_of_java(
    oracle: Oracle, tmp_path: Path, options: dict[str, str]
) -> None:
    table = make(oracle, tmp_path / "ours", options)
    java = copy_of(table, tmp_path / "java")
    is_ordered = "bucket" in options
    rows = oracle.read(table, in_order=is_ordered)
    expected = oracle.filtered_digests(table, FILTERS, skipping=False)
    oracle.compact(java, full=False)

    with joining_from():
        report = run_inline(table, full=False)

    assert 0.3 < report.copied_bytes / report.before.bytes < 0.95
    assert oracle.read(table, in_order=is_ordered) == rows
    assert oracle.filtered_digests(table, FILTERS) == expected
    mine, theirs = (in_order(oracle.files(each)) for each in (table, java))
    assert [metadata(file) for file in mine] == [
        metadata(file, like=like) for file, like in zip(theirs, mine, strict=True)
    ]
    assert stray_files(oracle, table) == set()

    oracle.generate(table, rows=5 * ROWS, commits=5, seed=2, columns=VALUES)
    rows = oracle.read(table, in_order=is_ordered)
    with joining_from():
        run_inline(table, full=False)
    assert oracle.read(table, in_order=is_ordered) == rows, "our file was joined with new ones"
    oracle.generate(table, rows=5 * ROWS, commits=5, seed=3, columns=VALUES)
    rows = oracle.read(table, in_order=is_ordered)
    oracle.compact(table, full=False)
    assert oracle.read(table, in_order=is_ordered) == rows, "Java has compacted our files"


def test_joined_rows_are_indexed_as_by_java(oracle: Oracle, tmp_path: Path) -> None:
    table = make(oracle, tmp_path / "ours", INDEXES)
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java, full=False)

    with joining_from():
        report = run_inline(table, full=False)

    assert report.copied_bytes > 0.3 * report.before.bytes
    mine, theirs = (
        [sorted(rows.values()) for rows in oracle.file_index_rows(each, INDEXED)] for each in (table, java)
    )
    assert mine == theirs
    assert oracle.digest(table) == oracle.digest(java)


def test_pages_of_version_2_are_decoded(oracle: Oracle, tmp_path: Path) -> None:
    table = make(oracle, tmp_path, {"parquet.writer.version": "PARQUET_2_0"})
    rows = oracle.read(table)
    with joining_from():
        report = run_inline(table, full=False)
    assert (report.status, report.copied_bytes) == ("Compacted", 0)
    assert oracle.read(table) == rows
