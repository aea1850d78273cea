"""The different values of a column in order, for each row the number of its value, and values as bytes.

Used by `bitmap` and `range_bitmap`, whose dictionaries hold them. While rows are added, only four bytes of
each row are kept besides the different values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.files.types import ColumnType
from lithify.formats.paimon.file_indexes.values import (
    as_bytes,
    as_numbers,
    folded,
    width_of,
)

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
NULL = -1
"""Number of the value of a row without one."""
_LENGTH = 4
"""Bytes of the length before a value of variable length."""


@dataclass(frozen=True, slots=True)
class Records:
    """Short byte strings, one after the other.

    Attributes:
        data: their bytes.
        ends: end of each in the data.
    """

    data: Bytes
    ends: Ints

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def sizes(self) -> Ints:
        """Bytes of each."""
        return np.diff(self.ends, prepend=0)

    def between(self, first: int, end: int) -> bytes:
        """The records from `first` on, before `end`."""
        start = int(self.ends[first - 1]) if first else 0
        return self.data[start : int(self.ends[end - 1]) if end else 0].tobytes()


@dataclass(frozen=True, slots=True)
class Coded:
    """The values of a column of all rows of a file.

    Attributes:
        values: the different values in Java's order, as stored: big-endian numbers, or bytes after their
            length.
        codes: for each row the number of its value, or `NULL`.
    """

    values: Records
    codes: Ints


class ValueCodes:
    """Collects the values of a column.

    Args:
        kind: the column's type.
    """

    def __init__(self, kind: ColumnType) -> None:
        self._kind = kind
        self._chunks: list[pa.DictionaryArray] = []

    def add(self, values: pa.Array) -> None:
        """Adds the values of further rows."""
        if self._kind.is_bytes:
            plain = as_bytes(values)
        else:
            numbers = as_numbers(values, self._kind)
            missing = numbers.is_null().to_numpy(zero_copy_only=False)
            ordered = folded(pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False), self._kind)
            plain = pa.array(ordered, pa.int64(), mask=missing)
        self._chunks.append(plain.dictionary_encode())

    def finish(self) -> Coded:
        """The values of all rows."""
        plain = pa.large_binary() if self._kind.is_bytes else pa.int64()
        chunks = pa.chunked_array(self._chunks, pa.dictionary(pa.int32(), plain)).unify_dictionaries()
        different = chunks.chunk(0).dictionary if chunks.num_chunks else pa.array([], plain)
        order = pc.sort_indices(different)
        rank = np.full(len(different) + 1, NULL, np.int64)  # the last is that of nulls
        rank[order.to_numpy()] = np.arange(len(different))
        codes = [rank[pc.fill_null(chunk.indices, NULL).to_numpy()] for chunk in chunks.chunks]
        return Coded(
            stored(different.take(order), self._kind),
            np.concatenate([np.zeros(0, np.int64), *codes]),
        )


def stored(values: pa.Array, kind: ColumnType) -> Records:
    """Values without nulls as bytes; numbers are folded ones."""
    width = width_of(kind)
    if width is not None:
        numbers = folded(values.to_numpy(zero_copy_only=False), kind)
        data = numbers.astype(f">i{width}").view(np.uint8)
        return Records(data, np.arange(1, len(numbers) + 1) * width)
    offsets = np.frombuffer(values.buffers()[1], np.int64)[: len(values) + 1] if len(values) else np.zeros(1)
    lengths = np.diff(offsets).astype(np.int64)
    content = values.buffers()[2] if len(values) else None
    data = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    return joined([fixed(lengths, _LENGTH), Records(data, np.cumsum(lengths))])


def fixed(numbers: npt.NDArray[np.integer], width: int) -> Records:
    """Big-endian numbers of `width` bytes as records."""
    return Records(numbers.astype(f">i{width}").view(np.uint8), np.arange(1, len(numbers) + 1) * width)


def joined(parts: list[Records]) -> Records:
    """Concatenates the parts record by record."""
    sizes = np.sum([part.sizes for part in parts], axis=0)
    ends = np.cumsum(sizes)
    data = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    starts = ends - sizes
    for part in parts:
        own = part.sizes
        moved = starts - (part.ends - own)
        data[np.repeat(moved, own) + np.arange(int(own.sum()))] = part.data[: int(own.sum())]
        starts = starts + own
    return Records(data, ends)


def cuts(sizes: Ints, room: int, *, first_is_free: bool) -> Iterator[tuple[int, int]]:
    """Divides records into blocks, each of as many records as fit into `room` bytes.

    Args:
        sizes: bytes of each record.
        room: bytes of a block.
        first_is_free: whether the first record of a block takes no room.

    Yields:
        The first record of a block, and the one after its last. They are the same if the record does not fit
        into any block; then nothing follows.
    """
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        used = ends[start] if first_is_free else ends[start] - sizes[start]
        end = int(np.searchsorted(ends, used + room, side="right"))
        yield start, end
        if end == start:
            return
        start = end
