"""Bloom filters (`file-index.bloom-filter.*`): bits of a size that depends on the options alone.

Used by `building`. The hashes and the places of bits are those of Java's `FastHash` and `BloomFilter64`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.files.parquet.xx_hash import xx_hashes
from lithify.files.types import ColumnType
from lithify.formats.paimon.file_indexes.model import LN2, IndexSettings
from lithify.formats.paimon.file_indexes.values import Numbers, as_bytes, as_numbers

_BYTE = 8
_HASHED_AT_ONCE = 1 << 20


class BloomFilter:
    """The filter of one column; a `ColumnIndex`.

    Args:
        kind: the column's type.
        settings: the number of values and the share of false positives.
    """

    def __init__(self, kind: ColumnType, settings: IndexSettings) -> None:
        self._kind = kind
        self._size = settings.bits
        self._functions = max(1, math.floor(self._size / settings.items * LN2 + 0.5))
        self._bits = np.zeros(self._size // _BYTE, np.uint8)

    def add(self, values: pa.Array) -> None:
        """Adds the values of further rows."""
        values = values.drop_null()
        for start in range(0, len(values), _HASHED_AT_ONCE):
            self._set(hashes_of(values.slice(start, _HASHED_AT_ONCE), self._kind))

    def finish(self) -> bytes:
        """The number of hash functions, and the bits."""
        return self._functions.to_bytes(4) + self._bits.tobytes()

    def _set(self, hashes: npt.NDArray[np.uint64]) -> None:
        lower, upper = (half.astype(np.uint32) for half in (hashes, hashes >> np.uint64(32)))
        combined = lower
        for _ in range(self._functions):
            combined = combined + upper
            places = combined.view(np.int32)
            places = np.where(places < 0, ~places, places) % np.int32(self._size)
            np.bitwise_or.at(self._bits, places >> 3, np.uint8(1) << (places & 7).astype(np.uint8))


def hashes_of(values: pa.Array, kind: ColumnType) -> npt.NDArray[np.uint64]:
    """The hash of each value; none of them is null."""
    if kind.is_bytes:
        stored = as_bytes(values)
        offsets = np.frombuffer(stored.buffers()[1], np.int64, len(stored) + 1, stored.offset * 8)
        data = stored.buffers()[2]
        content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        return xx_hashes(content, offsets[:-1].copy(), np.diff(offsets))
    return _mixed(as_numbers(values, kind).to_numpy()).view(np.uint64)


def _mixed(numbers: Numbers) -> Numbers:
    """Thomas Wang's hash of integers of 64 bits; Java's variant shifts signed numbers."""
    key: Numbers = ~numbers + (numbers << 21)
    key = key ^ (key >> 24)
    key = key + (key << 3) + (key << 8)
    key = key ^ (key >> 14)
    key = key + (key << 2) + (key << 4)
    key = key ^ (key >> 28)
    key += key << 31
    return key
