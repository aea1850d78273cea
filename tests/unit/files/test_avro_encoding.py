"""Columns are encoded as by Avro's library, and values that are encoded already stay as they are."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.files.avro.container import compress, decompress, new_header, packed_blocks, read_header
from lithify.files.avro.encoding import Cells, encode_rows, encoded


def one_by_one(kind: Any, values: list[Any]) -> bytes:
    stream = BytesIO()
    for value in values:
        fastavro.schemaless_writer(stream, kind, value)
    return stream.getvalue()


def test_fixed_values_have_no_length() -> None:
    column = pa.array([b"xx", b"ab", None, b"cd"], pa.binary(2)).slice(1)
    data, lengths = encode_rows([column], [True])
    assert (data.tobytes(), lengths.tolist()) == (b"\x02ab\x00\x02cd", [3, 1, 3])


def test_records_without_fields_take_no_bytes() -> None:
    column = pa.array([{}, {}], pa.struct([]))
    data, lengths = encode_rows([column, pa.array([1, 2])], [False, False])
    assert (data.tobytes(), lengths.tolist()) == (b"\x02\x04", [1, 1])


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=5), st.none() | st.lists(st.integers(-9, 900), max_size=3)), max_size=9
    )
)
def test_encoded_values_stay_as_they_are(rows: list[tuple[str, list[int] | None]]) -> None:
    kind = ["null", {"type": "array", "items": "long"}]
    bytes_of = [one_by_one(kind, [values]) for _, values in rows]
    cells = encoded(pa.array(bytes_of, pa.large_binary()))
    data, lengths = encode_rows([pa.array([text for text, _ in rows], pa.string()), cells], [False, True])
    expected = [one_by_one("string", [text]) + value for (text, _), value in zip(rows, bytes_of, strict=True)]
    assert (data.tobytes(), lengths.tolist()) == (b"".join(expected), [*map(len, expected)])


def test_cells_of_different_lengths_are_joined_row_by_row() -> None:
    first = Cells(np.frombuffer(b"aabb", np.uint8), np.array([1, 3]))
    second = Cells(np.frombuffer(b"XYY", np.uint8), np.array([1, 2]))
    data, lengths = encode_rows([first, second], [False, False])
    assert (data.tobytes(), lengths.tolist()) == (b"aXabbYY", [2, 5])


@pytest.mark.parametrize("level", [None, 1, 9])
def test_deflated_blocks_are_those_of_any_library(level: int | None) -> None:
    data = b"metadata" * 1000
    assert decompress("deflate", compress("deflate", data, 0, level)) == data


def test_blocks_end_before_they_are_too_large() -> None:
    rows = np.arange(10, dtype=np.uint8)
    found = [*packed_blocks(rows, np.array([2, 2, 5, 1]), 5, bytes, b"S" * 16)]
    assert [each[2:-16] for each in found] == [bytes([0, 1, 2, 3]), bytes([4, 5, 6, 7, 8]), bytes([9])]


def test_header_has_further_properties() -> None:
    header, sync = new_header({"type": "record", "name": "r", "fields": []}, "null", {"owner": "Zoë"})
    found = read_header(pa.BufferReader(header))
    assert (found.sync, found.properties["owner"].decode()) == (sync, "Zoë")
