"""Which rows of a keyed table are deleted by its change store, as readers of such tables say.

Called by tasks. Changes are ordered by transaction and then by the number of the change in it, which change
files have as a column. A row is deleted by a delete of its key that is strictly later (`ArcticDeleteFilter`,
`MixedDeleteFilter`); rows of base files are the last of their transaction. Two rows of a key stay two if no
delete is later. Position deletes of base files apply first; of base files that stay, only positions that they
lack are found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import integers
from lithify.columns.order import IntPart
from lithify.engine.rewrite.budget import Budget
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.types import ColumnType, Field
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.deletes.equality.anti_join import deleted_in_scope
from lithify.formats.iceberg.deletes.equality.scopes import Scope
from lithify.formats.iceberg.deletes.positions import DeletedPositions, deleted_positions
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile
from lithify.formats.mixed.units import KeyedFile, Subtree

FILE_OFFSET = Field("_file_offset", ColumnType("BIGINT"), 2147482645)
"""The number of a change in its transaction; a column of change files that no schema has."""

_OFFSET_BITS = 40
_MOST_OFFSET = (1 << _OFFSET_BITS) - 1
"""Offsets count the rows of one writer in one transaction; that of base files is above all of them."""


@dataclass(frozen=True, slots=True)
class ChangeSequences:
    """When rows and deletes were written, as one number each; implements `Sequences`.

    Attributes:
        ranks: the ranks of the files' transactions among those of the task, by path.
        change_files: paths of the files whose rows have an offset.
    """

    ranks: Mapping[str, int]
    change_files: frozenset[str]
    columns: tuple[Field, ...] = (FILE_OFFSET,)

    def of(self, file: DataFile | DeleteFile, rows: pa.RecordBatch) -> IntPart:
        """The number of each row: its transaction's rank, then its offset."""
        first = self.ranks[file.path] << _OFFSET_BITS
        if file.path not in self.change_files:
            return np.full(rows.num_rows, first + _MOST_OFFSET, dtype=np.int64)
        offsets = rows.column(rows.num_columns - 1)
        if offsets.null_count:
            raise CorruptTable(file.path, f"a row of a change file has no {FILE_OFFSET.name}")
        numbers = integers(offsets)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < _MOST_OFFSET:
            raise CorruptTable(file.path, f"{FILE_OFFSET.name} is negative, or has more than 40 bits")
        return first + numbers


@dataclass(frozen=True, slots=True)
class ChangeDeletes:
    """The deletes of a task; implements `AppliedDeletes`.

    Attributes:
        changes: its delete files of the change store, as equality deletes by the key.
        later: paths of the data files of which a row may be older than one of these deletes.
        sequences: when rows and deletes were written.
        kept: paths of the data files that stay, whose position deletes stay, too.
        disputed: position delete files that only some readers apply, by the paths of data files.
    """

    changes: tuple[DeleteFile, ...]
    later: frozenset[str] = field(default_factory=frozenset)
    sequences: ChangeSequences = field(default_factory=lambda: ChangeSequences({}, frozenset()))
    kept: frozenset[str] = field(default_factory=frozenset)
    disputed: Mapping[str, tuple[DeleteFile, ...]] = field(default_factory=dict)

    @property
    def files(self) -> tuple[DeleteFile, ...]:
        """The files that are read besides the deletes of data files."""
        return (*self.changes, *(delete for each in self.disputed.values() for delete in each))

    def positions(
        self, files: Sequence[DataFile], reader: FileReader, schema: Schema, budget: Budget, folder: Path
    ) -> DeletedPositions:
        """The positions of deleted rows; see `deletes.positions`.

        Raises:
            UnsupportedTable: a disputed delete file has positions of a data file.
        """
        self._check_disputed(files, reader, schema, budget, folder)
        known = deleted_positions(files, reader, schema, budget, folder)
        found = {path: positions for path, positions in known.items() if path not in self.kept}
        concerned = tuple(file for file in files if file.path in self.later)
        if not self.changes or not concerned:
            return found
        scope = Scope(self.changes[0].equality_ids, self.changes, concerned)
        changed = deleted_in_scope(scope, reader, schema, budget, folder / "changes", self.sequences)
        for path, positions in changed.items():
            if path not in known:
                found[path] = positions
            else:
                found[path] = positions - known[path] if path in self.kept else known[path] | positions
        return found

    def _check_disputed(
        self, files: Sequence[DataFile], reader: FileReader, schema: Schema, budget: Budget, folder: Path
    ) -> None:
        suspects = [
            replace(file, deletes=self.disputed[file.path]) for file in files if file.path in self.disputed
        ]
        for path in deleted_positions(suspects, reader, schema, budget, folder):
            names = ", ".join(delete.path for delete in self.disputed[path])
            problem = f"files that delete its rows are of another node, by their names: {names}"
            raise UnsupportedTable(path, (problem,))


def change_deletes(subtree: Subtree, key_ids: Sequence[int]) -> ChangeDeletes:
    """The deletes of a task.

    Args:
        subtree: its files.
        key_ids: field ids of the columns of the key.
    """
    files = (*subtree.rows, *subtree.kept, *subtree.deletes)
    transactions = sorted({each.transaction for each in files})
    ranks = {transaction: rank for rank, transaction in enumerate(transactions)}
    change_files = frozenset(each.file.path for each in (*subtree.inserts, *subtree.deletes))
    older = [each for each in (*subtree.base, *subtree.kept) if each.transaction < subtree.last_delete]
    older += [each for each in subtree.inserts if each.transaction <= subtree.last_delete]
    return ChangeDeletes(
        changes=tuple(_equality_delete(each, key_ids) for each in subtree.deletes),
        later=frozenset(each.file.path for each in older),
        sequences=ChangeSequences({each.file.path: ranks[each.transaction] for each in files}, change_files),
        kept=frozenset(each.file.path for each in subtree.kept),
        disputed={each.file.path: each.disputed for each in (*subtree.base, *subtree.kept) if each.disputed},
    )


def _equality_delete(each: KeyedFile, key_ids: Sequence[int]) -> DeleteFile:
    """A delete file of a change store as tasks read such files."""
    file = each.file
    return DeleteFile(
        path=file.path,
        size=file.size,
        rows=file.rows,
        content=Content.EQUALITY_DELETES,
        format=file.format,
        sequence=file.sequence,
        partition=file.partition,
        equality_ids=tuple(sorted(key_ids)),
    )
