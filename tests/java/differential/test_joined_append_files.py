"""Append tables of small files whose pages are joined: Java would write the same rows and statistics."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infrastructure.oracle.client import Oracle, Table
from support.comparing.rounds import metadata
from support.comparing.typed_append import (
    FILTERS,
    IN_A_BUCKET,
    INDEXES,
    STATS,
    append,
    in_order,
    make,
    rows_by_question,
)
from support.joining import joining_from
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

SMALL_PAGES = {"parquet.page.size": "4000"}


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

    append(oracle, table, 5, seed=2)
    rows = oracle.read(table, in_order=is_ordered)
    with joining_from():
        run_inline(table, full=False)
    assert oracle.read(table, in_order=is_ordered) == rows, "our file was joined with new ones"
    append(oracle, table, 5, seed=3)
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
    mine, theirs = rows_by_question(oracle, table, java)
    assert mine == theirs
    assert oracle.digest(table) == oracle.digest(java)


def test_pages_of_version_2_are_decoded(oracle: Oracle, tmp_path: Path) -> None:
    # PyArrow compares: of these very files Java's own reader takes the first letter from one text.
    table = make(oracle, tmp_path, {**IN_A_BUCKET, "parquet.writer.version": "PARQUET_2_0"})
    rows = read_by_pyarrow(oracle, table)
    with joining_from():
        report = run_inline(table, full=False)
    assert (report.status, report.copied_bytes) == ("Compacted", 0)
    assert read_by_pyarrow(oracle, table).equals(rows)


def read_by_pyarrow(oracle: Oracle, table: Table) -> pa.Table:
    """All rows, in the order of the files."""
    files = in_order(oracle.files(table))
    return pa.concat_tables(pq.read_table(file.path.removeprefix("file:")) for file in files)
