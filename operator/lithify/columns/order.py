"""Order-preserving columns: every key and sequence column as integers or bytes that compare as it does.

Used by the merge for rows, and by format adapters for the key bounds of files. A column becomes one or more
*parts*; comparing two rows means comparing their parts from left to right. Parts of rows are numpy int64
arrays or Arrow large_binary arrays, parts of a single key are Python ints or bytes.

    column                     parts
    nullable column            0 for null, 1 otherwise, then the value's parts (nulls sort first)
    boolean, int, date, time   the value
    timestamp                  the value in the column's own unit
    12 bytes (an instant)      Julian day, nanoseconds of that day
    decimal up to 18 digits    the unscaled value
    decimal up to 38 digits    upper 64 bits, lower 64 bits (shifted into the signed range)
    float, double              bits folded so that both zeros are one and the one canonical NaN is largest
    string, binary, fixed      the bytes (UTF-8 for strings), compared unsigned

Instants are 12 bytes as in Parquet's INT96: nanoseconds of the day as int64 and the Julian day as int32, both
little-endian. Writers may state one instant in several ways (nanoseconds may be negative), which are equal.

This module holds no rows and does no I/O.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.octets import decimal_words
from lithify.columns.order_key import OrderKey

IntPart: TypeAlias = npt.NDArray[np.int64]
BytesPart: TypeAlias = pa.LargeBinaryArray
Part: TypeAlias = IntPart | BytesPart
KeyValue: TypeAlias = int | bytes
"""One part of one key."""

INSTANT = pa.binary(12)
"""The Arrow type of instants."""
_DAY_SECONDS = 86_400
DAY_NANOS = _DAY_SECONDS * 10**9
EPOCH_DAY = 2_440_588
"""The Julian day of 1970-01-01."""
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_STORED_INSTANT = np.dtype([("nanos", "<i8"), ("day", "<i4")])

_SIGN = 1 << 63
_POSITIVE_BITS = 63
_LOW_63_BITS = np.int64(0x7FFF_FFFF_FFFF_FFFF)


def parts_of_column(column: pa.Array, *, nullable: bool = False) -> list[Part]:
    """Turns a column into its parts.

    Raises:
        TypeError: the column has a type without an order (nested types).
    """
    if not nullable:
        return _value_parts(column)
    valid = cast(IntPart, column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64))
    return [valid, *_value_parts(_fill_nulls(column))]


def descending(part: Part) -> IntPart:
    """Reverses the order of a part. A part of bytes is then only comparable within this array."""
    return ~(part if isinstance(part, np.ndarray) else dense_rank(part))


def dense_rank(part: Part) -> IntPart:
    """Ranks values from 0 without gaps, equal values equal; only comparable within one array."""
    # Imported here because only merges need it, and the image of the operator is without Polars.
    import polars as pl

    series = pl.Series(part) if isinstance(part, np.ndarray) else cast(pl.Series, pl.from_arrow(part))
    return series.rank("dense").cast(pl.Int64).to_numpy() - 1


def rank_rows(parts: Sequence[Part]) -> IntPart:
    """Combines parts into one integer per row with the same order, comparable within the call only.

    Parts are packed by their ranges; if 63 bits do not suffice they are replaced by dense ranks first.
    """
    ranked = [part if isinstance(part, np.ndarray) else dense_rank(part) for part in parts]
    folded = ranked[0]
    for part in ranked[1:]:
        folded = _pack(folded, part)
    return folded


def sorted_stably(numbers: IntPart) -> tuple[IntPart, IntPart]:
    """Numbers in ascending order, and the position of each before; equal numbers stay in order.

    Sorting numbers is several times faster than sorting positions by them. So each position is put into the
    low bits of its number, unless 63 bits do not suffice.
    """
    if not len(numbers):
        return numbers, np.zeros(0, dtype=np.int64)
    bits, least = len(numbers).bit_length(), int(numbers.min())
    if (int(numbers.max()) - least).bit_length() + bits > _POSITIVE_BITS:
        positions = np.argsort(numbers, kind="stable")
        return numbers[positions], positions
    packed = numbers - np.int64(least)
    packed <<= bits
    packed |= np.arange(len(numbers))
    packed.sort()
    positions = packed & ((1 << bits) - 1)
    packed >>= bits
    packed += least
    return packed, positions


def count_upto(parts: Sequence[Part], key: Sequence[KeyValue]) -> int:
    """The number of rows, which must be sorted, at or below `key`."""
    return _bounds(parts, key)[1]


def key_at(parts: Sequence[Part], row: int) -> tuple[KeyValue, ...]:
    """The key of one row."""
    return tuple(int(p[row]) if isinstance(p, np.ndarray) else cast(bytes, p[row].as_py()) for p in parts)


def first_disorder(parts: Sequence[Part], *, repeats: bool = False) -> int | None:
    """The first row whose key is not greater than the key before it, None if all are.

    With `repeats` equal keys are allowed.
    """
    rows = len(parts[0])
    tied = np.ones(max(rows - 1, 0), dtype=bool)
    smaller = np.zeros_like(tied)
    for part in parts:
        less, equal = _compare_neighbours(part)
        smaller |= tied & less
        tied &= equal
    wrong = np.flatnonzero(smaller if repeats else smaller | tied)
    return int(wrong[0]) + 1 if len(wrong) else None


def slice_parts(parts: Sequence[Part], start: int, stop: int) -> list[Part]:
    """Rows `start` to `stop` of every part, without copying."""
    return [p[start:stop] if isinstance(p, np.ndarray) else p.slice(start, stop - start) for p in parts]


def concat_parts(pieces: Sequence[Sequence[Part]]) -> list[Part]:
    """Concatenates the rows of several pieces."""
    return [
        np.concatenate(column) if isinstance(column[0], np.ndarray) else pa.concat_arrays(column)
        for column in zip(*pieces, strict=True)
    ]


def encode_key(key: Sequence[KeyValue]) -> OrderKey:
    """A key as one byte string with the same order: ints sign-flipped, bytes escaped and terminated."""
    return OrderKey(b"".join(_encode_value(value) for value in key))


def decode_key(key: OrderKey, kinds: Sequence[type[int] | type[bytes]]) -> tuple[KeyValue, ...]:
    """The inverse of `encode_key`; `kinds` says which parts are ints and which are bytes."""
    values: list[KeyValue] = []
    position = 0
    for kind in kinds:
        if kind is int:
            values.append(int.from_bytes(key[position : position + 8], "big") - _SIGN)
            position += 8
        else:
            end = _terminator(key, position)
            values.append(key[position:end].replace(b"\x00\xff", b"\x00"))
            position = end + 2
    return tuple(values)


def fold_float(value: float) -> int:
    """The part of one FLOAT or DOUBLE value, as `parts_of_column` computes it for a DOUBLE column."""
    return int(_fold_floats(np.array([value], dtype=np.float64))[0])


def total_order(value: float) -> int:
    """A number with the order of Java's `Double.compare`: -0.0 before 0.0, and NaN last."""
    bits = int(np.array([math.nan if math.isnan(value) else value], dtype=np.float64).view(np.int64)[0])
    return bits ^ (bits >> 63 & int(_LOW_63_BITS))


