"""Clustered tables beside Java's own clustering: files, levels, metadata, and the order of rows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import DataFile, Table
from lithify.engine.rewrite.budget import Budget
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.tasks import Sizing
from support.comparing.append_rounds import (
    assert_append_rounds_agree,
    in_row_order,
    rows_by_partition,
)
from support.comparing.append_shapes import APPEND_SHAPES, make
from support.comparing.rounds import Round
from support.comparing.shapes import Shape
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

CASES = [pytest.param(shape, id=shape.name) for shape in APPEND_SHAPES]
IN_BUCKETS = {"bucket": "2", "bucket-append-ordered": "false"}
LOCAL = {"clustering.incremental.mode": "local-sort"}
FEW_RUNS = {"num-sorted-run.compaction-trigger": "3"}


def clustered(*columns: str, strategy: str = "auto", **options: str) -> dict[str, str]:
    return {
        "clustering.incremental": "true",
        "clustering.columns": ",".join(columns),
        "clustering.strategy": strategy,
        **FEW_RUNS,
        **options,
    }


def levels(files: Iterable[DataFile]) -> dict[tuple[str, int, int], int]:
    """Rows of each level of each bucket."""
    found: dict[tuple[str, int, int], int] = {}
    for file in files:
        place = (str(file.partition), file.bucket, file.level)
        found[place] = found.get(place, 0) + file.rows
    return found


def assert_like_java(ours: Round, java: Round) -> None:
    """The same files are sorted together, and the new ones have the same level, columns and metadata."""
    assert levels(ours.after) == levels(java.after)
    assert_append_rounds_agree(ours, java)


def in_parts(oracle: Oracle, table: Table, columns: Iterable[str]) -> dict[str, list[Any]]:
    """Values of some columns, partition by partition, in the order in which Java reads them."""
    return {
        part: [[0.0 if row[name] == "-0.0" else row[name] for name in columns] for row in rows]
        for part, rows in rows_by_partition(oracle, table).items()
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
@pytest.mark.parametrize("shape", CASES)
def test_rows_are_sorted_as_by_java(oracle: Oracle, shape: Shape, tmp_path: Path, full: bool) -> None:
    columns = [*shape.key]
    table = make(oracle, shape, tmp_path / "ours", **clustered(*columns, strategy="order"))
    rows, before = oracle.read(table), oracle.files(table)
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java, full=full)

    report = run_inline(table, full=full)

    assert report.status == "Compacted"
    assert oracle.snapshots(table)[-1]["commitKind"] == "COMPACT"
    assert oracle.read(table) == rows
    ours, theirs = (Round(each, before, oracle.files(each)) for each in (table, java))
    assert_like_java(ours, theirs)
    assert in_parts(oracle, table, columns) == in_parts(oracle, java, columns)
    assert stray_files(oracle, table) == set()
    for each in (table, java):
        oracle.write(each, [row for row in rows if row[0] == "+I"][:5])
        oracle.compact(each, full=True)
    assert in_parts(oracle, table, columns) == in_parts(oracle, java, columns), "Java has sorted our files"


def test_levels_grow_as_in_java(oracle: Oracle, tmp_path: Path) -> None:
    """Round by round Java sorts the same files of a copy, until data is in several levels."""
    table = Table(tmp_path / "ours", "db.t")
    oracle.create_table(table, {"id": "INT", "v": "STRING"}, options=clustered("id"))
    found, picks = set(), 0
    for number, count in enumerate([2000, 40, 40, 40, 5, 5, 5, 400, 400, 7, 7, 7, 7]):
        oracle.write(table, [["+I", key * 7919 % 1009, f"{number}"] for key in range(count)])
        before = oracle.files(table)
        java = copy_of(table, tmp_path / f"java-{number}")
        oracle.compact(java, full=False)
        report = run_inline(table, full=False)
        ours, theirs = (Round(each, before, oracle.files(each)) for each in (table, java))
        assert (ours.removed, levels(ours.after)) == (theirs.removed, levels(theirs.after))
        assert (report.status == "Compacted") == bool(ours.removed)
        picks += bool(ours.removed)
        found |= {file.level for file in ours.after}
    assert picks > 3
    assert len(found) > 2


@pytest.mark.parametrize("strategy", ["order", "zorder", "hilbert"])
def test_every_level_is_one_sorted_sequence_of_files(oracle: Oracle, tmp_path: Path, strategy: str) -> None:
    """Over files, and over the local disk: the budget is small."""
    table = Table(tmp_path, "db.t")
    options = {**clustered("a", "b", strategy=strategy), "target-file-size": "60 kb"}
    oracle.create_table(table, {"a": "INT", "b": "INT", "v": "STRING"}, options=options)
    oracle.generate(table, 60_000, commits=3, columns={name: {"kind": "random", "min": 0} for name in "ab"})
    digest = oracle.digest(table)

    report = run_inline(table, full=True, sizing=Sizing(budget=Budget(2 << 20)))

    assert report.status == "Compacted"
    assert oracle.digest(table) == digest
    files = in_row_order(oracle.files(table))
    assert len(files) > 3
    assert {file.level for file in files} == {3}
    rows = [row for file in sorted(files, key=number_of) for row in pq.read_table(path(file)).to_pylist()]
    points = [(row["a"], row["b"]) for row in rows]
    if strategy == "order":
        assert points == sorted(points)
    elif strategy == "zorder":
        asked = [["+I", *point, ""] for point in points]
        found = oracle.curve_positions(table, asked, ["a", "b"], strategy)
        assert found == sorted(found)
    # A file is a small part of the plane: a filter on either column skips most files.
    sizes = {name: [max(part) - min(part) for part in of_files(files, name)] for name in "ab"}
    whole = max(point[0] for point in points)
    expected = {"order": ("a",), "zorder": ("a", "b"), "hilbert": ("a", "b")}[strategy]
    for name in expected:
        assert sum(size < whole * 0.8 for size in sizes[name]) > len(files) / 2


def of_files(files: Iterable[DataFile], column: str) -> list[list[int]]:
    return [pq.read_table(path(file), columns=[column])[column].to_pylist() for file in files]


def path(file: DataFile) -> str:
    return file.path.removeprefix("file:")


def number_of(file: DataFile) -> int:
    """The number of a file among those of its task, which are written in order."""
    return int(file.name.rpartition(".")[0].rpartition("-")[2])


@pytest.mark.parametrize("strategy", ["order", "zorder", "hilbert"])
@pytest.mark.parametrize("name", ["every type", "every kind of nesting"])
def test_values_of_every_type_survive(oracle: Oracle, tmp_path: Path, name: str, strategy: str) -> None:
    """Each type that has an order is sorted by, and all are carried along; NaN and nulls are among them."""
    shape = next(shape for shape in APPEND_SHAPES if shape.name == name)
    table = make(oracle, shape, tmp_path, **clustered("id", strategy="order"))
    fields = oracle.schema(table)["fields"]
    columns = [each["name"] for each in fields if is_plain(each["type"])]
    assert len(columns) > 1
    options = [["clustering.columns", ",".join(columns)], ["clustering.strategy", strategy]]
    oracle.alter_table(table, *({"set_option": option} for option in options))
    rows = oracle.read(table)
    assert run_inline(table, full=True).status == "Compacted"
    assert oracle.read(table) == rows


def is_plain(kind: Any) -> bool:
    """Whether a type, as a schema stores it, has an order."""
    return isinstance(kind, str) and not kind.startswith("VARIANT")


@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
def test_buckets_without_order_are_clustered_too(oracle: Oracle, tmp_path: Path, full: bool) -> None:
    table = Table(tmp_path / "ours", "db.t")
    options = {**clustered("n"), **IN_BUCKETS, "bucket-key": "id"}
    oracle.create_table(table, {"id": "INT", "n": "INT"}, options=options)
    for commit in range(4):
        oracle.write(table, [["+I", key, key * 7919 % 101] for key in range(commit, 60)])
    rows, before = oracle.read(table), oracle.files(table)
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java, full=full)

    assert run_inline(table, full=full).status == "Compacted"

    ours, theirs = (Round(each, before, oracle.files(each)) for each in (table, java))
    assert (ours.removed, levels(ours.after)) == (theirs.removed, levels(theirs.after))
    for bucket, files in groupby(in_row_order(ours.added), lambda file: file.bucket):
        numbers = [row["n"] for file in files for row in pq.read_table(path(file)).to_pylist()]
        assert numbers == sorted(numbers) != [], bucket
    oracle.write(table, [])
    oracle.compact(table)
    assert oracle.read(table) == rows


def test_other_columns_take_a_full_compaction(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    oracle.create_table(table, {"a": "INT", "b": "INT"}, options=clustered("a"))
    for number in range(3):
        oracle.write(table, [["+I", key, -key] for key in range(number, 9)])
    assert run_inline(table, full=True).status == "Compacted"
    assert run_inline(table, full=True).status == "NothingToDo"
    oracle.alter_table(table, {"set_option": ["clustering.columns", "b"]})
    assert run_inline(table, full=False).status == "NothingToDo"
    assert run_inline(table, full=True).status == "Compacted"
    assert run_inline(table, full=True).status == "NothingToDo"
    (file,) = oracle.files(table)
    rows = pq.read_table(path(file)).to_pylist()
    assert [row["b"] for row in rows] == sorted(row["b"] for row in rows)


def test_a_local_sort_takes_several_tasks(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    oracle.create_table(table, {"a": "INT"}, options={**clustered("a"), **LOCAL})
    for number in range(4):
        oracle.write(table, [["+I", key * 7919 % 1009] for key in range(number, 600)])
    rows = oracle.read(table)
    one = max(file.size for file in oracle.files(table))
    report = run_inline(table, full=True, sizing=Sizing(task_bytes=2 * one))
    assert (report.status, report.tasks) == ("Compacted", 2)
    assert oracle.read(table) == rows
    for file in oracle.files(table):
        numbers = pq.read_table(path(file))["a"].to_pylist()
        assert numbers == sorted(numbers)


class TestHistory:
    @pytest.fixture
    def table(self, oracle: Oracle, tmp_path: Path) -> Table:
        """Three partitions with two files each, and one that is in the top level."""
        table = Table(tmp_path / "ours", "db.t")
        options = {
            **clustered("id"),
            "clustering.history-partition.idle-to-full-sort": "0 s",
            "num-sorted-run.compaction-trigger": "9",
        }
        oracle.create_table(table, {"id": "INT", "dt": "STRING"}, partition_keys=["dt"], options=options)
        for number in range(2):
            oracle.write(table, [["+I", 9 - number, dt] for dt in "abcz"])
        no_others = {"clustering.history-partition.limit": "0"}
        oracle.compact(table, partitions=[{"dt": "z"}], full=True, options=no_others)
        return table

    def test_partitions_that_rest_are_sorted_fully(
        self, oracle: Oracle, table: Table, tmp_path: Path
    ) -> None:
        """Java looks for them beside the partitions that it is told, we among those that are selected."""
        rows, before = oracle.read(table), oracle.files(table)
        java = copy_of(table, tmp_path / "java")
        oracle.compact(java, partitions=[{"dt": "z"}], full=False)

        report = run_inline(table, full=False)

        assert {(group.group, group.trigger) for group in report.groups} == {
            (f"dt={dt}/bucket-0", "HistoryPartition") for dt in "abc"
        }
        ours, theirs = (Round(each, before, oracle.files(each)) for each in (table, java))
        assert_like_java(ours, theirs)
        assert oracle.read(table) == rows
        assert run_inline(table, full=False).status == "NothingToDo"

    def test_a_run_takes_a_limited_number_of_them_oldest_first(self, oracle: Oracle, table: Table) -> None:
        oracle.write(table, [["+I", 3, "a"]])
        oracle.alter_table(table, {"set_option": ["clustering.history-partition.limit", "2"]})
        taken = [{group.group[3] for group in run_inline(table, full=False).groups} for _ in range(3)]
        assert taken == [{"b", "c"}, {"a"}, set()]

    def test_only_selected_partitions_are_touched(self, oracle: Oracle, table: Table) -> None:
        report = run_inline(table, full=False, selection=Selection(partitions=({"dt": "b"},)))
        assert [group.group for group in report.groups] == ["dt=b/bucket-0"]
