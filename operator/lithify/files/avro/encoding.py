"""Encodes columns as the rows of an Avro block, without a loop over rows.

Called by the writer beside this module. Every column is encoded separately, as one array of bytes with the
length of each value; then the values of each row are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.octets import fixed_octets, shortest

Bytes = npt.NDArray[np.uint8]
Lengths = npt.NDArray[np.int64]

_MOST_VARINT = 10
_SEVEN = np.uint64(7)
_NOTHING = pa.scalar(b"", pa.large_binary())


@dataclass(frozen=True, slots=True)
class Cells:
    """The concatenated bytes of a column's values, and the length of each value."""

    data: Bytes
    lengths: Lengths

    def chosen(self, flags: npt.NDArray[np.bool_]) -> Cells:
        """Some of the values."""
        return Cells(self.data[np.repeat(flags, self.lengths)], self.lengths[flags])


def encoded(column: pa.Array) -> Cells:
    """Values that are Avro already: the bytes in a column without nulls, as they are."""
    return _bytes(column)


def as_column(cells: Cells) -> pa.LargeBinaryArray:
    """Encoded values as Arrow's binary column, without copying; the inverse of `encoded`."""
    offsets = np.concatenate(([0], np.cumsum(cells.lengths)))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(cells.data))]
    return pa.Array.from_buffers(pa.large_binary(), len(cells.lengths), buffers)


def encode_rows(columns: Sequence[pa.Array | Cells], nullable: Sequence[bool]) -> tuple[Bytes, Lengths]:
    """Encodes rows; returns their concatenated bytes and the length of each row.

    Args:
        columns: columns of equal length; some may be encoded already, with the branches of their unions.
        nullable: whether each column is a union with null, so that a branch precedes each value.

    Raises:
        ValueError: a column that is not such a union has nulls.
    """
    rows = _records(columns, nullable)
    return rows.data, rows.lengths


def _records(columns: Sequence[pa.Array | Cells], nullable: Sequence[bool]) -> Cells:
    cells = []
    for column, union in zip(columns, nullable, strict=True):
        if isinstance(column, Cells):
            cells.append(column)
            continue
        if column.null_count and not union:
            raise ValueError("there is a NULL in a column that is declared NOT NULL")
        if union:
            branches = column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8) << 1
            cells.append(Cells(branches, np.ones(len(column), dtype=np.int64)))
        cells.append(_cells(column))
    return _joined(cells)


def _joined(cells: Sequence[Cells]) -> Cells:
    """Interleaves cells: for each row, the values of all cells in order."""
    lengths: Lengths = np.sum(np.stack([cell.lengths for cell in cells]), axis=0, dtype=np.int64)
    if len(lengths) and all((cell.lengths == cell.lengths[0]).all() for cell in cells):
        # Values of equal length form a matrix; no offsets need to be computed.
        return Cells(np.hstack([cell.data.reshape(len(lengths), -1) for cell in cells]).ravel(), lengths)
    joined = pc.binary_join_element_wise(*map(as_column, cells), _NOTHING)
    return _bytes(joined)


def _cells(column: pa.Array) -> Cells:
    """Encodes the values of a column; nulls have no bytes."""
    known = column.drop_null()
    cells = _known_cells(known)
    if len(known) == len(column):
        return cells
    lengths = np.zeros(len(column), dtype=np.int64)
    lengths[column.is_valid().to_numpy(zero_copy_only=False)] = cells.lengths
    return Cells(cells.data, lengths)


