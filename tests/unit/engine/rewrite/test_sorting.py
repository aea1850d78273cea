"""Rows that come in any order are merged as if each had been a sorted run, in memory and over local disk."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.orders import SequenceField
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import Deduplicate
from lithify.engine.rewrite.records import RecordLayout, RowKinds
from lithify.engine.rewrite.sorting import UnsortedRows
from lithify.engine.rewrite.spec import MergeSpec
from support.properties import examples

SCHEMA = pa.schema({"key": pa.string(), "own": pa.int32(), "seq": pa.int64(), "kind": pa.int8()})
ROWS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.none() | st.integers(0, 3), st.sampled_from([0, 3])),
    max_size=40,
)
SEQUENCE = SequenceField("seq")


def spec(*own: SequenceField) -> MergeSpec:
    layout = RecordLayout(("key",), (*own, SEQUENCE), RowKinds("kind", (3,)))
    return MergeSpec(layout, Deduplicate())


def rank(own: int | None, *, ascending: bool) -> tuple[bool, int]:
    """The place of a value in the user's order, in which nulls come first either way."""
    return (own is not None, 0 if own is None else own if ascending else -own)


@settings(max_examples=examples(80), deadline=None)
@given(
    rows=ROWS, cuts=st.sets(st.integers(1, 39)), spills=st.sets(st.integers(0, 39)), order=st.integers(0, 2)
)
def test_the_newest_row_of_each_key_is_left(
    rows: list[tuple[str, int | None, int]], cuts: set[int], spills: set[int], order: int
) -> None:
    own = [(), (SequenceField("own"),), (SequenceField("own", ascending=False),)][order]
    expected: dict[str, tuple[object, ...]] = {}
    for number, (key, value, kind) in enumerate(rows):
        place = (rank(value, ascending=order == 1) if order else (), number)
        if key not in expected or place > expected[key][0]:
            expected[key] = (place, (key, value, number, kind))

    with TemporaryDirectory() as folder:
        unsorted = UnsortedRows(spec(*own), Budget(1 << 20), Path(folder) / "7")
        bounds = sorted({0, *(cut for cut in cuts if cut < len(rows)), len(rows)})
        for start, stop in pairwise(bounds):
            columns = zip(*((*rows[n][:2], n, rows[n][2]) for n in range(start, stop)), strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)]
            unsorted.add(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
            if start in spills:
                unsorted.spill()
        found = (
            [tuple(row.values()) for batch in unsorted.merged() for row in batch.to_pylist()] if rows else []
        )
        assert unsorted.rows == len(rows)

    assert found == [row for _, row in sorted(((key, row) for key, (_, row) in expected.items()))]


@pytest.mark.parametrize("spilled", [False, True])
def test_nothing_is_left_on_disk(tmp_path: Path, spilled: bool) -> None:
    unsorted = UnsortedRows(spec(), Budget(1 << 20), tmp_path / "1")
    for number in range(3):
        arrays = [
            pa.array([value], kind) for value, kind in zip(("a", 1, number, 0), SCHEMA.types, strict=True)
        ]
        unsorted.add(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
        if spilled:
            unsorted.spill()
    (batch,) = unsorted.merged()
    assert batch.column("seq").to_pylist() == [2]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