def unfold_float(part: int) -> float:
    """The inverse of `fold_float`, except for the sign of a zero."""
    folded = np.array([part], dtype=np.int64)
    return float((folded ^ ((folded >> 63) & _LOW_63_BITS)).view(np.float64)[0])


def _encode_value(value: KeyValue) -> bytes:
    if isinstance(value, bytes):
        return value.replace(b"\x00", b"\x00\xff") + b"\x00\x00"
    return (value + _SIGN).to_bytes(8, "big")


def _terminator(key: bytes, position: int) -> int:
    """The end of the escaped bytes that begin at `position`: the first zero without a following 0xff."""
    end = key.index(b"\x00", position)
    while key[end + 1] == 0xFF:
        end = key.index(b"\x00", end + 2)
    return end


def _value_parts(column: pa.Array) -> list[Part]:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [column.cast(pa.large_string()).view(pa.large_binary())]
    if kind.equals(INSTANT):
        return [*instants(column)]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return [_as_bytes(column)]
    if pa.types.is_decimal128(kind):
        return _decimal_parts(column)
    if pa.types.is_floating(kind):
        return [_fold_floats(column.cast(pa.float64()).to_numpy(zero_copy_only=False))]
    if pa.types.is_boolean(kind):
        return [_as_int64(column.cast(pa.int8()))]
    if pa.types.is_integer(kind):
        return [_as_int64(column)]
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return [_as_int64(column.view(pa.int32()))]
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return [_as_int64(column.view(pa.int64()))]
    raise TypeError(f"{kind} has no order")


def instants(column: pa.Array) -> tuple[IntPart, IntPart]:
    """Julian day and nanoseconds of that day of each instant; undefined for nulls."""
    if len(column) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    stored = np.frombuffer(column.buffers()[1], dtype=_STORED_INSTANT, count=column.offset + len(column))
    stored = stored[column.offset :]
    days, nanos = np.divmod(stored["nanos"], np.int64(DAY_NANOS))
    return stored["day"].astype(np.int64) + days, nanos


