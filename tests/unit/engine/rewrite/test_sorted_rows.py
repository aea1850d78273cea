"""Rows are sorted, none is lost, and equal ones keep their order, in memory and over local disk."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.orders import SortStrategy
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.sort_keys import SortKey
from lithify.engine.rewrite.sorted_rows import SortedRows
from support.properties import examples

KEY = SortKey(("a", "b"), frozenset({"a", "b"}), SortStrategy.ORDER)
SCHEMA = pa.schema(
    {
        "a": pa.int32(),
        "number": pa.int64(),
        "nested": pa.list_(pa.struct({"x": pa.string()})),
        "b": pa.string(),
    }
)
VALUES = st.tuples(st.none() | st.integers(-2, 2), st.none() | st.sampled_from(["", "x", "xy"]))
SMALL = Budget(4 << 20)


def batch(rows: list[tuple[int | None, str | None]], first: int) -> pa.RecordBatch:
    arrays = [
        pa.array([a for a, _ in rows], pa.int32()),
        pa.array(range(first, first + len(rows)), pa.int64()),
        pa.array([[{"x": b}] for _, b in rows], SCHEMA.field("nested").type),
        pa.array([b for _, b in rows], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def place(row: tuple[int | None, str | None]) -> tuple[object, ...]:
    return tuple((value is not None, 0 if value is None else value) for value in row)


@settings(max_examples=examples(60), deadline=None)
@given(rows=st.lists(VALUES, max_size=40), cuts=st.sets(st.integers(1, 39)))
def test_the_order_is_that_of_a_stable_sort(
    rows: list[tuple[int | None, str | None]], cuts: set[int]
) -> None:
    with TemporaryDirectory() as folder:
        rows_to_sort = SortedRows(KEY, SMALL, Path(folder))
        bounds = sorted({0, *(cut for cut in cuts if cut < len(rows)), len(rows)})
        for start, stop in pairwise(bounds):
            rows_to_sort.add(batch(rows[start:stop], start))
        found = pa.Table.from_batches(rows_to_sort.sorted(), SCHEMA)
    assert found["number"].to_pylist() == sorted(range(len(rows)), key=lambda n: place(rows[n]))
    for value, nested in zip(found["b"].to_pylist(), found["nested"].to_pylist(), strict=True):
        assert nested == [{"x": value}]


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", SortStrategy)
def test_more_rows_than_fit_into_memory(tmp_path: Path, strategy: SortStrategy) -> None:
    rng, rows = Random(1), 200_000
    numbers = [rng.randrange(1000) for _ in range(rows)]
    table = pa.table({"a": numbers, "b": [str(each % 7) for each in numbers], "n": range(rows)})
    key = SortKey(("a", "b"), frozenset(), strategy)

    def sorted_with(budget: int, folder: Path) -> pa.Table:
        rows_to_sort = SortedRows(key, Budget(budget), folder)
        for each in table.to_batches(max_chunksize=5_000):
            rows_to_sort.add(each)
        assert bool([*folder.rglob("*.arrow")]) == (budget < 64 << 20)
        found = pa.Table.from_batches(rows_to_sort.sorted(), table.schema)
        assert [*folder.rglob("*.arrow")] == []
        return found

    on_disk, in_memory = tmp_path / "disk", tmp_path / "memory"
    on_disk.mkdir()
    in_memory.mkdir()
    found = sorted_with(3 << 20, on_disk)
    assert found.equals(sorted_with(256 << 20, in_memory))
    assert sorted(found["n"].to_pylist()) == [*range(rows)]
    if strategy is SortStrategy.ORDER:
        assert found["a"].to_pylist() == sorted(numbers)


def test_columns_may_have_any_name(tmp_path: Path) -> None:
    table = pa.table({"__sort_0": [2, 1], "___sort_1": [1, 2]})
    rows_to_sort = SortedRows(SortKey(("__sort_0",), frozenset(), SortStrategy.ORDER), SMALL, tmp_path)
    rows_to_sort.add(table.to_batches()[0])
    assert pa.Table.from_batches(rows_to_sort.sorted()).equals(table.take([1, 0]))


def test_no_rows_at_all(tmp_path: Path) -> None:
    rows_to_sort = SortedRows(KEY, SMALL, tmp_path)
    rows_to_sort.add(batch([], 0))
    assert [*rows_to_sort.sorted()] == []
