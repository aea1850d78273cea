"""Which rows of some files have a key that is deleted later, by reading nothing but keys.

Called by adapters, which make the keys (`key_tables`). Deletes are held in memory while they fit into their
share; else both sides go to local disk in parts by the hashes of their keys, and part after part is joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.key_range import EVERYTHING, FirstKeys, KeyRange
from lithify.columns.order import IntPart
from lithify.engine.rewrite.budget import MAX_PIECE, MIN_PIECE, Budget
from lithify.engine.rewrite.deleted_keys import KeyIndex
from lithify.engine.rewrite.key_tables import PLACE, SEQUENCE, hashes_of, newest_of
from lithify.engine.rewrite.parted_rows import PartedRows
from lithify.engine.rewrite.row_positions import places, split_places

_SHARE = 8
"""Deletes take at most this part of the budget before they go to disk; an index takes several times as
much."""
_MEMORY_PER_BYTE = 8
"""Bytes in memory of a byte in a delete file, to choose the number of parts."""
_FEWEST_PARTS, _MOST_PARTS = 8, 512

Found = Callable[[int, IntPart], None]
"""Takes deleted rows: the number of their file, and their positions in it."""


class KeyedFiles(Protocol):
    """Files with keys, and files with deleted keys."""

    @property
    def files(self) -> int:
        """The number of files with rows."""
        ...

    @property
    def deleted_bytes(self) -> int:
        """Bytes of the files with deletes."""
        ...

    def deletes(self, piece_bytes: int) -> Iterator[pa.Table]:
        """The keys of all deletes, with their sequence numbers."""
        ...

    def rows(
        self, number: int, piece_bytes: int, keys: KeyRange, among: FirstKeys | None
    ) -> Iterator[tuple[pa.Table, IntPart, IntPart]]:
        """The keys of the rows of a file, their positions and sequence numbers.

        Rows may be left out whose first key column is not in a range, if it is bounded at all, or has none of
        some values.
        """
        ...


@dataclass(slots=True)
class KeyBounds:
    """The bounds of the first key column among deletes, by which rows are left out.

    Attributes:
        is_known: whether there are such bounds.
        least: the smallest value so far.
        most: the greatest.
    """

    is_known: bool
    least: Any = None
    most: Any = None

    def add(self, keys: pa.Table) -> None:
        """Widens the bounds; a null has no place in any."""
        if keys.column(0).null_count:
            self.is_known = False
        if not self.is_known:
            return
        bounds = pc.min_max(keys.column(0)).as_py()
        known = [each for each in (self.least, self.most, *bounds.values()) if each is not None]
        self.least, self.most = (min(known), max(known)) if known else (None, None)

    @property
    def keys(self) -> KeyRange:
        """The range of keys with which rows may be deleted."""
        if not self.is_known or self.least is None:
            return EVERYTHING
        if isinstance(self.least, str):
            least, most = self.least.encode(), self.most.encode()
            return KeyRange((least[:-1],) if least else None, (most,))
        return KeyRange((self.least - 1,), (self.most,))

    def values_of(self, keys: pa.Table) -> FirstKeys | None:
        """The values of the first key column, between which rows are left out, too; None if not known."""
        if not self.is_known or self.least is None:
            return None
        distinct = pc.unique(keys.column(0))
        if isinstance(self.least, str):
            distinct = distinct.cast(pa.large_binary())
            return FirstKeys(distinct.take(pc.sort_indices(distinct)))
        return FirstKeys(np.sort(distinct.to_numpy().astype(np.int64)))


class AntiJoin:
    """Finds the deleted rows of some files.

    Args:
        source: the files.
        budget: memory to use.
        path: a local path for what does not fit into memory; its folder exists.
        is_bounded: whether values of the first key column can be compared with the bounds of files.
    """

    def __init__(self, source: KeyedFiles, budget: Budget, path: Path, *, is_bounded: bool) -> None:
        self._source = source
        self._share = budget.total // _SHARE
        self._piece = max(MIN_PIECE, min(MAX_PIECE, budget.total // 32))
        self._path = path
        self._bounds = KeyBounds(is_bounded)

    def run(self, add: Found) -> None:
        """Finds the deleted rows of each file."""
        pending: list[pa.Table] = []
        held = 0
        deletes = self._deletes()
        for keys in deletes:
            pending.append(keys)
            held += keys.nbytes
            if held > self._share:
                pending = [newest_of(pa.concat_tables(pending))]
                held = pending[0].nbytes
                if held > self._share // 2:
                    self._run_on_disk(pending, deletes, add)
                    return
        if pending:
            self._run_in_memory(pa.concat_tables(pending), add)

    def _run_in_memory(self, deletes: pa.Table, add: Found) -> None:
        among, index = self._bounds.values_of(deletes), KeyIndex(deletes)
        for number in range(self._source.files):
            for keys, positions, sequences in self._rows(number, among):
                add(number, positions[index.deleted(keys, sequences)])

    def _run_on_disk(self, first: Sequence[pa.Table], rest: Iterator[pa.Table], add: Found) -> None:
        size = self._source.deleted_bytes * _MEMORY_PER_BYTE
        parts = max(_FEWEST_PARTS, min(_MOST_PARTS, size // self._share))
        deletes = PartedRows(self._path.with_suffix(".deletes"), parts, self._share, newest_of)
        rows = PartedRows(self._path.with_suffix(".rows"), parts, self._share)
        for keys in first:
            deletes.add(keys, hashes_of(keys))
        for keys in rest:
            deletes.add(keys, hashes_of(keys))
        deletes.flush()
        for number in range(self._source.files):
            for keys, positions, sequences in self._rows(number):
                placed = keys.append_column(PLACE, places(number, positions))
                rows.add(placed.append_column(SEQUENCE, pa.array(sequences)), hashes_of(keys))
        rows.flush()
        for part in range(parts):
            self._join_part(deletes.slices(part), rows, part, add)

    def _join_part(self, deletes: Iterator[pa.Table], rows: PartedRows, part: int, add: Found) -> None:
        """Joins one part: its deletes in pieces that fit into memory, usually a single one."""
        pending: list[pa.Table] = []
        for piece in deletes:
            pending.append(piece)
            if sum(each.nbytes for each in pending) > self._share:
                self._look_up(KeyIndex(pa.concat_tables(pending)), rows, part, add)
                pending = []
        if pending:
            self._look_up(KeyIndex(pa.concat_tables(pending)), rows, part, add)

    def _look_up(self, index: KeyIndex, rows: PartedRows, part: int, add: Found) -> None:
        for piece in rows.slices(part):
            numbers, positions = split_places(piece.column(PLACE).to_numpy())
            deleted = index.deleted(piece, piece.column(SEQUENCE).to_numpy())
            numbers, positions = numbers[deleted], positions[deleted]
            for number in np.unique(numbers).tolist():
                add(number, positions[numbers == number])

    def _deletes(self) -> Iterator[pa.Table]:
        for keys in self._source.deletes(self._piece):
            self._bounds.add(keys)
            yield keys

    def _rows(
        self, number: int, among: FirstKeys | None = None
    ) -> Iterator[tuple[pa.Table, IntPart, IntPart]]:
        return self._source.rows(number, self._piece, self._bounds.keys, among)
