"""Rows of append tables over several compactions: large outputs, Java between ours, concurrent writers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pypaimon import CatalogFactory

from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import Row, Table
from lithify.engine.rewrite.budget import Budget
from lithify.formats.protocol.tasks import Sizing
from support.cases import case
from support.comparing.append_rounds import in_row_order
from support.races import Meanwhile
from support.runs import run_inline
from support.tables import stray_files

pytestmark = pytest.mark.oracle

SMALL_FILES = {
    "target-file-size": "40 kb",
    "metadata.stats-mode": "none",
    "parquet.enable.dictionary": "false",
}
COLUMNS = {"id": "INT", "v": "STRING", "b": "INT"}
SIZING = Sizing(task_bytes=1, budget=Budget(1 << 20))


def made(oracle: Oracle, folder: Path, *, bucketed: bool, **options: str) -> Table:
    table = Table(folder, "db.t")
    buckets = {"bucket": "1", "bucket-key": "b"} if bucketed else {}
    oracle.create_table(table, COLUMNS, options={**SMALL_FILES, **buckets, **options})
    return table


def rows(random: Random, start: int, count: int) -> list[Row]:
    """Rows that do not compress."""
    return [["+I", start + number, random.randbytes(60).hex(), 0] for number in range(count)]


def ids(read: list[Row]) -> list[Any]:
    return [row[1] for row in read]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_rows_of_a_bucket_stay_in_order_over_many_compactions(
    oracle: Oracle, tmp_path: Path, file_format: str
) -> None:
    """Runs are divided into tasks, tasks write several files, and Java compacts and writes in between."""
    random = Random(file_format)
    table = made(oracle, tmp_path, bucketed=True, **{"file.format": file_format})
    count, statuses = 0, []
    for turn in range(6):
        for _ in range(7):
            added = random.choice([20, 20, 20, 200, 1500])
            oracle.write(table, rows(random, count, added))
            count += added
        if turn == 2:
            oracle.compact(table)  # leaves files that begin with the same number
        expected = ids(oracle.read(table, in_order=True))  # Java's own compactions mix rows up
        assert turn >= 2 or expected == list(range(count))
        statuses.append(run_inline(table, full=turn % 2 == 1, sizing=SIZING).status)
        assert ids(oracle.read(table, in_order=True)) == expected
        files = in_row_order(oracle.files(table))
        if turn < 2:
            assert all(a.max_sequence < b.min_sequence for a, b in pairwise(files))
    assert statuses.count("Compacted") > 2
    assert stray_files(oracle, table) == set()


def test_outputs_without_buckets_have_about_the_target_size(oracle: Oracle, tmp_path: Path) -> None:
    table = made(oracle, tmp_path, bucketed=False, **{"source.split.open-file-cost": "1 b"})
    random = Random(1)
    for commit in range(12):
        oracle.write(table, rows(random, 100 * commit, 100))
    before = oracle.files(table)

    report = run_inline(table, full=False, sizing=SIZING)

    after = oracle.files(table)
    assert report.status == "Compacted"
    assert sum(file.rows for file in after) == 1200
    assert len(after) < len(before)
    made_by_us = [file for file in after if file.name not in {file.name for file in before}]
    assert all(file.size >= 0.7 * 40_000 for file in made_by_us)
    assert {file.min_sequence for file in after} == {0}
    assert sorted(ids(oracle.read(table))) == list(range(1200))
    run_inline(table, full=True)
    assert run_inline(table, full=True).status == "NothingToDo"


@pytest.mark.parametrize("bucketed", [case(False, id="no buckets"), case(True, id="a bucket")])
def test_what_a_java_writer_adds_meanwhile_stays(oracle: Oracle, tmp_path: Path, bucketed: bool) -> None:
    """Java commits before our tasks, before our commit, and compacts what we have written."""
    table = made(oracle, tmp_path, bucketed=bucketed)
    random, count = Random(2), 0

    def write() -> None:
        nonlocal count
        oracle.write(table, rows(random, count, 50))
        count += 50

    for _ in range(6):
        write()
    for _ in range(3):
        report = run_inline(table, runner=Meanwhile(before=write, after=write))
        assert report.status == "Compacted"
        found = ids(oracle.read(table, in_order=True))
        assert (found if bucketed else sorted(found)) == list(range(count))
        for _ in range(5):
            write()
    oracle.compact(table)
    assert sorted(ids(oracle.read(table))) == list(range(count)), "Java has compacted our files"
    assert stray_files(oracle, table) == set()


def test_an_overwrite_meanwhile_takes_its_partition_out_of_the_run(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    oracle.create_table(table, {"id": "INT", "dt": "STRING"}, partition_keys=["dt"])
    for number in range(6):
        oracle.write(table, [["+I", number, "a"], ["+I", number, "b"]])

    def overwrite() -> None:
        oracle.write(table, [["+I", 100, "a"]], overwrite_partition={"dt": "a"})

    report = run_inline(table, runner=Meanwhile(after=overwrite), max_rounds=1)

    assert list(report.skipped) == ["dt=a/bucket-0"]
    assert [group.group for group in report.groups] == ["dt=b/bucket-0"]
    assert ids(oracle.read(table, partition={"dt": "a"})) == [100]
    assert sorted(ids(oracle.read(table, partition={"dt": "b"}))) == list(range(6))
    assert stray_files(oracle, table) == set()


@pytest.mark.parametrize("bucketed", [case(False, id="no buckets"), case(True, id="a bucket")])
def test_files_of_python_writers_are_joined_with_those_of_java(
    oracle: Oracle, tmp_path: Path, bucketed: bool
) -> None:
    """Their manifest entries have no statistics, and other numbers."""
    table = made(oracle, tmp_path, bucketed=bucketed, **{"target-file-size": "256 mb"})
    schema = pa.schema([("id", pa.int32()), ("v", pa.string()), ("b", pa.int32())])
    for number in range(6):
        if number % 2:
            oracle.write(table, [["+I", number, "java", 0]])
        else:
            written = pa.table([[number], ["python"], [0]], schema=schema)
            write_with_python(table, written)
    before, places = oracle.read(table), {file.total_buckets for file in oracle.files(table)}

    report = run_inline(table)

    assert report.status == "Compacted"
    (file,) = oracle.files(table)
    assert (oracle.read(table), file.rows, {file.total_buckets}) == (before, 6, places)
    if bucketed:
        assert ids(oracle.read(table, in_order=True)) == list(range(6))
    assert stray_files(oracle, table) == set()


def write_with_python(table: Table, written: pa.Table) -> None:
    catalog = CatalogFactory.create({"warehouse": str(table.warehouse)})
    builder = catalog.get_table(table.name).new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(written)
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()
