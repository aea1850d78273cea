"""BinaryRow, Paimon's row format in manifests: partitions, key bounds and column statistics.

Used by this package only. A row is a 4-byte big-endian field count, then (little-endian) a header byte with
the null bits, one 8-byte slot per field, and a tail for values that do not fit a slot. pypaimon has a codec
too, but it converts through Python's datetime and so loses nanoseconds and years above 9999; this one keeps
raw values (see `types`) without loss.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from lithify.columns.octets import number_bytes
from lithify.columns.order import encode_key
from lithify.columns.order_key import OrderKey
from lithify.errors import CorruptTable
from lithify.files.types import ColumnType, Raw, order_parts

_INLINE_BYTES = 7
"""Byte strings up to this length are stored in their slot, with length and a mark in the last byte."""

_DECIMAL_BYTES = 16
"""Bytes of a decimal of 38 digits."""

_FIXED = {
    "BOOLEAN": "<B",
    "TINYINT": "<b",
    "SMALLINT": "<h",
    "INT": "<i",
    "DATE": "<i",
    "TIME": "<i",
    "BIGINT": "<q",
    "DECIMAL": "<q",
    "TIMESTAMP": "<q",
    "TIMESTAMP_LTZ": "<q",
    "FLOAT": "<f",
    "DOUBLE": "<d",
}


def decode_row(data: bytes, types: Sequence[ColumnType]) -> tuple[Raw, ...]:
    """Decodes a row. A file without statistics has an empty row for them, whatever `types` says.

    Raises:
        ValueError: the row is truncated, or an offset lies outside it.
    """
    if int.from_bytes(data[:4], "big") < len(types):
        return (None,) * len(types)
    row = data[4:]
    nulls = _null_bytes(len(types))
    try:
        return tuple(
            None if _is_null(row, field) else _decode(row, nulls + 8 * field, column)
            for field, column in enumerate(types)
        )
    except (struct.error, IndexError) as error:
        raise ValueError(f"a row in it is cut off ({error})") from error


def encode_row(values: Sequence[Raw], types: Sequence[ColumnType], *, is_projected: bool = False) -> bytes:
    """Encodes a row as Java's BinaryRowWriter does.

    Args:
        values: the fields.
        types: their types.
        is_projected: whether Java's generated projections write the row. They reserve the space of nulls in
            the tail for later, which only shows in hash codes.
    """
    nulls = _null_bytes(len(types))
    slots = bytearray(nulls + 8 * len(types))
    tail = bytearray()
    for field, (value, column) in enumerate(zip(values, types, strict=True)):
        if value is None:
            slots[(field + 8) // 8] |= 1 << ((field + 8) % 8)
            if is_projected and (space := _space_of(column)):
                slots[nulls + 8 * field : nulls + 8 * field + 8] = _pointer(len(slots) + len(tail), 0)
                tail += bytes(space)
        else:
            slot, extra = _encode(value, column, len(slots) + len(tail))
            slots[nulls + 8 * field : nulls + 8 * field + len(slot)] = slot
            tail += extra
    return struct.pack(">i", len(types)) + bytes(slots) + bytes(tail)


def order_key(data: bytes, types: Sequence[ColumnType], names: Sequence[str] = ()) -> OrderKey:
    """The order key of a key bound; `names` of the columns are for messages.

    Raises:
        CorruptTable: it cannot be read, or a key is null.
        UnsupportedTable: a key is NaN.
    """
    try:
        values = decode_row(data, types)
    except ValueError as error:
        raise CorruptTable("a data file", f"its key bounds cannot be read ({error})") from error
    columns = zip(values, types, names or [""] * len(types), strict=True)
    return encode_key([part for value, column, name in columns for part in order_parts(column, value, name)])


def _space_of(column: ColumnType) -> int:
    """Bytes of a value in the tail, where all values of the type take as many; else 0."""
    if column.is_wide_decimal:
        return _DECIMAL_BYTES
    return 8 if _is_wide_timestamp(column) else 0


def _is_wide_timestamp(column: ColumnType) -> bool:
    """Whether milliseconds are in the tail, because the slot has the rest of the time."""
    return column.is_timestamp and column.precision > 3


def _null_bytes(fields: int) -> int:
    return (fields + 63 + 8) // 64 * 8


def _is_null(row: bytes, field: int) -> bool:
    return bool(row[(field + 8) // 8] & (1 << ((field + 8) % 8)))


def _decode(row: bytes, at: int, column: ColumnType) -> Raw:
    if column.is_bytes:
        return _decode_bytes(row, at)
    slot = int.from_bytes(row[at : at + 8], "little", signed=True)
    if column.is_wide_decimal:
        length = slot & 0xFFFF_FFFF
        if length > _DECIMAL_BYTES:
            raise ValueError(f"a decimal in it has {length} bytes")
        return int.from_bytes(_tail(row, slot, length), "big", signed=True)
    if _is_wide_timestamp(column):
        (millis,) = struct.unpack("<q", _tail(row, slot, 8))
        nanos = slot & 0xFFFF_FFFF
        return int(millis) * 1_000_000 + nanos if column.is_nanos else int(millis) * 1000 + nanos // 1000
    (value,) = struct.unpack_from(_FIXED[column.root], row, at)
    return float(value) if column.is_float else int(value)


def _decode_bytes(row: bytes, at: int) -> bytes:
    mark = row[at + 7]
    if mark & 0x80:
        return row[at : at + (mark & 0x7F)]
    slot = int.from_bytes(row[at : at + 8], "little", signed=True)
    return _tail(row, slot, slot & 0xFFFF_FFFF)


def _tail(row: bytes, slot: int, length: int) -> bytes:
    start = slot >> 32
    if not 0 <= start <= start + length <= len(row):
        raise ValueError("a value in it lies beyond its end")
    return row[start : start + length]


def _encode(value: int | float | bytes, column: ColumnType, end: int) -> tuple[bytes, bytes]:
    """A field's slot and its bytes for the tail, which ends at offset `end` of the row so far."""
    if isinstance(value, bytes):
        if len(value) <= _INLINE_BYTES:
            return value.ljust(_INLINE_BYTES, b"\x00") + bytes([0x80 | len(value)]), b""
        return _pointer(end, len(value)), value.ljust((len(value) + 7) // 8 * 8, b"\x00")
    if column.is_wide_decimal:
        unscaled = number_bytes(int(value))
        return _pointer(end, len(unscaled)), unscaled.ljust(16, b"\x00")
    if _is_wide_timestamp(column):
        millis, nanos = divmod(int(value) * (1 if column.is_nanos else 1000), 1_000_000)
        return _pointer(end, nanos), struct.pack("<q", millis)
    if column.is_float:
        return struct.pack(_FIXED[column.root], value), b""
    return struct.pack(_FIXED[column.root], int(value)), b""


def _pointer(offset: int, low: int) -> bytes:
    return struct.pack("<q", offset << 32 | low)
