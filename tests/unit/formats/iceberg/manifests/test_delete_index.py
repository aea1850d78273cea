"""Deletes are matched with data files as the specification says, compared with trying every pair."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.formats.iceberg.manifests.compared_bounds import ComparedColumn
from lithify.formats.iceberg.manifests.delete_index import DeleteIndex, delete_index
from support.properties import examples

UNPARTITIONED = {9}


@dataclass(frozen=True)
class Data:
    path: str
    sequence: int
    partition: int
    rows: int = 10


@dataclass(frozen=True)
class Delete:
    content: int
    sequence: int
    partition: int
    spec: int = 0
    referenced: str | None = None
    vector: bool = False
    rows: int = 1


def index_of(data: list[Data], deletes: list[Delete]) -> DeleteIndex:
    return delete_index(
        pa.table(
            {
                "file_path": pa.array([each.path for each in data], pa.string()),
                "sequence_number": pa.array([each.sequence for each in data], pa.int64()),
                "partition": pa.array([each.partition for each in data], pa.int64()),
                "record_count": pa.array([each.rows for each in data], pa.int64()),
            }
        ),
        pa.table(
            {
                "content": pa.array([each.content for each in deletes], pa.int32()),
                "sequence_number": pa.array([each.sequence for each in deletes], pa.int64()),
                "partition": pa.array([each.partition for each in deletes], pa.int64()),
                "spec_id": pa.array([each.spec for each in deletes], pa.int32()),
                "referenced": pa.array([each.referenced for each in deletes], pa.string()),
                "file_format": pa.array(
                    ["puffin" if each.vector else "parquet" for each in deletes], pa.string()
                ),
                "record_count": pa.array([each.rows for each in deletes], pa.int64()),
            }
        ),
        UNPARTITIONED,
    )


def naive(file: Data, deletes: list[Delete]) -> set[int]:
    """The deletes of a file, found by trying each."""
    vectors = {n for n, each in enumerate(deletes) if each.vector and matches_path(file, each)}
    equality = {n for n, each in enumerate(deletes) if each.content == 2 and matches_equality(file, each)}
    positions = {
        n
        for n, each in enumerate(deletes)
        if each.content == 1
        and not each.vector
        and (matches_path(file, each) or matches_partition(file, each))
    }
    return equality | (vectors or positions)


def matches_path(file: Data, delete: Delete) -> bool:
    return delete.content == 1 and delete.referenced == file.path and delete.sequence >= file.sequence


def matches_partition(file: Data, delete: Delete) -> bool:
    is_there = delete.partition == file.partition and delete.sequence >= file.sequence
    return delete.referenced is None and is_there


def matches_equality(file: Data, delete: Delete) -> bool:
    is_there = delete.spec in UNPARTITIONED or delete.partition == file.partition
    return is_there and delete.sequence > file.sequence


paths = st.sampled_from("abcd")
data_files = st.lists(
    st.builds(Data, paths, st.integers(0, 4), st.integers(0, 2), st.integers(0, 9)), max_size=8
)
sequences, partitions = st.integers(0, 5), st.integers(0, 3)
deletes = st.lists(
    st.builds(
        Delete, st.just(1), sequences, partitions, st.just(0), st.none() | paths, rows=st.integers(0, 5)
    )
    | st.builds(
        Delete, st.just(1), sequences, partitions, st.just(0), paths, st.just(True), st.integers(0, 5)
    )
    | st.builds(Delete, st.just(2), sequences, partitions, st.sampled_from([0, 9])),
    max_size=10,
)


@settings(max_examples=examples(300), deadline=None)
@given(data_files, deletes)
def test_every_file_has_the_deletes_that_trying_all_pairs_finds(
    files: list[Data], found: list[Delete]
) -> None:
    index = index_of(files, found)
    applied = index.applied(np.arange(len(files)))
    expected = [naive(file, found) for file in files]
    parts = np.split(applied.deletes, applied.offsets[1:-1]) if files else []
    assert [set(part.tolist()) for part in parts] == expected
    assert index.counts.tolist() == [len(each) for each in expected]
    known = [
        min(file.rows, sum(found[n].rows for n in each if found[n].referenced is not None))
        for file, each in zip(files, expected, strict=True)
    ]
    assert index.known_deleted_rows.tolist() == known
    uncounted = [any(found[n].referenced is None for n in each) for each in expected]
    assert index.has_uncounted.tolist() == uncounted


def test_position_files_without_rows_do_not_count() -> None:
    deletes = [Delete(1, 2, 0, 0, "a", rows=rows) for rows in (0, 3, 0, 1)]
    index = index_of([Data("a", 1, 0), Data("b", 1, 0)], [*deletes, Delete(1, 2, 0, 0)])
    assert index.position_files.tolist() == [2, 0]


def test_two_vectors_on_one_file_are_both_returned_and_flagged() -> None:
    vectors = [Delete(1, 2, 0, 0, "a", vector=True), Delete(1, 3, 0, 0, "a", vector=True)]
    index = index_of([Data("a", 1, 0), Data("b", 1, 0)], vectors)
    assert index.is_doubled.tolist() == [True, False]
    assert index.applied(np.array([0])).deletes.tolist() == [0, 1]


def test_files_are_returned_in_the_order_in_which_they_are_asked_for() -> None:
    index = index_of([Data("a", 1, 0), Data("b", 1, 0)], [Delete(1, 2, 0, 0, name) for name in "ab"])
    applied = index.applied(np.array([1, 0, 1]))
    assert (applied.offsets.tolist(), applied.deletes.tolist()) == ([0, 1, 2, 3], [1, 0, 1])


@pytest.mark.thorough
def test_many_deletes_for_many_files_of_one_partition_do_not_multiply() -> None:
    """A hundred thousand files with a hundred thousand deletes each would be 10^10 pairs."""
    count = 100_000
    data = [Data(f"f{n}", 1, 0) for n in range(count)]
    deletes = [Delete(1 + n % 2, 2, 0) for n in range(count)]
    begin = time.process_time()
    index = index_of(data, deletes)
    assert index.counts.tolist() == [count] * count
    assert time.process_time() - begin < 5


def statistics(ranges: list[Any], kind: str) -> dict[str, pa.Array]:
    """The statistics of column 1: lower, upper, values, nulls."""
    lower, upper, values, nulls = zip(*ranges, strict=True)
    return {
        "lower_bounds.1": pa.array(
            [None if low is None else struct.pack(kind, low) for low in lower], pa.binary()
        ),
        "upper_bounds.1": pa.array(
            [None if up is None else struct.pack(kind, up) for up in upper], pa.binary()
        ),
        "value_counts.1": pa.array(values, pa.int64()),
        "null_value_counts.1": pa.array(nulls, pa.int64()),
    }


@pytest.mark.parametrize(
    ("data", "delete", "applies"),
    [
        pytest.param((1, 9, 5, 0), (9, 20, 3, 0), True, id="ranges touch"),
        pytest.param((1, 9, 5, 0), (10, 20, 3, 0), False, id="ranges are apart"),
        pytest.param((-9, -1, 5, 0), (1, 2, 3, 0), False, id="negative numbers are less"),
        pytest.param((1, 9, 5, 1), (10, 20, 3, 1), True, id="both have nulls"),
        pytest.param((1, 9, 5, 1), (10, 20, 3, 0), False, id="only data has nulls"),
        pytest.param((None, None, 5, 5), (10, 20, 3, 0), False, id="data has only nulls, deletes none"),
        pytest.param((1, 9, 5, 0), (None, None, 3, 3), False, id="deletes are only nulls, data has none"),
        pytest.param((1, 9, 5, None), (10, 20, 3, None), True, id="nulls were not counted"),
        pytest.param((1, 9, 5, None), (10, 20, 3, 0), False, id="data may have nulls, deletes have none"),
        pytest.param((None, 9, 5, 0), (10, 20, 3, 0), True, id="a bound is missing"),
    ],
)
def test_equality_deletes_are_left_out_where_statistics_rule_them_out(
    data: Any, delete: Any, applies: bool
) -> None:
    assert len(applied_with(data, delete, ComparedColumn("long"))) == applies


def test_required_column_has_no_nulls_even_if_nobody_counted_them() -> None:
    apart = (1, 9, 5, None), (10, 20, 3, None)
    assert applied_with(*apart, ComparedColumn("long")) == [0]
    assert applied_with(*apart, ComparedColumn("long", is_required=True)) == []


def test_bounds_of_floats_rule_nothing_out() -> None:
    """They leave out NaN, which both may have."""
    apart = (1.0, 2.0, 5, 0), (3.0, 4.0, 3, 0)
    assert applied_with(*apart, ComparedColumn("double"), "<d") == [0]
    assert applied_with((None, None, 5, 5), apart[1], ComparedColumn("double"), "<d") == []


def test_bounds_of_uuids_rule_nothing_out() -> None:
    """Java's first order of them was another one: the greatest UUID could be the least by it."""
    low, high, deleted = (bytes([first, *[0] * 15]) for first in (0x90, 0x50, 0x20))
    data, delete = (low, high, 5, 0), (deleted, deleted, 3, 0)
    assert applied_with(data, delete, ComparedColumn("uuid"), "16s") == [0]
    assert applied_with(data, delete, ComparedColumn("fixed[16]"), "16s") == []


def applied_with(data: Any, delete: Any, column: ComparedColumn, kind: str = "<q") -> list[int]:
    """The equality deletes, one at most, that apply to a file by the statistics of both."""
    index = index_of([Data("a", 1, 0)], [Delete(2, 2, 0)])
    ids = {"equality_ids": pa.array([[1]], pa.list_(pa.int32()))}
    found = delete_index(
        pa.table({**columns(index.data), **statistics([data], kind)}),
        pa.table({**columns(index.deletes), **ids, **statistics([delete], kind)}),
        UNPARTITIONED,
        {1: column},
    )
    return found.applied(np.array([0])).deletes.tolist()


def columns(table: pa.Table) -> dict[str, Any]:
    return dict(zip(table.column_names, table.columns, strict=True))