def _known_cells(column: pa.Array) -> Cells:
    kind = column.type
    if pa.types.is_nested(kind):
        return _nested(column)
    if pa.types.is_boolean(kind):
        return _fixed(column.cast(pa.uint8()).to_numpy(), 1)
    if pa.types.is_floating(kind):
        values = column.to_numpy()
        return _fixed(values, values.itemsize)
    if pa.types.is_fixed_size_binary(kind):
        return _fixed_bytes(column)
    if pa.types.is_decimal(kind):
        return _with_lengths(_decimals(column))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _with_lengths(_bytes(column))
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _with_lengths(_bytes(column))
    width = pa.int32() if pa.types.is_date32(kind) or pa.types.is_time32(kind) else pa.int64()
    whole = column if pa.types.is_integer(kind) else column.view(width)
    return _varints(whole.cast(pa.int64()).to_numpy())


def _fixed(values: npt.NDArray[np.generic], width: int) -> Cells:
    data = np.ascontiguousarray(values).view(np.uint8)
    return Cells(data, np.full(len(values), width, dtype=np.int64))


def _fixed_bytes(column: pa.FixedSizeBinaryArray) -> Cells:
    data = fixed_octets(column)
    return Cells(data.reshape(-1), np.full(len(column), data.shape[1], dtype=np.int64))


def _varints(values: npt.NDArray[np.int64]) -> Cells:
    """Encodes integers: zigzag, then seven bits a byte, lowest first."""
    rest = ((values << 1) ^ (values >> 63)).view(np.uint64)
    table = np.zeros((len(values), _MOST_VARINT), dtype=np.uint8)
    lengths = np.ones(len(values), dtype=np.int64)
    for place in range(_MOST_VARINT):
        more = rest > np.uint64(0x7F)
        table[:, place] = (rest & np.uint64(0x7F)).astype(np.uint8) | (more.astype(np.uint8) << 7)
        lengths += more
        rest = rest >> _SEVEN
        if not more.any():
            break
    used = np.arange(_MOST_VARINT) < lengths[:, None]
    return Cells(table[used], lengths)


def _with_lengths(values: Cells) -> Cells:
    """Puts the length before each value."""
    return _joined([_varints(values.lengths), values])


def _nested(column: pa.Array) -> Cells:
    """Encodes nested values: records as their fields, lists and maps as blocks of elements."""
    kind = column.type
    if pa.types.is_struct(kind):
        if not kind.num_fields:
            return Cells(np.empty(0, dtype=np.uint8), np.zeros(len(column), dtype=np.int64))
        return _records(column.flatten(), [field.nullable for field in kind])
    offsets = column.offsets.to_numpy()
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    parts, nullable = (
        ([column.keys, column.items], [False, kind.item_field.nullable])
        if pa.types.is_map(kind)
        else ([column.values], [kind.value_field.nullable])
    )
    return _lists(_records([part.slice(first, count) for part in parts], nullable), offsets - first)


def _lists(elements: Cells, offsets: npt.NDArray[np.int32]) -> Cells:
    """Encodes each list as one block: element count, elements, zero; an empty list is just the zero."""
    counts = np.diff(offsets).astype(np.int64)
    ends = np.concatenate(([0], np.cumsum(elements.lengths)))
    bodies = Cells(elements.data, ends[offsets[1:]] - ends[offsets[:-1]])
    heads = _varints(counts)
    some = (counts > 0).astype(np.int64)
    tails = Cells(np.zeros(int(some.sum()), dtype=np.uint8), some)
    return _joined([heads, bodies, tails])


def _bytes(column: pa.Array) -> Cells:
    large = column.cast(pa.large_binary())
    lengths = cast(Lengths, pc.binary_length(large).to_numpy().astype(np.int64))
    offsets = np.frombuffer(large.buffers()[1], dtype=np.int64)[large.offset : large.offset + len(large) + 1]
    if not len(large) or large.buffers()[2] is None:
        return Cells(np.empty(0, dtype=np.uint8), lengths)
    data = np.frombuffer(large.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
    return Cells(data, lengths)


def _decimals(column: pa.Array) -> Cells:
    """Encodes unscaled values big-endian in as few bytes as possible, as Java's BigInteger does."""
    return Cells(*shortest(fixed_octets(column)[:, ::-1]))
