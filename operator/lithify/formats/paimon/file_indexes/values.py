"""The values of a column as the indexes see them: numbers, or bytes.

Used by the kinds of indexes. Numbers are those that Java's indexes map values to: integers, days,
milliseconds of the day, unscaled decimals, milliseconds of timestamps up to precision 3 and microseconds of
others, and the bits of floats. Values that Java cannot index do not come here: see `support.file_indexes`.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import DAY_NANOS, EPOCH_DAY
from lithify.files.types import ColumnType

Numbers = npt.NDArray[np.int64]

_DECIMAL = np.dtype([("low", "<i8"), ("high", "<i8")])
_INSTANT = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_NANOS_PER_MICRO = 1000
_DAY_MICROS = DAY_NANOS // _NANOS_PER_MICRO
_NAN = {"FLOAT": 0x7FC0_0000, "DOUBLE": 0x7FF8_0000_0000_0000}
_BITS = {"FLOAT": np.dtype(np.int32), "DOUBLE": np.dtype(np.int64)}
_WIDTHS = {"BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "DATE": 4, "TIME": 4, "FLOAT": 4}
_WIDEST = 8
_WORD_BITS = 64


def width_of(kind: ColumnType) -> int | None:
    """Bytes of a stored value; None if values differ in length."""
    return None if kind.is_bytes else _WIDTHS.get(kind.root, _WIDEST)


def plain(values: pa.Array) -> pa.Array:
    """Values without a dictionary."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def as_bytes(values: pa.Array) -> pa.LargeBinaryArray:
    """Strings and binaries as bytes."""
    return plain(values).cast(pa.large_binary())


def as_numbers(values: pa.Array, kind: ColumnType) -> pa.Int64Array:
    """Values of all other types as numbers; nulls stay null."""
    values = plain(values)
    missing = values.is_null().to_numpy(zero_copy_only=False)
    return pa.array(_numbers(values, kind), pa.int64(), mask=missing if missing.any() else None)


def _numbers(values: pa.Array, kind: ColumnType) -> Numbers:
    """The numbers; undefined for nulls."""
    if kind.is_float:
        return _bits(values, kind.root)
    if kind.root == "DECIMAL":
        return _whole(_fixed(values, _DECIMAL)["low"])
    if kind.is_nanos:
        stored = _fixed(values, _INSTANT)
        days = stored["day"].astype(np.int64) - EPOCH_DAY
        return _whole(days * _DAY_MICROS + stored["nanos"] // _NANOS_PER_MICRO)
    if kind.root == "BOOLEAN":
        return _whole(pc.fill_null(values, False).to_numpy(zero_copy_only=False))
    integer = pa.int64() if values.type.bit_width == _WORD_BITS else pa.int32()
    numbers = values.cast(pa.int64()) if pa.types.is_integer(values.type) else values.view(integer)
    return _whole(pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False))


def _whole(values: npt.NDArray[Any]) -> Numbers:
    return cast(Numbers, values.astype(np.int64))


def _fixed(values: pa.Array, stored: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Values of a fixed number of bytes."""
    buffer = values.buffers()[1]
    if buffer is None:
        return np.zeros(len(values), stored)
    return np.frombuffer(buffer, stored, len(values), values.offset * stored.itemsize)


def _bits(values: pa.Array, root: str) -> Numbers:
    """The bits of floats, with one NaN; those of 32 bits as signed numbers."""
    floats = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    bits = _whole(floats.view(_BITS[root]))
    bits[np.isnan(floats)] = _NAN[root]
    return bits


def folded(numbers: Numbers, kind: ColumnType) -> Numbers:
    """Bits of floats as numbers in the order of Java's `compare`, and back; other numbers as they are.

    Negative zero is below zero, and NaN is above all.
    """
    if not kind.is_float:
        return numbers
    magnitude = np.int64((1 << 31) - 1 if kind.root == "FLOAT" else (1 << 63) - 1)
    return np.where(numbers < 0, numbers ^ magnitude, numbers)
