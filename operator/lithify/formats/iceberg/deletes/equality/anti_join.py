"""Which rows of data files equality deletes remove, found by reading nothing but key columns.

Called by `positions`. The deletes of a scope are held in memory while they fit into their share; else both
sides go to local disk in parts by the hashes of their keys, and part after part is joined. The result is a
bitmap for each data file, so that rows and row groups are then treated as with any other deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.columns.order import IntPart
from lithify.engine.rewrite.budget import MAX_PIECE, MIN_PIECE, Budget
from lithify.engine.rewrite.deleted_keys import KeyIndex
from lithify.engine.rewrite.key_tables import PLACE, SEQUENCE, hashes_of, newest_of
from lithify.engine.rewrite.parted_rows import PartedRows
from lithify.engine.rewrite.row_positions import places, split_places
from lithify.files.types import Field
from lithify.formats.iceberg.data_files.reader import FileReader, Request
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.equality.keys import key_table
from lithify.formats.iceberg.deletes.equality.scopes import KeyColumn, Scope, key_columns, scopes_of
from lithify.formats.iceberg.model import DataFile, DeleteFile

if TYPE_CHECKING:
    from pyroaring import BitMap64

_SHARE = 8
"""Deletes take at most this part of the budget before they go to disk; an index takes several times as
much."""
_MEMORY_PER_BYTE = 8
"""Bytes in memory of a byte in a delete file, to choose the number of parts."""
_FEWEST_PARTS, _MOST_PARTS = 8, 512
_BOUNDED = ("INT", "BIGINT", "DATE", "VARCHAR")
"""Types of key columns whose bounds in files can be compared whatever the column was before."""

Found = Callable[[DataFile, IntPart], None]


class Sequences(Protocol):
    """Tells when rows and deletes were written: a delete removes rows of its key with smaller numbers."""

    @property
    def columns(self) -> tuple[Field, ...]:
        """The columns that are read for it, besides the key."""
        ...

    def of(self, file: DataFile | DeleteFile, rows: pa.RecordBatch) -> IntPart:
        """The sequence number of each row of a file; `rows` has the key, then `columns`."""
        ...


@dataclass(frozen=True, slots=True)
class FileSequences:
    """All rows of a file have its sequence number, as Iceberg says; implements `Sequences`."""

    columns: tuple[Field, ...] = ()

    def of(self, file: DataFile | DeleteFile, rows: pa.RecordBatch) -> IntPart:
        """The file's sequence number for each row."""
        return np.full(rows.num_rows, file.sequence, dtype=np.int64)


def deleted_by_equality(
    files: Sequence[DataFile], reader: FileReader, schema: Schema, budget: Budget, folder: Path
) -> dict[str, BitMap64]:
    """The positions that equality deletes remove from each data file, by its path.

    Args:
        files: data files with the deletes that apply to them.
        reader: reads files of the table.
        schema: the table's schema, with the older columns that deletes may name.
        budget: memory to use.
        folder: an existing local folder, used if the deletes do not fit into memory.

    Raises:
        MissingFile: a file does not exist.
        CorruptTable: a file cannot be read.
        UnsupportedTable: deletes compare a column that this release cannot compare.
        StorageError: the local disk is full or refuses.
    """
    found: dict[str, BitMap64] = {}
    for number, scope in enumerate(scopes_of(files)):
        path = folder / f"equality-{number}"
        for file, positions in deleted_in_scope(scope, reader, schema, budget, path).items():
            found[file] = found[file] | positions if file in found else positions
    return found


def deleted_in_scope(
    scope: Scope,
    reader: FileReader,
    schema: Schema,
    budget: Budget,
    path: Path,
    sequences: Sequences = FileSequences(),
) -> dict[str, BitMap64]:
    """The positions that the deletes of one scope remove from each of its data files; see above.

    Args:
        scope: delete files and data files.
        reader: reads files of the table.
        schema: the table's schema.
        budget: memory to use.
        path: a local path for what does not fit into memory; its folder exists.
        sequences: when rows and deletes were written.
    """
    found: dict[str, BitMap64] = {}

    def add(file: DataFile, positions: IntPart) -> None:
        if len(positions):
            found[file.path] = found.get(file.path, bitmap_of()) | bitmap_of(positions)

    _Join(scope, key_columns(scope.ids, schema), reader, budget, path, sequences).run(add)
    return found


