"""Sort keys of rows by some of their columns: by the columns one after the other, or along a curve.

A `SortKey` is made by a format adapter, shipped to executors with the task, and called by `sorted_rows`. Keys
are columns of integers or bytes that compare as the rows are to be ordered (see `order`). They are never
stored, so how a value becomes a coordinate of a curve is free as long as it keeps the order; docs/design/0057
says where table formats do not.

    strategy    parts of the key
    order       those of each column, from left to right; nulls first, NaN last, exact
    zorder      words of the position; a number is 8 bytes, a text or binary its first bytes; null is 0
    hilbert     words of the position; every column is a word
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import (
    DAY_NANOS,
    EPOCH_DAY,
    INSTANT,
    IntPart,
    Part,
    instants,
    parts_of_column,
)
from lithify.columns.orders import SortStrategy
from lithify.engine.rewrite.curves import (
    WORD_BYTES,
    Octets,
    Words,
    hilbert,
    octets_of,
    words_of,
    z_order,
)

_SIGN = np.uint64(1 << 63)
_NANOS_PER_MICRO = 1000
_DAY_MICROS = DAY_NANOS // _NANOS_PER_MICRO


class RowKey(Protocol):
    """What rows are sorted by; picklable."""

    def parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The comparable parts of the rows' keys; their number and types are the same for all rows."""
        ...


@dataclass(frozen=True, slots=True)
class Chained:
    """Several orders, each of which orders what is equal in those before; a `RowKey`."""

    orders: tuple[RowKey, ...]

    def parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The parts of all orders."""
        return [part for order in self.orders for part in order.parts(rows)]


def chained(orders: Sequence[RowKey]) -> RowKey:
    """Several orders as one."""
    return orders[0] if len(orders) == 1 else Chained(tuple(orders))


@dataclass(frozen=True, slots=True)
class SortKey:
    """How rows are sorted: by which columns, and in which order; a `RowKey`.

    Attributes:
        columns: names of the columns.
        nullable: those that may have nulls.
        strategy: how the columns are combined.
        text_bytes: first bytes of a text or binary that count on a z-order curve.
    """

    columns: tuple[str, ...]
    nullable: frozenset[str]
    strategy: SortStrategy
    text_bytes: int = WORD_BYTES

    def parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The comparable parts of the rows' keys; their number and types are the same for all rows.

        Raises:
            TypeError: a column has a type without an order (nested types).
        """
        columns = [(rows.column(name), name in self.nullable) for name in self.columns]
        match self.strategy:
            case SortStrategy.ORDER:
                return [part for column, nulls in columns for part in parts_of_column(column, nullable=nulls)]
            case SortStrategy.ZORDER:
                return _as_parts(z_order([_octets(column, self.text_bytes) for column, _ in columns]))
            case SortStrategy.HILBERT:
                return _as_parts(hilbert([_words(column) for column, _ in columns]))


def _as_parts(words: Words) -> list[Part]:
    """Unsigned words as parts, which are signed."""
    return [_signed(words[:, number]) for number in range(words.shape[1])]


def _signed(words: Words) -> IntPart:
    return np.ascontiguousarray(words ^ _SIGN).view(np.int64)


def _octets(column: pa.Array, text_bytes: int) -> Octets:
    """A column as big-endian numbers with its order; shape (rows, bytes)."""
    if _is_text(column.type):
        return _first_bytes(column, text_bytes)
    return octets_of(_words(column))


def _words(column: pa.Array) -> Words:
    """A column as unsigned words with its order, 0 for null; values that differ little may be equal."""
    if _is_text(column.type):
        return words_of(_first_bytes(column, WORD_BYTES))[:, 0]
    if column.type.equals(INSTANT):
        words = _instant_words(column)
    else:
        if pa.types.is_decimal128(column.type) and column.type.precision > _WORD_DIGITS:
            column = column.cast(pa.float64())
        _, part = cast(list[IntPart], parts_of_column(column, nullable=True))
        words = part.view(np.uint64) ^ _SIGN
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), words, np.uint64(0))


_WORD_DIGITS = 18
"""Maximum number of digits of a decimal that fits into a word."""


def _instant_words(column: pa.Array) -> Words:
    """Microseconds since 1970; instants that do not fit are clipped."""
    days, nanos = instants(column)
    most = np.int64(np.iinfo(np.int64).max // _DAY_MICROS - 1)
    since = np.clip(days - EPOCH_DAY, -most, most) * np.int64(_DAY_MICROS) + nanos // _NANOS_PER_MICRO
    return since.view(np.uint64) ^ _SIGN


def _is_text(kind: pa.DataType) -> bool:
    if kind.equals(INSTANT):
        return False
    return any(
        test(kind)
        for test in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
        )
    )


def _first_bytes(column: pa.Array, width: int) -> Octets:
    """The first bytes of each value, filled up with zeros; shape (rows, width)."""
    (values,) = cast(list[pa.LargeBinaryArray], parts_of_column(column))
    heads = pc.binary_slice(values, 0, width).fill_null(b"")
    found = np.zeros((len(heads), width), dtype=np.uint8)
    if not len(heads):
        return found
    _, offset_buffer, data = heads.buffers()
    offsets = np.frombuffer(
        offset_buffer, dtype=_offset_type(heads.type), count=len(heads) + heads.offset + 1
    )
    starts, ends = offsets[heads.offset : -1], offsets[heads.offset + 1 :]
    octets = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    for place in range(width):
        has_more = ends - starts > place
        found[has_more, place] = octets[starts[has_more] + place]
    return found


def _offset_type(kind: pa.DataType) -> npt.DTypeLike:
    return np.int64 if pa.types.is_large_binary(kind) else np.int32
