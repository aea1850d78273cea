"""Bitmap indexes (`file-index.bitmap.*`): for each value the rows that have it.

Used by `building`. Both versions of Java's format (`BitmapFileIndexMeta`, `BitmapFileIndexMetaV2`) are
written: the second divides the dictionary into blocks. Java stores the bitmaps in the order of a hash
map; ours are in the order of the values, of which readers notice nothing.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.bitmaps import bitmap_of, serialize
from lithify.files.types import ColumnType
from lithify.formats.paimon.file_indexes.model import IndexSettings, Unindexable
from lithify.formats.paimon.file_indexes.stored_values import (
    Coded,
    Ints,
    ValueCodes,
    cuts,
    fixed,
    joined,
)

_START = struct.Struct(">biib")
"""Version, number of rows, number of values, whether there are nulls."""
_NUMBER = struct.Struct(">i")
_COUNT_BYTES = _NUMBER.size


class BitmapIndex:
    """The bitmap index of one column; a `ColumnIndex`.

    Args:
        kind: the column's type.
        settings: the version, and the size of blocks.
    """

    def __init__(self, kind: ColumnType, settings: IndexSettings) -> None:
        self._settings = settings
        self._values = ValueCodes(kind)

    def add(self, values: pa.Array) -> None:
        """Adds the values of further rows."""
        self._values.add(values)

    def finish(self) -> bytes:
        """The index of all rows.

        Raises:
            Unindexable: a value does not fit into a block.
        """
        coded = self._values.finish()
        rows = _rows_of_values(coded)
        has_nulls = rows.null_count > 0
        start = _START.pack(self._settings.version, len(coded.codes), len(coded.values), has_nulls)
        nulls = _NUMBER.pack(rows.null_offset) if has_nulls else b""
        if self._settings.version == 1:
            entries = joined([coded.values, fixed(rows.offsets, _NUMBER.size)]) if len(coded.values) else None
            listed = b"" if entries is None else entries.data.tobytes()
            return b"".join([start, nulls, listed, rows.body])
        nulls += _NUMBER.pack(rows.null_bytes) if has_nulls else b""
        return b"".join([start, nulls, _blocks(coded, rows, self._settings.block_size), rows.body])


@dataclass(frozen=True, slots=True)
class _RowsOfValues:
    """The rows of each value.

    Attributes:
        offsets: offset of each value's bitmap in the body, or -1 - n if n is its only row.
        lengths: bytes of each value's bitmap, -1 if it has only one row.
        null_count: number of rows without a value.
        null_offset: as `offsets`, for these rows.
        null_bytes: bytes of their bitmap, whether it is stored or not.
        body: the stored bitmaps.
    """

    offsets: Ints
    lengths: Ints
    null_count: int
    null_offset: int
    null_bytes: int
    body: bytes


def _rows_of_values(coded: Coded) -> _RowsOfValues:
    order = np.argsort(coded.codes, kind="stable")
    counts = np.bincount(coded.codes + 1, minlength=len(coded.values) + 1)  # nulls come first
    starts = np.cumsum(counts) - counts
    several = counts > 1
    # Values of one row have no bitmap, so there are at most half as many as rows.
    begins, ends = starts[several].tolist(), (starts + counts)[several].tolist()
    stored = [serialize(bitmap_of(order[begin:end])) for begin, end in zip(begins, ends, strict=True)]
    sizes = np.fromiter(map(len, stored), np.int64, len(stored))
    lengths = np.full(len(counts), -1, np.int64)
    lengths[several] = sizes
    offsets = np.zeros(len(counts), np.int64)
    offsets[several] = np.cumsum(sizes) - sizes
    single = counts == 1
    offsets[single] = -1 - order[starts[single]]
    return _RowsOfValues(
        offsets=offsets[1:],
        lengths=lengths[1:],
        null_count=int(counts[0]),
        null_offset=int(offsets[0]),
        null_bytes=int(lengths[0]) if several[0] else len(serialize(bitmap_of(order[: counts[0]]))),
        body=b"".join(stored),
    )


def _blocks(coded: Coded, rows: _RowsOfValues, size: int) -> bytes:
    """The dictionary in blocks, and their directory: the first value and the offset of each."""
    values = coded.values
    if not len(values):
        return _NUMBER.pack(0) + _NUMBER.pack(0)
    entries = joined([values, fixed(rows.offsets, _NUMBER.size), fixed(rows.lengths, _NUMBER.size)])
    heads, blocks, at = [], [], 0
    for first, end in cuts(entries.sizes, size - _COUNT_BYTES, first_is_free=False):
        if first == end:
            raise Unindexable(f"a value of {values.sizes[first]} bytes does not fit into a block of {size}")
        heads.append(values.between(first, first + 1) + _NUMBER.pack(at))
        blocks.append(_NUMBER.pack(end - first) + entries.between(first, end))
        at += len(blocks[-1])
    return b"".join([_NUMBER.pack(len(blocks)), *heads, _NUMBER.pack(at), *blocks])
