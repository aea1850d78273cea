"""The hashes of rows: their words are those of the bytes that `binary_row` writes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.files.types import ColumnType
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.rows.row_hashes import row_hashes
from lithify.formats.paimon.schema.type_texts import parse_type

MASK = 0xFFFF_FFFF


def murmur(data: bytes) -> int:
    """Murmur3 of whole words, one after the other."""
    found = 42
    for at in range(0, len(data), 4):
        word = int.from_bytes(data[at : at + 4], "little") * 0xCC9E2D51 & MASK
        found ^= ((word << 15 | word >> 17) & MASK) * 0x1B873593 & MASK
        found = ((found << 13 | found >> 19) & MASK) * 5 + 0xE6546B64 & MASK
    found ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = (found ^ found >> shift) * factor & MASK
    found ^= found >> 16
    return found - (1 << 32) if found >> 31 else found


@given(
    st.lists(
        st.tuples(st.binary(max_size=40), st.integers(-(2**63), 2**63 - 1), st.text(max_size=20)),
        max_size=12,
    ),
    st.integers(0, 3),
)
def test_the_hash_is_that_of_the_rows_bytes(rows: list[tuple[bytes, int, str]], skipped: int) -> None:
    types = [parse_type(each) for each in ("BYTES NOT NULL", "BIGINT NOT NULL", "STRING NOT NULL")]
    columns = [
        pa.array([row[number] for row in rows], kind).slice(skipped)
        for number, kind in enumerate((pa.binary(), pa.int64(), pa.string()))
    ]
    encoded = [encode_row((b, n, t.encode()), types)[4:] for b, n, t in rows[skipped:]]
    assert row_hashes(columns, types).tolist() == [murmur(row) for row in encoded]


def test_nulls_are_refused() -> None:
    with pytest.raises(ValueError, match="null"):
        row_hashes([pa.array([1, None], pa.int32())], [ColumnType("INT")])
