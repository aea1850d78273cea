"""Range bitmaps (`file-index.range-bitmap.*`): the values in order, and slices of their numbers.

Used by `building`. The format is Java's `RangeBitmap`, with a `ChunkedDictionary`: each chunk has its first
value in its head and the further ones behind all heads.
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa

from lithify.columns.bitmaps import bitmap_of, serialize
from lithify.files.types import ColumnType
from lithify.formats.paimon.file_indexes.bit_slices import slices_of
from lithify.formats.paimon.file_indexes.model import IndexSettings
from lithify.formats.paimon.file_indexes.stored_values import (
    Coded,
    Ints,
    Records,
    ValueCodes,
    cuts,
    fixed,
    joined,
)
from lithify.formats.paimon.file_indexes.values import width_of

_VERSION = 1
_START = struct.Struct(">bii")
"""Version, number of rows, number of values."""
_DICTIONARY = struct.Struct(">biii")
"""Version, number of chunks, bytes of their offsets, bytes of their heads."""
_SLICES = struct.Struct(">bbii")
"""Version, number of slices, bytes of the bitmap of all rows, bytes of the slices' places."""
_PLACE = struct.Struct(">ii")
_NUMBER = struct.Struct(">i")
_OFFSET_BYTES = 4
_UNCHUNKED = frozenset({"BOOLEAN", "TINYINT", "SMALLINT"})
"""Types with so few values that each has a chunk of its own."""
_CHUNK = 16 << 10
_SLICES_OF_NOTHING = 64
"""Number of slices if no row has a value."""


class RangeBitmap:
    """The range bitmap of one column; a `ColumnIndex`.

    Args:
        kind: the column's type.
        settings: the size of chunks.
    """

    def __init__(self, kind: ColumnType, settings: IndexSettings) -> None:
        self._width = width_of(kind)
        usual = 0 if kind.root in _UNCHUNKED else _CHUNK
        self._chunk = usual if settings.chunk_size is None else settings.chunk_size
        self._values = ValueCodes(kind)

    def add(self, values: pa.Array) -> None:
        """Adds the values of further rows."""
        self._values.add(values)

    def finish(self) -> bytes:
        """The index of all rows."""
        coded = self._values.finish()
        values = coded.values
        ends = (0, len(values) - 1) if len(values) else ()
        dictionary = _dictionary(values, self._chunk, self._width)
        head = b"".join(
            [
                _START.pack(_VERSION, len(coded.codes), len(values)),
                *(values.between(number, number + 1) for number in ends),
                _NUMBER.pack(len(dictionary)),
            ]
        )
        return b"".join([_NUMBER.pack(len(head)), head, dictionary, _slices(coded)])


def _slices(coded: Coded) -> bytes:
    """For each bit of the values' numbers the rows that have it."""
    rows = np.flatnonzero(coded.codes >= 0)
    most = len(coded.values) - 1
    count = max(most.bit_length(), 1) if most >= 0 else _SLICES_OF_NOTHING
    slices = slices_of(rows, coded.codes[rows], count)
    lengths = np.array([len(each) for each in slices])
    starts = np.cumsum(lengths) - lengths
    places = b"".join(map(_PLACE.pack, starts.tolist(), lengths.tolist()))
    every = serialize(bitmap_of(rows))
    head = _SLICES.pack(_VERSION, count, len(every), len(places)) + places
    return b"".join([_NUMBER.pack(len(head)), head, every, *slices])


def _dictionary(values: Records, chunk: int, width: int | None) -> bytes:
    """The values in chunks."""
    bounds = np.array([*cuts(values.sizes, chunk, first_is_free=True)], np.int64).reshape(-1, 2)
    heads, keys = _fixed_chunks(values, bounds, width) if width else _variable_chunks(values, bounds)
    offsets = fixed(heads.ends - heads.sizes, _OFFSET_BYTES).data.tobytes()
    head = _DICTIONARY.pack(_VERSION, len(heads), len(offsets), len(heads.data))
    return b"".join([_NUMBER.pack(len(head)), head, offsets, heads.data.tobytes(), keys])


def _fixed_chunks(values: Records, bounds: Ints, width: int) -> tuple[Records, bytes]:
    """The heads of chunks of values of `width` bytes, and the further values of all chunks."""
    firsts, counts = bounds[:, 0], bounds[:, 1] - bounds[:, 0] - 1
    keys = values.data.reshape(-1, width)
    first_keys = Records(keys[firsts].reshape(-1), np.arange(1, len(firsts) + 1) * width)
    sizes = counts * width
    numbers = (firsts, np.cumsum(sizes) - sizes, counts, sizes, np.full(len(firsts), width))
    heads = _heads(first_keys, *numbers)
    return heads, np.delete(keys, firsts, axis=0).tobytes()


def _variable_chunks(values: Records, bounds: Ints) -> tuple[Records, bytes]:
    """The same for values of variable length, which follow their offsets in the chunk."""
    sizes = values.sizes
    keys, first_keys, lengths = [], [], []
    for first, end in bounds.tolist():
        first_keys.append(np.frombuffer(values.between(first, first + 1), np.uint8))
        further = sizes[first + 1 : end]
        offsets = fixed(np.cumsum(further) - further, _OFFSET_BYTES).data.tobytes()
        content = values.between(first + 1, end) if end > first + 1 else b""
        keys.append(offsets + content)
        lengths.append((len(offsets), len(content)))
    own = np.array(lengths, np.int64).reshape(-1, 2)
    total = own.sum(axis=1)
    ends = np.cumsum([len(key) for key in first_keys], dtype=np.int64)
    firsts = Records(np.concatenate([np.zeros(0, np.uint8), *first_keys]), ends)
    counts = bounds[:, 1] - bounds[:, 0] - 1
    heads = _heads(firsts, bounds[:, 0], np.cumsum(total) - total, counts, own[:, 0], own[:, 1])
    return heads, b"".join(keys)


def _heads(first_keys: Records, *numbers: Ints) -> Records:
    """The heads of chunks: version, first value, and some numbers."""
    version = Records(np.full(len(first_keys), _VERSION, np.uint8), np.arange(1, len(first_keys) + 1))
    return joined([version, first_keys, *(fixed(number, _NUMBER.size) for number in numbers)])