@dataclass(slots=True)
class _Bounds:
    """The bounds of the first key column among deletes, if row groups can be skipped by them.

    Attributes:
        column: the column, None if they cannot.
        least: the smallest value so far.
        most: the greatest.
    """

    column: Field | None
    least: Any = None
    most: Any = None

    def add(self, keys: pa.Table) -> None:
        """Widens the bounds; a null has no place between any."""
        if self.column is None:
            return
        if keys.column(0).null_count:
            self.column = None
            return
        bounds = pc.min_max(keys.column(0)).as_py()
        known = [each for each in (self.least, self.most, *bounds.values()) if each is not None]
        self.least, self.most = (min(known), max(known)) if known else (None, None)

    @property
    def keys(self) -> KeyRange:
        """The range of keys with which rows may be deleted."""
        if self.column is None or self.least is None:
            return EVERYTHING
        if isinstance(self.least, str):
            least, most = self.least.encode(), self.most.encode()
            return KeyRange((least[:-1],) if least else None, (most,))
        return KeyRange((self.least - 1,), (self.most,))


class _Join:
    """The anti-join of one scope."""

    def __init__(
        self,
        scope: Scope,
        keys: Sequence[KeyColumn],
        reader: FileReader,
        budget: Budget,
        path: Path,
        sequences: Sequences,
    ) -> None:
        self._scope = scope
        self._keys = keys
        self._reader = reader
        self._share = budget.total // _SHARE
        self._piece = max(MIN_PIECE, min(MAX_PIECE, budget.total // 32))
        self._path = path
        self._sequences = sequences
        first = keys[0]
        is_bounded = first.depth == 0 and first.type.root in _BOUNDED
        self._bounds = _Bounds(first.column if is_bounded else None)

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
            self._run_in_memory(KeyIndex(pa.concat_tables(pending)), add)

    def _run_in_memory(self, index: KeyIndex, add: Found) -> None:
        for file in self._scope.files:
            for keys, positions, sequences in self._rows(file):
                add(file, positions[index.deleted(keys, sequences)])

    def _run_on_disk(self, first: Sequence[pa.Table], rest: Iterator[pa.Table], add: Found) -> None:
        size = sum(file.size for file in self._scope.deletes) * _MEMORY_PER_BYTE
        parts = max(_FEWEST_PARTS, min(_MOST_PARTS, size // self._share))
        deletes = PartedRows(self._path.with_suffix(".deletes"), parts, self._share, newest_of)
        rows = PartedRows(self._path.with_suffix(".rows"), parts, self._share)
        for keys in first:
            deletes.add(keys, hashes_of(keys))
        for keys in rest:
            deletes.add(keys, hashes_of(keys))
        deletes.flush()
        for number, file in enumerate(self._scope.files):
            for keys, positions, sequences in self._rows(file):
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
            for number in np.unique(numbers):
                add(self._scope.files[number], positions[numbers == number])

    def _deletes(self) -> Iterator[pa.Table]:
        """The keys of all deletes, with their sequence numbers."""
        for file in self._scope.deletes:
            for batch in self._reader.batches(file, self._request()):
                keys = key_table(batch, self._keys)
                self._bounds.add(keys)
                yield keys.append_column(SEQUENCE, pa.array(self._sequences.of(file, batch)))

    def _rows(self, file: DataFile) -> Iterator[tuple[pa.Table, IntPart, IntPart]]:
        """The keys of the rows of a file that deletes may concern, their positions and sequence numbers."""
        request = self._request(self._bounds.column, self._bounds.keys)
        positions = self._reader.positions(file, request)
        for batch in self._reader.batches(file, request):
            sequences = self._sequences.of(file, batch)
            yield key_table(batch, self._keys), positions.take(batch.num_rows), sequences

    def _request(self, key: Field | None = None, keys: KeyRange = EVERYTHING) -> Request:
        columns = [*(each.column for each in self._keys), *self._sequences.columns]
        return Request(columns, self._piece, key=key, keys=keys)
