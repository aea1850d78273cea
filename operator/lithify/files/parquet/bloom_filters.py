"""Bloom filters of Parquet column chunks: built and recorded here, because PyArrow cannot write them.

Called by the writer beside this module for tables that request them. Split-block filters as the Parquet
format defines them, sized by the number of values; Java always takes a megabyte unless the table states the
number of distinct values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lithify.columns.octets import fixed_octets
from lithify.columns.order import INSTANT
from lithify.files.options import BloomFilterOptions
from lithify.files.parquet.physical import Leaf
from lithify.files.parquet.thrift import (
    I32,
    I64,
    ROW_GROUPS,
    Thrift,
    column_chunks,
    number_of,
)
from lithify.files.parquet.xx_hash import Hashes, xx_hashes

_BLOCK = 32
_MOST = 1 << 20
"""Maximum bytes of a filter, as in parquet-mr."""
_SALTS = tuple(
    map(
        np.uint32,
        (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
    )
)
_ROWS = 1 << 15
"""Values that are hashed at a time."""
_INT32_DIGITS, _INT64_DIGITS = 9, 18
"""Maximum precision of decimals that are stored as integers."""
_UNION = b"\x1c\x1c\x00\x00"
"""The next field of a struct: a union with its first, empty choice."""
_OFFSET_FIELD = 14
"""Field number of the filter's offset in the metadata of a column chunk; the next one is its length."""


@dataclass(frozen=True, slots=True)
class Place:
    """Offset and length of a filter in the file, in bytes."""

    offset: int
    length: int


def filters_of(leaves: Sequence[Leaf], options: BloomFilterOptions) -> Iterator[tuple[int, bytes]]:
    """The filters of a row group, each with the number of its column.

    No filters for: columns that the table does not name; booleans and nanoseconds (INT96), which no reader
    looks up; and decimals not stored as integers, for which Java looks up the shortest bytes of a number
    although its own writer hashes padded ones, so that lookups fail.
    """
    for number, leaf in enumerate(leaves):
        if options.includes(leaf.path) and _has_hashes(leaf.values.type):
            hashes = np.unique(np.concatenate([np.empty(0, np.uint64), *_hashes(leaf.values)]))
            distinct = options.distinct.get(leaf.path, hashes.size)
            yield number, _filter(hashes, distinct, options.false_positives_of(leaf.path))


def with_places(footer: bytes, places: Sequence[Mapping[int, Place]]) -> bytes:
    """A footer with the offsets of filters: for each row group those of some columns, by number."""
    thrift = Thrift(footer)
    for number, kind, _ in thrift.fields():
        if number != ROW_GROUPS:
            thrift.skip(kind)
            continue
        ends = thrift.each(partial(column_chunks, read=_end_of_metadata))
        for ends_of_group, of_group in zip(ends, places, strict=True):
            thrift.changes += [(ends_of_group[n], ends_of_group[n], _told(of_group[n])) for n in of_group]
    return thrift.changed()


def _end_of_metadata(thrift: Thrift) -> int:
    """Where the fields of a column chunk's metadata end."""
    for _, kind, _ in thrift.fields():
        thrift.skip(kind)
    return thrift.at - 1


def _told(place: Place) -> bytes:
    """The two fields that locate a filter. The first states its number, so it can follow any field."""
    offset = bytes([I64]) + number_of(_OFFSET_FIELD) + number_of(place.offset)
    return offset + bytes([1 << 4 | I32]) + number_of(place.length)


def _filter(hashes: Hashes, distinct: int, false_positives: float) -> bytes:
    """A filter with its header, for sorted hashes of `distinct` values."""
    size = _size(distinct, false_positives)
    blocks = ((hashes >> np.uint64(32)) * np.uint64(size // _BLOCK)) >> np.uint64(32)
    firsts = np.flatnonzero(np.diff(blocks, prepend=np.uint64(size)))
    words = np.zeros((size // _BLOCK, len(_SALTS)), np.dtype("<u4"))
    if hashes.size:
        low = hashes.astype(np.uint32)
        for number, salt in enumerate(_SALTS):
            bits = np.left_shift(np.uint32(1), (low * salt) >> np.uint32(27))
            words[blocks[firsts], number] = np.bitwise_or.reduceat(bits, firsts)
    header = bytes([1 << 4 | I32]) + number_of(size) + 3 * _UNION + b"\x00"
    return header + words.tobytes()


def _size(distinct: int, false_positives: float) -> int:
    """Bytes of a filter for this number of distinct values: a power of two."""
    needed = -distinct / math.log1p(-(false_positives ** (1 / 8)))
    return min(_MOST, max(_BLOCK, 1 << math.ceil(math.log2(max(1.0, needed)))))


def _has_hashes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _has_hashes(kind.value_type)
    is_wide = pa.types.is_decimal(kind) and kind.precision > _INT64_DIGITS
    return not (is_wide or pa.types.is_boolean(kind) or kind.equals(INSTANT))


def _hashes(values: pa.ChunkedArray) -> Iterator[Hashes]:
    """The hashes of the non-null values, computed in batches."""
    for chunk in values.chunks:
        for start in range(0, len(chunk), _ROWS):
            yield _hashes_of(chunk.slice(start, _ROWS).drop_null())


def _hashes_of(values: pa.Array) -> Hashes:
    if pa.types.is_dictionary(values.type):
        used = values.indices.unique().drop_null()
        return _hashes_of(values.dictionary.take(used).drop_null())
    data, starts, lengths = _plain(values)
    return xx_hashes(data, starts, lengths)


_Plain = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]


def _plain(values: pa.Array) -> _Plain:
    """Values in Parquet's plain encoding: all bytes, the offset and the length of each value."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return _of_width(_decimals(values))
    if pa.types.is_binary(kind) or pa.types.is_string(kind):
        return _of_offsets(values, np.dtype(np.int32))
    if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind):
        return _of_offsets(values, np.dtype(np.int64))
    if pa.types.is_int8(kind) or pa.types.is_int16(kind):
        values = values.cast(pa.int32())
    return _of_width(fixed_octets(values))


def _of_width(rows: NDArray[np.uint8]) -> _Plain:
    count, width = rows.shape
    starts = np.arange(count, dtype=np.int64) * width
    return np.ascontiguousarray(rows).reshape(-1), starts, np.full(count, width, np.int64)


def _of_offsets(values: pa.Array, kind: np.dtype[np.signedinteger]) -> _Plain:
    _, offsets, data = values.buffers()
    if data is None:
        zeros = np.zeros(len(values), np.int64)
        return np.empty(0, np.uint8), zeros, zeros
    ends = np.frombuffer(offsets, kind)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return np.frombuffer(data, np.uint8), ends[:-1], np.diff(ends)


def _decimals(values: pa.Array) -> NDArray[np.uint8]:
    """Decimals as the integers of 4 or 8 bytes that Parquet stores."""
    return fixed_octets(values)[:, : 4 if values.type.precision <= _INT32_DIGITS else 8]
