"""Which rows of data files equality deletes remove, found by reading nothing but key columns.

Called by `positions`. `engine.rewrite.anti_join` joins the deletes of each scope with its rows. The result is
a bitmap for each data file, so that rows and row groups are then treated as with any other deletes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from lithify.columns.key_range import EVERYTHING, FirstKeys, KeyRange
from lithify.columns.order import IntPart
from lithify.engine.rewrite.anti_join import AntiJoin
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.key_tables import SEQUENCE
from lithify.files.types import Field
from lithify.formats.iceberg.data_files.reader import FileReader, Request
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.equality.keys import key_table
from lithify.formats.iceberg.deletes.equality.scopes import KeyColumn, Scope, key_columns, scopes_of
from lithify.formats.iceberg.model import DataFile, DeleteFile

if TYPE_CHECKING:
    from pyroaring import BitMap64

_BOUNDED = ("INT", "BIGINT", "DATE", "VARCHAR")
"""Types of key columns whose bounds in files can be compared whatever the column was before."""


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

    def add(number: int, positions: IntPart) -> None:
        if len(positions):
            file = scope.files[number].path
            found[file] = found.get(file, bitmap_of()) | bitmap_of(positions)

    source = _ScopeFiles(scope, key_columns(scope.ids, schema), reader, sequences)
    AntiJoin(source, budget, path, is_bounded=source.is_bounded).run(add)
    return found


@dataclass(frozen=True, slots=True)
class _ScopeFiles:
    """The keys of one scope; implements `KeyedFiles`."""

    scope: Scope
    keys: Sequence[KeyColumn]
    reader: FileReader
    sequences: Sequences

    @property
    def is_bounded(self) -> bool:
        """Whether row groups may be skipped by the bounds of the first key column."""
        return self.keys[0].depth == 0 and self.keys[0].type.root in _BOUNDED

    @property
    def files(self) -> int:
        """The number of data files."""
        return len(self.scope.files)

    @property
    def deleted_bytes(self) -> int:
        """Bytes of the delete files."""
        return sum(file.size for file in self.scope.deletes)

    def deletes(self, piece_bytes: int) -> Iterator[pa.Table]:
        """The keys of all deletes, with their sequence numbers."""
        for file in self.scope.deletes:
            for batch in self.reader.batches(file, self._request(piece_bytes, EVERYTHING)):
                keys = key_table(batch, self.keys)
                yield keys.append_column(SEQUENCE, pa.array(self.sequences.of(file, batch)))

    def rows(
        self, number: int, piece_bytes: int, keys: KeyRange, among: FirstKeys | None
    ) -> Iterator[tuple[pa.Table, IntPart, IntPart]]:
        """The keys of the rows of a data file, their positions and sequence numbers."""
        file, request = self.scope.files[number], self._request(piece_bytes, keys, among)
        bounds = file.key_bounds.get(self.keys[0].column.id)
        if among is not None and bounds is not None and not among.any_within(*bounds):
            return
        positions = self.reader.positions(file, request)
        for batch in self.reader.batches(file, request):
            sequences = self.sequences.of(file, batch)
            yield key_table(batch, self.keys), positions.take(batch.num_rows), sequences

    def _request(self, piece_bytes: int, keys: KeyRange, among: FirstKeys | None = None) -> Request:
        columns = [*(each.column for each in self.keys), *self.sequences.columns]
        key = None if keys is EVERYTHING else self.keys[0].column
        return Request(columns, piece_bytes, key=key, keys=keys, among=among)
