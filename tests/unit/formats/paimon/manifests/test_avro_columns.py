"""Rows that are read side by side are those that reading one after the other finds, or there is no answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from lithify.columns.avro_columns import Unsure, rows_as_columns
from lithify.columns.row_lanes import ByteBlock, Lanes
from lithify.files.avro.metadata_files import Unpacked, unpack
from lithify.formats.paimon.manifests import entry_columns
from lithify.formats.paimon.manifests.entries import ManifestEntry, record_of_entry
from lithify.formats.paimon.manifests.entry_columns import row_starts
from lithify.formats.paimon.manifests.entry_objects import entries_of
from support.cases import case
from support.properties import examples
from unit.formats.paimon.manifests.test_entry_columns import entries, one, written

NARROW, WIDE = entry_columns._STORED, entry_columns._STORED_WITH_STATISTICS
LONGS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-200, 200)


def side_by_side(unpacked: Unpacked, wanted: pa.StructType) -> pa.StructArray:
    return rows_as_columns(unpacked.schema, list(unpacked.blocks()), wanted, row_starts)


def one_by_one(unpacked: Unpacked, wanted: pa.StructType) -> list[Any]:
    return pa.array(list(unpacked.records()), wanted).to_pylist()


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(entries, min_size=1, max_size=40), st.sampled_from([NARROW, WIDE]))
def test_rows_are_those_that_are_read_one_by_one(drawn: list[ManifestEntry], wanted: pa.StructType) -> None:
    unpacked = unpack(written([record_of_entry(each) for each in drawn], "null"), MANIFEST_ENTRY_SCHEMA)

    assert side_by_side(unpacked, wanted).to_pylist() == one_by_one(unpacked, wanted)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(entries, min_size=1, max_size=12))
def test_rows_may_be_unions_with_null(drawn: list[ManifestEntry]) -> None:
    """As releases before 0.9 wrote them."""
    content = written([record_of_entry(each) for each in drawn], "null", ["null", MANIFEST_ENTRY_SCHEMA])
    unpacked = unpack(content, MANIFEST_ENTRY_SCHEMA)

    assert side_by_side(unpacked, WIDE).to_pylist() == one_by_one(unpacked, WIDE)


def test_what_only_looks_like_a_row_is_none() -> None:
    """A key that is made of the bytes of rows."""
    record = record_of_entry(one())
    alone = unpack(written([record], "null"), MANIFEST_ENTRY_SCHEMA)
    ((_, row),) = alone.blocks()
    record["_FILE"]["_MIN_KEY"] = row[:-3] + row + row[:9] + b"\x04\x00"
    unpacked = unpack(written([record] * 30, "null"), MANIFEST_ENTRY_SCHEMA)

    assert side_by_side(unpacked, WIDE).to_pylist() == one_by_one(unpacked, WIDE)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(entries, min_size=1, max_size=6), st.data())
def test_damage_is_not_read_as_anything_else(drawn: list[ManifestEntry], data: st.DataObject) -> None:
    """Bytes that are changed, missing or too many in one of some blocks: any answer is the slow one."""
    unpacked = unpack(written([record_of_entry(each) for each in drawn], "null"), MANIFEST_ENTRY_SCHEMA)
    blocks = list(unpacked.blocks())
    number = data.draw(st.integers(0, len(blocks) - 1))
    rows, content = blocks[number]
    place = data.draw(st.integers(0, len(content) - 1))
    changed = data.draw(st.binary(max_size=3))
    rows += data.draw(st.sampled_from((0, 0, 0, 1, -1)))
    end = place + data.draw(st.integers(0, 3))
    blocks[number] = (rows, content[:place] + changed + content[end:])

    try:
        found = rows_as_columns(unpacked.schema, blocks, WIDE, row_starts).to_pylist()
    except (Unsure, pa.ArrowInvalid):
        return
    assert found == pa.array(list(unpacked.records(blocks)), WIDE).to_pylist()


@pytest.mark.parametrize(
    "counts",
    [
        case([1] * 300, id="many numbers"),
        case([1, None, 2], id="some are null"),
        case([64, 1 << 20, 1 << 62], id="long numbers"),
        case([None] * 300, id="many are null"),
    ],
)
def test_numbers_in_lists(counts: Sequence[int | None]) -> None:
    record = record_of_entry(one())
    record["_FILE"]["_VALUE_STATS"]["_NULL_COUNTS"] = list(counts)
    unpacked = unpack(written([record, record_of_entry(one()), record], "null"), MANIFEST_ENTRY_SCHEMA)

    if len(counts) > 256 and counts[0] is None:
        with pytest.raises(Unsure):
            side_by_side(unpacked, WIDE)
    else:
        assert side_by_side(unpacked, WIDE).to_pylist() == one_by_one(unpacked, WIDE)


def varint(code: int) -> bytes:
    return bytes([code]) if code < 128 else bytes([code & 127 | 128]) + varint(code >> 7)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(LONGS, min_size=1, max_size=20))
def test_numbers_of_all_lengths(numbers: list[int]) -> None:
    codes = [(number << 1 ^ number >> 63) & (1 << 64) - 1 for number in numbers]
    parts = [
        bytes(code >> 7 * n & 127 | 128 * (code >> 7 * n > 127) for n in range(10) if n == 0 or code >> 7 * n)
        for code in codes
    ]
    starts = np.cumsum([0, *map(len, parts)])
    lanes = Lanes(ByteBlock(b"".join(parts)), starts[:-1])

    assert lanes.longs().tolist() == numbers
    assert lanes.at.tolist() == starts[1:].tolist()


def test_a_number_without_an_end_is_none() -> None:
    lanes = Lanes(ByteBlock(b"\xff" * 12), np.array([0, 5]))
    lanes.longs()
    assert (lanes.at == lanes.nowhere).all()


@pytest.mark.parametrize("few", [0, 1 << 10])
def test_a_manifest_is_the_same_either_way(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_columns, "_FEW", few)
    content = written([record_of_entry(one())] * 100)

    assert entries_of(entry_columns.decode_entries(content, statistics=True)) == [one()] * 100


def test_bytes_in_which_no_row_can_begin_are_left_to_others() -> None:
    assert len(row_starts(ByteBlock(b"\x04" + b"\xff" * 16), b"")) == 0
    with pytest.raises(Unsure):
        rows_as_columns(MANIFEST_ENTRY_SCHEMA, [(1, b"\x04" + b"\xff" * 16)], WIDE, row_starts)