def timestamps_as_instants(column: pa.Array) -> pa.Array:
    """A column of timestamps of any unit as instants."""
    per_second = _PER_SECOND[column.type.unit]
    ticks = cast(IntPart, column.view(pa.int64()).fill_null(0).to_numpy())
    days, rest = np.divmod(ticks, np.int64(_DAY_SECONDS * per_second))
    stored = np.empty(len(column), dtype=_STORED_INSTANT)
    stored["nanos"], stored["day"] = rest * np.int64(10**9 // per_second), days + EPOCH_DAY
    valid = column.is_valid().buffers()[1] if column.null_count else None
    return pa.Array.from_buffers(INSTANT, len(column), [valid, pa.py_buffer(stored)])


def _as_int64(column: pa.Array) -> IntPart:
    return cast(IntPart, column.cast(pa.int64()).to_numpy())


def _decimal_parts(column: pa.Array) -> list[Part]:
    words = decimal_words(column)
    if column.type.precision <= 18:
        return [np.ascontiguousarray(words[:, 0])]
    lower = words[:, 0] ^ np.int64(-_SIGN)
    return [np.ascontiguousarray(words[:, 1]), lower]


def _fold_floats(values: npt.NDArray[np.float64]) -> IntPart:
    bits = np.where(np.isnan(values), np.nan, np.where(values == 0, 0.0, values)).view(np.int64)
    return bits ^ ((bits >> 63) & _LOW_63_BITS)


def _as_bytes(column: pa.Array) -> BytesPart:
    plain = column.cast(pa.binary()) if pa.types.is_fixed_size_binary(column.type) else column
    return plain.cast(pa.large_binary())


def _fill_nulls(column: pa.Array) -> pa.Array:
    """Gives all nulls the same value, so that the values' parts are equal where the null marks are."""
    return pc.fill_null(column, _zero(column.type)) if column.null_count else column


def _zero(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_decimal128(kind):
        return pa.scalar(Decimal(0), kind)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.scalar(0, pa.int32()).cast(kind)
    is_long = pa.types.is_timestamp(kind) or pa.types.is_time64(kind)
    if pa.types.is_integer(kind) or is_long or pa.types.is_boolean(kind):
        return pa.scalar(0, pa.int64()).cast(kind)
    if pa.types.is_floating(kind):
        return pa.scalar(0.0, kind)
    if pa.types.is_fixed_size_binary(kind):  # instants among them
        return pa.scalar(bytes(kind.byte_width), kind)
    return pa.scalar(b"", pa.binary()).cast(kind)


def _pack(high: IntPart, low: IntPart) -> IntPart:
    """Two parts as one integer; dense ranks of fewer than 2^31 rows always fit."""
    if not _fits(high, low):
        high = dense_rank(high)
    if not _fits(high, low):
        low = dense_rank(low)
    if len(high) == 0:
        return high
    low_min = int(low.min())
    low_range = int(low.max()) - low_min + 1
    packed: IntPart = (high - high.min()) * np.int64(low_range) + (low - np.int64(low_min))
    return packed


def _fits(high: IntPart, low: IntPart) -> bool:
    return len(high) == 0 or _range(high) * _range(low) < _SIGN


def _range(part: IntPart) -> int:
    return int(part.max()) - int(part.min()) + 1


def _bounds(parts: Sequence[Part], key: Sequence[KeyValue]) -> tuple[int, int]:
    """The first row at or above `key` and the first row above it."""
    low, high = 0, len(parts[0])
    for part, value in zip(parts, key, strict=True):
        low, high = _search(part, value, low, high, "left"), _search(part, value, low, high, "right")
        if low == high:
            break
    return low, high


def _search(part: Part, value: KeyValue, low: int, high: int, side: str) -> int:
    if isinstance(part, np.ndarray):
        return low + int(np.searchsorted(part[low:high], np.int64(value), side=cast(Any, side)))
    while low < high:
        middle = (low + high) // 2
        probe = part[middle].as_py()
        if probe < value or (side == "right" and probe == value):
            low = middle + 1
        else:
            high = middle
    return low


def _compare_neighbours(part: Part) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each row but the first: is it less than, is it equal to, the row before."""
    if isinstance(part, np.ndarray):
        return part[1:] < part[:-1], part[1:] == part[:-1]
    after, before = part.slice(1), part.slice(0, max(len(part) - 1, 0))
    less = pc.less(after, before).to_numpy(zero_copy_only=False)
    return less, pc.equal(after, before).to_numpy(zero_copy_only=False)
