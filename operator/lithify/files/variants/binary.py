"""Byte strings of many values at once: located in one buffer, read as numbers, gathered, rearranged.

The base of this package: numpy processes all variants of a batch together, never one by one. Knows nothing
about the encoding of variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_SLICE = 1 << 20
"""Bytes of a slice of a column; processing takes several times as much memory."""
_SPARSE = 2
"""A buffer more than this many times larger than its used bytes is compacted before copying."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Byte strings anywhere in one buffer. An empty string stands for a missing value.

    Attributes:
        data: the buffer.
        starts: offset of each string.
        sizes: length of each string in bytes.
    """

    data: Bytes
    starts: Ints
    sizes: Ints

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def are_there(self) -> Mask:
        """Mask of the values that are not missing."""
        return self.sizes > 0

    @property
    def ends(self) -> Ints:
        """The end offset of each string (exclusive)."""
        return self.starts + self.sizes

    def of(self, which: Any) -> Spans:
        """Selects strings by index or mask."""
        return Spans(self.data, self.starts[which], self.sizes[which])

    def only(self, mask: Mask) -> Spans:
        """The same strings; those outside the mask become missing."""
        return Spans(self.data, self.starts, np.where(mask, self.sizes, 0))

    def spread(self, mask: Mask) -> Spans:
        """Places the strings, in order, where the mask is true, and missing ones elsewhere."""
        starts, sizes = np.zeros(len(mask), np.int64), np.zeros(len(mask), np.int64)
        starts[mask], sizes[mask] = self.starts, self.sizes
        return Spans(self.data, starts, sizes)

    def gathered(self) -> Bytes:
        """All strings concatenated."""
        there = np.flatnonzero(self.are_there)
        if len(there) == 0:
            return np.zeros(0, np.uint8)
        order = np.argsort(self.starts[there], kind="stable")
        ordered = self.of(there[order])
        # Arrow copies strings faster than numpy copies bytes; each gap between two strings counts as a
        # string.
        bounds = np.stack([ordered.starts, ordered.ends], axis=1).reshape(-1)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self.data)]
        strings = pa.Array.from_buffers(pa.large_binary(), len(bounds) - 1, buffers)
        places = np.empty(len(there), np.int64)
        places[order] = 2 * np.arange(len(there))
        taken = strings.take(pa.array(places))
        return np.frombuffer(taken.buffers()[2], np.uint8, int(self.sizes.sum()))

    def compact(self) -> Spans:
        """The same strings in a buffer without gaps."""
        return Spans(self.gathered(), np.cumsum(self.sizes) - self.sizes, self.sizes)

    def to_arrow(self, kind: pa.DataType, nulls: Mask | None = None) -> pa.Array:
        """A column of binaries or strings; null where missing, or where `nulls` is true.

        Raises:
            pa.ArrowInvalid: the strings have more than 2 GiB.
        """
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self.sizes, out=offsets[1:])
        if offsets[-1] > np.iinfo(np.int32).max:
            raise pa.ArrowInvalid("the values of a VARIANT column are too large to be shredded together")
        buffers = [bits_of(self.sizes > 0 if nulls is None else ~nulls)]
        buffers += [pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(self.gathered())]
        return pa.Array.from_buffers(kind, len(self), buffers)


def slices(column: pa.Array) -> list[pa.Array]:
    """A column in slices of some MiB, at least one slice."""
    rows = max(1, len(column) * _SLICE // max(1, column.nbytes))
    return [column.slice(first, rows) for first in range(0, max(1, len(column)), rows)]


def missing(count: int) -> Spans:
    """This number of missing values."""
    return Spans(np.zeros(0, np.uint8), np.zeros(count, np.int64), np.zeros(count, np.int64))


def spans_of(values: pa.Array) -> Spans:
    """The values of a column of binaries or strings; nulls and empty values are missing."""
    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, 4 * values.offset).astype(
        np.int64
    )
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    sizes = np.diff(offsets)
    return Spans(data, offsets[:-1], np.where(validity(values), sizes, 0) if values.null_count else sizes)


def validity(values: pa.Array) -> Mask:
    """Mask of the values that are not null."""
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def bits_of(mask: Mask) -> pa.Buffer | None:
    """A mask as Arrow's validity bitmap; None if all values are valid."""
    return None if mask.all() else pa.py_buffer(np.packbits(mask, bitorder="little"))


def united(parts: Sequence[Spans]) -> Spans:
    """The spans of several buffers, concatenated in one buffer."""
    if len(parts) == 1:
        return parts[0]
    parts = [part.compact() if len(part.data) > _SPARSE * int(part.sizes.sum()) else part for part in parts]
    shifts = np.cumsum([0, *(len(part.data) for part in parts)])
    starts = [part.starts + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    return Spans(
        np.concatenate([part.data for part in parts]),
        np.concatenate(starts),
        np.concatenate([part.sizes for part in parts]),
    )


def either(first: Spans, second: Spans) -> Spans:
    """The first value where present, else the second."""
    if not first.are_there.any():
        return second
    if not second.are_there.any():
        return first
    both = united([first, second])
    return both.of(np.arange(len(first)) + np.where(first.are_there, 0, len(first)))


def unsigned(data: Bytes, starts: Ints, widths: Ints | int) -> Ints:
    """Reads little-endian unsigned numbers of 0 to 4 bytes each."""
    found = np.zeros(len(starts), np.int64)
    widths = np.broadcast_to(widths, len(starts))
    for byte in range(int(widths.max(initial=0))):
        which = widths > byte
        found[which] |= data[starts[which] + byte].astype(np.int64) << (8 * byte)
    return found


def put(data: Bytes, starts: Ints, numbers: Ints, widths: Ints | int) -> None:
    """Writes little-endian numbers of 0 to 4 bytes each."""
    widths = np.broadcast_to(widths, len(starts))
    for byte in range(int(widths.max(initial=0))):
        which = widths > byte
        data[starts[which] + byte] = (numbers[which] >> (8 * byte)) & 0xFF


def words(data: Bytes, starts: Ints, kind: str, count: int) -> npt.NDArray[Any]:
    """Reads `count` numbers of a numpy type at each offset; shape (len(starts), count)."""
    width = np.dtype(kind).itemsize * count
    found: npt.NDArray[Any] = data[starts[:, None] + np.arange(width)].view(kind)
    return found.reshape(len(starts), count)


def within(counts: Ints) -> Ints:
    """The index of each member in its group; groups are concatenated."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
