"""The places of rows in the order of their numbers, from numbers in the order of places.

Called by tasks that change the order of rows: a row has a *number* where it was read, and a *place* where it
is written (see `row_map`). Numbers are scattered into an array if that takes a small share of the budget;
else they go to local disk in parts of `SLAB_ROWS` numbers each. Whether each number has one place is checked
at the end: a map with a hole would lose a delete.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.parted_rows import PartedRows
from lithify.engine.rewrite.row_map import SLAB_ROWS, Slab
from lithify.errors import CorruptTable

_SHARE = 8
"""An array of places takes at most this part of the budget."""
_PENDING_SHARE = 64
"""Rows that wait to be written to disk take this part; sorting them takes seven times as much."""
_NUMBER, _PLACE = "number", "place"
_NOWHERE = -1


class Places(Protocol):
    """Collects the places of the rows of one task."""

    @property
    def memory(self) -> int:
        """Bytes that it takes at most, from the first row to the last."""
        ...

    def add(self, numbers: IntPart) -> None:
        """Adds the rows of the next places, by their numbers.

        Raises:
            CorruptTable: there is no such number.
            StorageError: the local disk is full or refuses.
        """
        ...

    def slabs(self) -> Iterator[Slab]:
        """The places in the order of numbers, `SLAB_ROWS` at a time, once all rows are added.

        Raises:
            CorruptTable: a number has no place, or two.
        """
        ...


def place_type(rows: int) -> np.dtype[np.integer]:
    """The type of the places of a number of rows."""
    return np.dtype(np.int32 if rows <= np.iinfo(np.int32).max else np.int64)


def places_of(rows: int, origin: str, budget: Budget, folder: Path) -> Places:
    """What collects the places of a number of rows.

    Args:
        rows: the number of rows.
        origin: where they are written, for messages.
        budget: memory of the task.
        folder: an existing local folder for what does not fit into memory.
    """
    share = budget.total // _SHARE
    if rows * place_type(rows).itemsize <= share:
        return PlacesInMemory(rows, origin)
    return PlacesOnDisk(rows, origin, share, folder / "places.arrow")


class PlacesInMemory:
    """Places in one array; see `Places`."""

    def __init__(self, rows: int, origin: str) -> None:
        self._numbering = _Numbering(rows, origin)
        self._places: Slab | None = None

    @property
    def memory(self) -> int:
        """Bytes of the array."""
        return self._numbering.rows * self._numbering.kind.itemsize

    def add(self, numbers: IntPart) -> None:
        """Adds rows; see `Places`."""
        if self._places is None:
            self._places = np.full(self._numbering.rows, _NOWHERE, dtype=self._numbering.kind)
        self._places[numbers] = self._numbering.places_of(numbers)

    def slabs(self) -> Iterator[Slab]:
        """The places; see `Places`."""
        places = np.zeros(0, dtype=self._numbering.kind) if self._places is None else self._places
        self._numbering.check(places)
        for start in range(0, len(places), SLAB_ROWS):
            yield places[start : start + SLAB_ROWS]


class PlacesOnDisk:
    """Places in a local file, in parts of `SLAB_ROWS` numbers; see `Places`.

    Args:
        rows: the number of rows.
        origin: where they are written, for messages.
        memory: bytes to use.
        path: a new local file.
    """

    def __init__(self, rows: int, origin: str, memory: int, path: Path) -> None:
        self.memory = memory
        self._numbering = _Numbering(rows, origin)
        pending = memory * _SHARE // _PENDING_SHARE
        self._parts = PartedRows(path, -(-rows // SLAB_ROWS), pending, purpose="mapping rows")

    def add(self, numbers: IntPart) -> None:
        """Adds rows; see `Places`."""
        places = self._numbering.places_of(numbers)
        parts, within = np.divmod(numbers, SLAB_ROWS)
        rows = pa.table({_NUMBER: within.astype(np.int32), _PLACE: places})
        self._parts.add(rows, parts.astype(np.uint64))

    def slabs(self) -> Iterator[Slab]:
        """The places; see `Places`."""
        self._parts.flush()
        for part in range(self._parts.parts):
            rows = min(SLAB_ROWS, self._numbering.rows - part * SLAB_ROWS)
            places = np.full(rows, _NOWHERE, dtype=self._numbering.kind)
            for found in self._parts.slices(part):
                places[found[_NUMBER].to_numpy()] = found[_PLACE].to_numpy()
            self._numbering.check(places)
            yield places


class _Numbering:
    """Gives places to rows in the order in which they come, and checks that each number gets one.

    As many rows as numbers without a hole cannot have a number twice.
    """

    def __init__(self, rows: int, origin: str) -> None:
        self.rows = rows
        self.kind = place_type(rows)
        self._origin = origin
        self._placed = 0

    def places_of(self, numbers: IntPart) -> Slab:
        """The places of the next rows."""
        first, self._placed = self._placed, self._placed + len(numbers)
        if self._placed > self.rows or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.rows):
            most = numbers.max(initial=0)
            problem = f"{self.rows} rows were read, but {self._placed} are written, up to number {most}"
            raise CorruptTable(self._origin, problem)
        return np.arange(first, self._placed, dtype=self.kind)

    def check(self, places: Slab) -> None:
        """Checks that all rows were placed, and that these numbers have one each."""
        holes = int(np.count_nonzero(places == _NOWHERE))
        if holes or self._placed != self.rows:
            problem = f"{self._placed} of {self.rows} rows were written, but {holes} or more were left out"
            raise CorruptTable(self._origin, problem)
