"""Compactions of tables without a primary key against those of Java, on copies of the same table."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from support.comparing.append_rounds import assert_append_rounds_agree, rows_by_partition
from support.comparing.append_shapes import APPEND_SHAPES, make
from support.comparing.rounds import Round
from support.comparing.shapes import Shape
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

IN_BUCKETS = {"bucket": "1", "bucket-key": "id"}
CASES = [pytest.param(shape, id=shape.name) for shape in APPEND_SHAPES]
WITH_ID = [pytest.param(shape, id=shape.name) for shape in APPEND_SHAPES if "id" in shape.key]


@pytest.mark.sampled(5)
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
    assert_append_rounds_agree(ours, theirs)
    assert stray_files(oracle, table) == set()
    oracle.write(table, [])
    oracle.compact(table)
    assert oracle.read(table) == rows, "Java has compacted our files"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
@pytest.mark.parametrize("shape", WITH_ID)
def test_runs_of_buckets_are_joined_in_order(
    oracle: Oracle, shape: Shape, tmp_path: Path, full: bool
) -> None:
    table = make(oracle, shape, tmp_path / "ours", **IN_BUCKETS)
    rows, before = rows_by_partition(oracle, table), oracle.files(table)
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java, full=full)

    report = run_inline(table, full=full)

    assert report.status == "Compacted"
    assert rows_by_partition(oracle, table) == rows
    ours, theirs = (Round(each, before, oracle.files(each)) for each in (table, java))
    assert_append_rounds_agree(ours, theirs)
    assert stray_files(oracle, table) == set()
