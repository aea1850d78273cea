"""Bit-slice indexes (`file-index.bsi.*`): for each bit of a number the rows that have it.

Used by `building`. Numbers below zero have slices of their own, of their absolute values
(`BitSliceIndexBitmapFileIndex`, `BitSliceIndexRoaringBitmap`).
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.bitmaps import bitmap_of, serialize
from lithify.files.types import ColumnType
from lithify.formats.paimon.file_indexes.model import IndexSettings, Unindexable
from lithify.formats.paimon.file_indexes.stored_values import Ints
from lithify.formats.paimon.file_indexes.values import Numbers, as_numbers

_VERSION = 1
_START = struct.Struct(">bi")
"""Version, number of rows."""
_BOUNDS = struct.Struct(">bqq")
"""Version, lower and upper bound; Java's lower bound is zero, whatever the values are."""
_COUNT = struct.Struct(">i")
_LEAST = -(1 << 63)


class BitSliceIndex:
    """The bit-slice index of one column; a `ColumnIndex`.

    Args:
        kind: the column's type.
        settings: unused, because this kind has no options.
    """

    def __init__(self, kind: ColumnType, settings: IndexSettings) -> None:
        del settings
        self._kind = kind
        self._numbers: list[Numbers] = []
        self._valid: list[npt.NDArray[np.bool_]] = []

    def add(self, values: pa.Array) -> None:
        """Adds the values of further rows.

        Raises:
            Unindexable: a number has no absolute value in 64 bits.
        """
        numbers = as_numbers(values, self._kind)
        plain = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
        if (plain == _LEAST).any():
            raise Unindexable(f"{_LEAST} has no absolute value in 64 bits")
        self._numbers.append(plain)
        self._valid.append(numbers.is_valid().to_numpy(zero_copy_only=False))

    def finish(self) -> bytes:
        """The index of all rows."""
        numbers = np.concatenate([np.zeros(0, np.int64), *self._numbers])
        valid = np.concatenate([np.zeros(0, np.bool_), *self._valid])
        parts = [_START.pack(_VERSION, len(numbers))]
        for of_sign in (np.flatnonzero(valid & (numbers >= 0)), np.flatnonzero(valid & (numbers < 0))):
            parts.append(bytes([len(of_sign) > 0]))
            if len(of_sign):
                parts.append(_signed(of_sign, np.abs(numbers[of_sign])))
        return b"".join(parts)


def _signed(rows: Ints, numbers: Numbers) -> bytes:
    """The slices of numbers of one sign."""
    largest = int(numbers.max())
    slices = slices_of(rows, numbers, largest.bit_length())
    head = _BOUNDS.pack(_VERSION, 0, largest)
    return b"".join([head, serialize(bitmap_of(rows)), _COUNT.pack(len(slices)), *slices])


def slices_of(rows: Ints, numbers: Numbers, count: int) -> list[bytes]:
    """For each of the lowest `count` bits a bitmap of the rows whose number has it.

    Args:
        rows: the rows, ascending.
        numbers: their numbers.
        count: number of bits.
    """
    return [serialize(bitmap_of(rows[(numbers >> bit & 1).astype(np.bool_)])) for bit in range(count)]
