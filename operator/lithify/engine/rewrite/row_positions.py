"""Positions of rows in their data files: to leave out deleted rows, and to identify rows in a merge.

Called by readers of adapters for each file. A bitmap of deleted rows is applied batch by batch: only the part
of it that concerns a batch is expanded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask

if TYPE_CHECKING:
    from pyroaring import BitMap, BitMap64

    Bits = TypeVar("Bits", BitMap, BitMap64)

ROW_PLACE = "_ROW_PLACE"
"""Column of a merge's rows: number of the file and position of the row in it; -1 where nobody asks."""
_SHIFT = 40
_MASK = (1 << _SHIFT) - 1
PLACE_FIELD = pa.field(ROW_PLACE, pa.int64(), nullable=False)


def places(file: int, positions: IntPart) -> pa.Array:
    """The values of `ROW_PLACE` for rows of a file."""
    return pa.array((file << _SHIFT) + positions)


def no_places(rows: int) -> pa.Array:
    """The values of `ROW_PLACE` for rows that need not be identified."""
    return pa.array(np.full(rows, -1, dtype=np.int64))


def split_places(column: IntPart) -> tuple[IntPart, IntPart]:
    """The numbers of the files and the positions in them."""
    return column >> _SHIFT, column & _MASK


class Positions:
    """The positions of the rows of consecutive batches.

    Args:
        spans: first row and number of rows of each part of the file that is read.
    """

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._spans: Iterator[tuple[int, int]] = iter(spans)
        self._next = self._left = 0

    def take(self, rows: int) -> IntPart:
        """The positions of the next rows, ascending."""
        parts: list[IntPart] = []
        while rows:
            if not self._left:
                self._next, self._left = next(self._spans)
                continue
            count = min(rows, self._left)
            parts.append(np.arange(self._next, self._next + count))
            self._next, self._left, rows = self._next + count, self._left - count, rows - count
        if len(parts) == 1:  # most batches lie in one span, and copying takes as long as counting
            return parts[0]
        return np.concatenate(parts) if parts else np.arange(0)


def positions_between(bitmap: Bits, first: int, last: int) -> IntPart:
    """The positions of a bitmap from `first` to `last`, ascending."""
    between = type(bitmap)(range(first, last + 1))
    return np.asarray((bitmap & between).to_array(), dtype=np.int64)


def is_deleted(positions: IntPart, deleted: Bits) -> Mask:
    """Mask of the positions (ascending) that a bitmap of deleted rows contains."""
    if not len(positions):
        return np.zeros(0, dtype=bool)
    mask = np.zeros(len(positions), dtype=bool)
    first, last = int(positions[0]), int(positions[-1])
    rows = positions_between(deleted, first, last)
    if last - first + 1 == len(positions):  # none is missing, as where all rows are read
        mask[rows - first] = True
        return mask
    at = np.searchsorted(positions, rows)
    mask[at[positions[at] == rows]] = True
    return mask
