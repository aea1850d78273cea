"""Structs whose fields must not be null, and what is beneath the nulls of their neighbours."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lithify.files.nesting import declared_struct

KINDS = [
    pa.time32("ms"),
    pa.date32(),
    pa.bool_(),
    pa.int8(),
    pa.float64(),
    pa.decimal128(4, 2),
    pa.timestamp("ns"),
    pa.binary(5),
    pa.string(),
]


def with_garbage(kind: pa.DataType) -> pa.Array:
    """A value and a null, beneath which is whatever was in memory."""
    if pa.types.is_string(kind):
        offsets = pa.py_buffer(b"".join(number.to_bytes(4, "little") for number in (0, 1, 1)))
        return pa.Array.from_buffers(kind, 2, [pa.py_buffer(b"\x01"), offsets, pa.py_buffer(b"x")])
    size = max(1, kind.bit_width // 8)
    content = bytes(size) + b"\xfd" * size if kind.bit_width > 1 else b"\xfe"
    return pa.Array.from_buffers(kind, 2, [pa.py_buffer(b"\x01"), pa.py_buffer(content)])


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_beneath_nulls_is_a_value(kind: pa.DataType) -> None:
    part = with_garbage(kind)
    declared = pa.struct([pa.field("f", kind, nullable=False)])
    struct = pa.StructArray.from_arrays([part], ["f"], mask=pa.array([False, True]))

    found = declared_struct(struct, declared, [part])

    found.validate(full=True)
    assert found.type == declared
    assert found.is_valid().to_pylist() == [True, False]
    assert found.field("f").null_count == 0
    assert found.field("f")[0] == part[0]
