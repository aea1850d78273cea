"""Compactions of tables without a primary key against those of Java, on copies of the same table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import DataFile, Table
from support.comparing.append_shapes import APPEND_SHAPES, make
from support.comparing.rounds import Round, metadata, stored_columns
from support.comparing.shapes import Shape
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

IN_BUCKETS = {"bucket": "1", "bucket-key": "id"}
CASES = [pytest.param(shape, id=shape.name) for shape in APPEND_SHAPES]
WITH_ID = [pytest.param(shape, id=shape.name) for shape in APPEND_SHAPES if "id" in shape.key]


def in_order(files: Iterable[DataFile]) -> list[DataFile]:
    return sorted(files, key=lambda file: (str(file.partition), file.bucket, file.min_sequence))


def assert_like_java(ours: Round, java: Round) -> None:
    """The same files are rewritten, and the new ones have the same columns and metadata."""
    assert ours.removed == java.removed != set()
    mine, theirs = ([file for file in in_order(each.after) if file in each.added] for each in (ours, java))
    assert [metadata(each) for each in mine] == [
        metadata(each, like=like) for each, like in zip(theirs, mine, strict=True)
    ]
    assert stored_columns(ours) == stored_columns(java)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shape", CASES)
def test_small_files_are_joined_as_by_java(oracle: Oracle, shape: Shape, tmp_path: Path) -> None:
    table = make(oracle, shape, tmp_path / "ours")
    rows, before = oracle.read(table), oracle.files(table)
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java)

    report = run_inline(table, full=False)

    assert report.status == "Compacted"
    assert oracle.read(table) == rows
    ours, theirs = (Round(each, before, oracle.files(each)) for each in (table, java))
    assert_like_java(ours, theirs)
    assert stray_files(oracle, table) == set()
    oracle.write(table, [])
    oracle.compact(table)
    assert oracle.read(table) == rows, "Java has compacted our files"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
@pytest.mark.parametrize("shape", WITH_ID)
def test_runs_of_buckets_are_joined_in_order(
    oracle: Oracle, shape: Shape, tmp_path: Path, full: bool
) -> None:
    table = make(oracle, shape, tmp_path / "ours", **IN_BUCKETS)
    rows, before = in_parts(oracle, table), oracle.files(table)
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java, full=full)

    report = run_inline(table, full=full)

    assert report.status == "Compacted"
    assert in_parts(oracle, table) == rows
    ours, theirs = (Round(each, before, oracle.files(each)) for each in (table, java))
    assert_like_java(ours, theirs)
    assert stray_files(oracle, table) == set()


def in_parts(oracle: Oracle, table: Table) -> dict[str, list[Any]]:
    """The rows of each partition, in the order in which Java reads them."""
    keys = oracle.schema(table)["partitionKeys"]
    names = [column["name"] for column in oracle.schema(table)["fields"]]
    parts: dict[str, list[Any]] = {}
    for row in oracle.read(table, in_order=True):
        parts.setdefault(str([row[1 + names.index(key)] for key in keys]), []).append(row)
    return parts
