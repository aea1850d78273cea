"""Avro rows are found by a field within them, and become the columns that are asked for."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastavro import writer
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.anchored_rows import anchored_rows_as_columns
from lithify.columns.avro_columns import ENCODED, Unsure
from lithify.columns.column_groups import Numbers
from lithify.columns.row_lanes import ByteBlock
from lithify.files.avro.metadata_files import Unpacked, unpack
from support.properties import examples

PAIR = {
    "type": "record",
    "name": "pair",
    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}],
}
INNER = {
    "type": "record",
    "name": "inner",
    "fields": [
        {"name": "before", "type": ["null", "long"]},
        {"name": "mark", "type": "string"},
        {"name": "nothing", "type": {"type": "record", "name": "none", "fields": []}},
        {"name": "code", "type": {"type": "fixed", "name": "code", "size": 3}},
        {"name": "is_on", "type": "boolean"},
        {"name": "share", "type": "double"},
        {"name": "part", "type": "float"},
        {"name": "pairs", "type": ["null", {"type": "array", "items": PAIR}]},
        {"name": "again", "type": ["null", "code"]},
    ],
}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "inner", "type": INNER},
        {"name": "last", "type": ["null", "int"]},
    ],
}
WANTED = pa.struct(
    [
        ("number", pa.int64()),
        (
            "inner",
            pa.struct(
                [
                    ("before", pa.int64()),
                    ("mark", pa.string()),
                    ("nothing", pa.struct([])),
                    ("code", pa.binary(3)),
                    ("is_on", pa.bool_()),
                    ("share", pa.float64()),
                    ("part", pa.float32()),
                    ("pairs", pa.struct([("7", pa.binary()), ("9", pa.binary())])),
                    ("again", ENCODED),
                    ("absent", pa.int32()),
                ]
            ),
        ),
        ("last", pa.int32()),
    ]
)
PATH = ("inner", "mark")


def unpacked(rows: list[dict[str, Any]], schema: dict[str, Any] = SCHEMA) -> Unpacked:
    stream = BytesIO()
    writer(stream, schema, rows, "null", sync_interval=200)
    return unpack(stream.getvalue(), schema)


def marks(block: ByteBlock, enough: int) -> Numbers:
    """All places of the text MARK."""
    found = np.flatnonzero(block.octets[: block.size] == 8)
    for number, letter in enumerate(b"MARK", 1):
        found = found[block.octets[found + number] == letter]
    return found


def decoded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    file = unpacked(rows)
    found = anchored_rows_as_columns(file.schema, [*file.blocks()], WANTED, PATH, marks)
    return found.to_pylist()


def expected(row: dict[str, Any]) -> dict[str, Any]:
    inner = row["inner"]
    pairs = {pair["key"]: pair["value"] for pair in inner["pairs"] or []}
    again = b"\x00" if inner["again"] is None else b"\x02" + inner["again"]
    found = None if inner["pairs"] is None else {"7": pairs.get(7), "9": pairs.get(9)}
    return {**row, "inner": {**inner, "pairs": found, "again": again, "absent": None}}


codes = st.binary(min_size=3, max_size=3)
pairs = st.dictionaries(st.integers(6, 9), st.binary(max_size=6) | st.just(b"\x08MARK") | st.just(b"MARK"))
rows = st.fixed_dictionaries(
    {
        "number": st.integers(-(1 << 63), (1 << 63) - 1),
        "inner": st.fixed_dictionaries(
            {
                "before": st.none() | st.integers(-(1 << 40), 1 << 40),
                "mark": st.just("MARK"),
                "nothing": st.just({}),
                "code": codes,
                "is_on": st.booleans(),
                "share": st.floats(allow_nan=False),
                "part": st.floats(allow_nan=False, width=32),
                "pairs": st.none()
                | pairs.map(lambda each: [{"key": k, "value": v} for k, v in each.items()]),
                "again": st.none() | codes,
            }
        ),
        "last": st.none() | st.integers(-9, 300),
    }
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(rows, min_size=1, max_size=20))
def test_rows_become_the_wanted_columns_wherever_marks_are(found: list[dict[str, Any]]) -> None:
    assert decoded(found) == [*map(expected, found)]


ROW: dict[str, Any] = {
    "number": 1,
    "inner": {
        "before": None,
        "mark": "MARK",
        "nothing": {},
        "code": b"abc",
        "is_on": True,
        "share": 0.5,
        "part": 0.5,
        "pairs": [],
        "again": None,
    },
    "last": None,
}


def test_rows_without_a_mark_have_to_be_read_one_by_one() -> None:
    other = {**ROW, "inner": {**ROW["inner"], "mark": "other"}}
    with pytest.raises(Unsure):
        decoded([ROW, other, ROW])


def test_maps_with_very_many_keys_have_to_be_read_one_by_one() -> None:
    many = [{"key": number, "value": b""} for number in range(300)]
    with pytest.raises(Unsure):
        decoded([{**ROW, "inner": {**ROW["inner"], "pairs": many}}])


@pytest.mark.parametrize("path", [("gone",), ("inner", "gone"), ("number", "mark")])
def test_field_that_rows_do_not_have_is_no_anchor(path: tuple[str, ...]) -> None:
    file = unpacked([ROW])
    with pytest.raises(Unsure):
        anchored_rows_as_columns(file.schema, [*file.blocks()], WANTED, path, marks)


def test_block_with_another_number_of_rows_is_refused() -> None:
    file = unpacked([ROW] * 3)
    (_, data), *_ = [*file.blocks()]
    for count in (1, 4):
        with pytest.raises(Unsure):
            anchored_rows_as_columns(file.schema, [(count, data)], WANTED, PATH, marks)
