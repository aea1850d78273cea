"""Partition transforms of columns: identity, bucket, truncate, year, month, day, hour, void; vectorised.

Called by `partitioning` and `ordering`. Follows the table format's specification, its rules of hashing
included. Null becomes null. Pure.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.murmur_hash import Words, finished, mixed, murmur3_of_each
from lithify.columns.octets import decimal_words, fixed_octets, shortest, whole_numbers
from lithify.errors import UnsupportedTable

_WITH_WIDTH = re.compile(r"(bucket|truncate)\[(\d+)\]")
_UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_LONG_BYTES = 8
_LARGEST = np.uint32(0x7FFF_FFFF)
_WORD = 1 << 64


def transformed(name: str, values: pa.Array) -> pa.Array:
    """A column after a transform.

    Args:
        name: the transform as table metadata have it, for example `bucket[16]`.
        values: the column; dictionary-encoded columns are decoded.

    Raises:
        UnsupportedTable: the transform is unknown, or not one of this type.
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if name == "identity":
        return values
    if name == "void":
        return pa.nulls(len(values), values.type)
    if name in _UNITS:
        return _since_1970(values, _UNITS[name])
    match = _WITH_WIDTH.fullmatch(name)
    if match is None:
        raise UnsupportedTable("a table", (f"partition transform {name}",))
    return (_buckets if match[1] == "bucket" else _truncated)(values, int(match[2]))


def _since_1970(values: pa.Array, unit: str) -> pa.Array:
    """Whole units since 1970, rounded down; days are dates."""
    numbers = whole_numbers(values)
    kind = values.type
    ticks = numbers.view("datetime64[D]" if pa.types.is_date32(kind) else f"datetime64[{kind.unit}]")
    units = ticks.astype(f"datetime64[{unit}]").astype(np.int64).astype(np.int32)
    found = pa.array(units, mask=_nulls(values))
    return found.view(pa.date32()) if unit == "D" else found


def _buckets(values: pa.Array, number: int) -> pa.Array:
    hashes = _hashes(values) & _LARGEST
    return pa.array((hashes % np.uint32(number)).astype(np.int32), mask=_nulls(values))


def _hashes(values: pa.Array) -> Words:
    """The 32-bit hashes of values; those of integers, dates and times are hashes of 8 bytes."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return _hashes_of_decimals(values)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        numbers = whole_numbers(values)
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            numbers = numbers // 1000
        words = numbers.view(np.uint64)
        lower = (words & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        upper = (words >> np.uint64(32)).astype(np.uint32)
        hashes = mixed(mixed(np.zeros(len(words), np.uint32), lower), upper)
        return finished(hashes, np.full(len(words), _LONG_BYTES, np.uint32))
    if pa.types.is_fixed_size_binary(kind):
        values = values.cast(pa.binary())
    if pa.types.is_string(kind) or pa.types.is_binary(values.type):
        wide = values.cast(pa.large_binary()).fill_null(b"")
        _, offsets, data = wide.buffers()
        starts = np.frombuffer(offsets, np.int64, len(wide) + 1, wide.offset * 8)
        return murmur3_of_each(starts, np.frombuffer(data or b"", np.uint8))
    raise UnsupportedTable("a table", (f"partition transform bucket of a column of {kind}",))


def _hashes_of_decimals(values: pa.Array) -> Words:
    """Of each unscaled value the fewest bytes that represent it, big-endian."""
    octets, lengths = shortest(fixed_octets(values)[:, ::-1])
    return murmur3_of_each(np.concatenate([[0], np.cumsum(lengths)]), octets)


def _truncated(values: pa.Array, width: int) -> pa.Array:
    kind = values.type
    if pa.types.is_string(kind):
        return pc.utf8_slice_codeunits(values, 0, width)
    if pa.types.is_binary(kind):
        return pc.binary_slice(values, 0, width)
    if pa.types.is_decimal(kind):
        return _truncated_decimals(values, width)
    if not pa.types.is_integer(kind):
        raise UnsupportedTable("a table", (f"partition transform truncate of a column of {kind}",))
    numbers = whole_numbers(values)
    with np.errstate(over="ignore"):
        cut = (numbers - numbers % np.int64(width)).astype(f"int{kind.bit_width}")
    return pa.array(cut, kind, mask=_nulls(values))


def _truncated_decimals(values: pa.Array, width: int) -> pa.Array:
    """Unscaled values minus their remainders, which are never negative; in two words each."""
    lower, upper = decimal_words(values).view(np.uint64).T
    by = np.uint64(width)
    signed = np.mod(upper.view(np.int64), np.int64(width)).astype(np.uint64)
    rest = (signed * np.uint64(_WORD % width) + lower % by) % by
    less = lower - rest
    more = upper - (lower < rest).astype(np.uint64)
    octets = np.ascontiguousarray(np.stack([less, more], axis=1)).view(np.uint8).tobytes()
    plain = pa.Array.from_buffers(values.type, len(values), [None, pa.py_buffer(octets)])
    return pc.if_else(values.is_valid(), plain, pa.scalar(None, values.type))


def _nulls(values: pa.Array) -> npt.NDArray[np.bool_]:
    nulls: npt.NDArray[np.bool_] = values.is_null().to_numpy(zero_copy_only=False)
    return nulls
