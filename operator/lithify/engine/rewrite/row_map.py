"""Where the rows of a task went; translates positions in its inputs to positions in its outputs. Pure.

Called by adapters to carry deletes over that landed on an input while it was rewritten. A row has a position
in its input; a *number* among the live rows of all inputs, which leaves out positions that the task dropped;
and a *place* among the rows of all outputs. Where rows keep their order, the place is the number; else a
callable returns the places, in slabs of `SLAB_ROWS` numbers. Memory is a window of `SLAB_ROWS` positions and
two slabs, besides the bitmaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from lithify.columns.order import IntPart
from lithify.engine.rewrite.row_positions import positions_between
from lithify.errors import CorruptTable

if TYPE_CHECKING:
    from pyroaring import BitMap64

SLAB_ROWS = 1 << 20
"""Numbers of a slab of places, and positions of a window."""

Slab: TypeAlias = npt.NDArray[np.integer]
"""The places of consecutive numbers."""


@dataclass(frozen=True, slots=True)
class MovedRows:
    """Where some rows of an input are.

    Attributes:
        outputs: the number of each row's output.
        positions: its position in it.
        dropped: number of further rows that the task had dropped, and that are nowhere.
    """

    outputs: IntPart
    positions: IntPart
    dropped: int


class RowMap:
    """The map of one task.

    Args:
        origin: what the map is read from, for messages.
        live: the number of live rows of each input, in the order in which they were read.
        outputs: the number of rows of each output, in the order in which they were written.
        slab: the places of the numbers from `SLAB_ROWS * i` on, for `i`; None if places are numbers.

    Raises:
        CorruptTable: inputs have more or fewer live rows than outputs have rows.
    """

    def __init__(
        self,
        origin: str,
        live: Sequence[int],
        outputs: Sequence[int],
        slab: Callable[[int], Slab] | None = None,
    ) -> None:
        self._origin = origin
        self._firsts = np.cumsum([0, *live])
        self._starts = np.cumsum([0, *outputs])
        self._slab = slab
        if self._firsts[-1] != self._starts[-1]:
            problem = f"its task read {self._firsts[-1]} live rows, and wrote {self._starts[-1]}"
            raise CorruptTable(origin, problem)

    def translate(
        self, file: int, positions: BitMap64, dropped: BitMap64 | None = None
    ) -> Iterator[MovedRows]:
        """Where rows of an input are, window after window.

        Args:
            file: the number of the input.
            positions: positions in it.
            dropped: the positions of it that the task dropped; None if it dropped none.

        Raises:
            CorruptTable: a position or a place is not within its file or task.
        """
        last = int(positions.max()) if positions else -1
        self._check_inside(file, last, dropped)
        for first in range(0, last + 1, SLAB_ROWS):
            wanted = positions_between(positions, first, first + SLAB_ROWS - 1)
            if len(wanted):
                yield self._moved(file, wanted, _live(wanted, dropped, first))

    def _check_inside(self, file: int, last: int, dropped: BitMap64 | None) -> None:
        rows = self._firsts[file + 1] - self._firsts[file]
        gone = dropped.rank(last) if dropped is not None and last >= 0 else 0
        if last + 1 - gone > rows:
            problem = f"input {file} has {rows} live rows, position {last} is not among them"
            raise CorruptTable(self._origin, problem)

    def _moved(self, file: int, wanted: IntPart, live: IntPart) -> MovedRows:
        places = self._places(live + self._firsts[file])
        if len(places) and not 0 <= places.min() <= places.max() < self._starts[-1]:
            raise CorruptTable(self._origin, f"{self._starts[-1]} rows have places up to {places.max()}")
        outputs = np.searchsorted(self._starts[1:], places, side="right")
        return MovedRows(outputs, places - self._starts[outputs], len(wanted) - len(live))

    def _places(self, numbers: IntPart) -> IntPart:
        """The places of ascending numbers, which lie in one window and so in at most two slabs."""
        if self._slab is None:
            return numbers
        slabs, within = np.divmod(numbers, SLAB_ROWS)
        places = np.empty(len(numbers), dtype=np.int64)
        for slab in np.unique(slabs).tolist():
            is_in = slabs == slab
            places[is_in] = self._slab(slab)[within[is_in]]
        return places


def _live(wanted: IntPart, dropped: BitMap64 | None, first: int) -> IntPart:
    """The numbers of live rows within their file; `wanted` are positions of the window from `first` on."""
    if dropped is None:
        return wanted
    gone = positions_between(dropped, first, first + SLAB_ROWS - 1)
    before = np.searchsorted(gone, wanted)
    is_live = np.append(gone, -1)[before] != wanted
    rank = np.int64(dropped.rank(first - 1) if first else 0)
    live: IntPart = wanted[is_live] - before[is_live] - rank
    return live
