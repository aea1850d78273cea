"""Nulls that merges make in nested and in dictionary-encoded columns."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lithify.columns.nulls import take_or_null

INNER = pa.struct([pa.field("x", pa.list_(pa.int32()), nullable=False), pa.field("y", pa.int32())])
ROW = pa.struct(
    [
        pa.field("n", pa.int32(), nullable=False),
        pa.field("t", pa.string(), nullable=False),
        pa.field("r", INNER, nullable=False),
    ]
)


def test_parts_that_must_not_be_null_are_not_beneath_a_null() -> None:
    rows = [{"n": 1, "t": "a", "r": {"x": [1], "y": None}}, None, {"n": 2, "t": "b", "r": {"x": [], "y": 2}}]
    taken = take_or_null(pa.array(rows, ROW).take(pa.array([0, 2])), np.array([1, -1, 0]))
    assert taken.to_pylist() == [rows[2], None, rows[0]]
    assert [taken.field(name).null_count for name in ("n", "t", "r")] == [0, 0, 0]
    assert taken.field("r").field("x").null_count == 0
    table = pa.table({"c": taken})
    pq.write_table(table, buffer := io.BytesIO())  # Arrow refuses nulls in such parts
    assert pq.read_table(buffer).equals(table)


def test_dictionaries_hold_only_what_is_referred_to() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), ["+I", "+U", "-D"])
    taken = take_or_null(column, np.array([0, -1, 1]))
    assert taken.type == column.type
    pq.write_table(pa.table({"c": taken}), buffer := io.BytesIO())
    statistics = pq.read_metadata(buffer).row_group(0).column(0).statistics
    assert (statistics.min, statistics.max, statistics.null_count) == ("+I", "+U", 1)
