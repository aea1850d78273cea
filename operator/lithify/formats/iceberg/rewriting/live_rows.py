"""The live rows of data files, in the columns of the target.

Called by `packing` and by tasks that sort. Holds one batch of one file, besides the bitmaps of deleted rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.row_positions import is_deleted
from lithify.formats.iceberg.data_files.reader import FileReader, Request
from lithify.formats.iceberg.data_files.schema import LINEAGE
from lithify.formats.iceberg.deletes.positions import DeletedPositions
from lithify.formats.iceberg.model import DataFile
from lithify.formats.iceberg.rewriting.lineage import inherited, with_inherited
from lithify.formats.iceberg.rewriting.target import WriteTarget


class LiveRows:
    """Reads rows that are not deleted.

    Args:
        reader: reads files of the table.
        target: the columns of the rows.
        deleted: positions of deleted rows.
        budget: memory of the task.
        dictionaries: names of text columns to read with dictionaries.
    """

    def __init__(
        self,
        reader: FileReader,
        target: WriteTarget,
        deleted: DeletedPositions,
        budget: Budget,
        dictionaries: Collection[str] = (),
    ) -> None:
        self._reader = reader
        self._target = target
        self._deleted = deleted
        self._budget = budget
        self._dictionaries = dictionaries
        self._columns = target.columns
        self._own_columns = target.schema.stored()

    def of(
        self, file: DataFile, row_groups: Collection[int] | None = None, *, most: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The live rows of a file, or of some row groups of it.

        Args:
            file: the file.
            row_groups: their numbers, None for all.
            most: upper bound of a batch's bytes; None for what the budget allows.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read.
        """
        piece = most or self._budget.piece_bytes([self._reader.overhead(file)])
        has_lineage = self._target.has_lineage
        is_inherited = bool(self._own_columns) and has_lineage and not self._stores_lineage(file)
        columns = self._own_columns if is_inherited else self._columns
        request = Request(columns, piece, row_groups, self._dictionaries)
        complete = with_inherited if is_inherited else inherited
        deleted = self._deleted.get(file.path)
        if deleted is None and not has_lineage:
            yield from self._reader.batches(file, request)
            return
        positions = self._reader.positions(file, request)
        for batch in self._reader.batches(file, request):
            rows, at = batch, positions.take(batch.num_rows)
            if deleted is not None:
                stays = np.flatnonzero(~is_deleted(at, deleted))
                if len(stays) < len(at):  # places of rows are found once, not for each column
                    rows = pc.take(batch, pa.array(stays), boundscheck=False)
                    at = at[stays] if has_lineage else at
            if rows.num_rows:
                yield complete(rows, file, at) if has_lineage else rows

    def _stores_lineage(self, file: DataFile) -> bool:
        """Whether a file has a lineage column; most have none, and then no empty ones are filtered."""
        stored = {column.id for column in self._reader.stored(file.path)}
        return any(field.id in stored for field in LINEAGE)
