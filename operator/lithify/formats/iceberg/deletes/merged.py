"""How a minor task finds out what it deletes of files that stay: implements `AppliedDeletes`.

Called by tasks that write no rows. A data file is left out of which nothing deletes a row that its own delete
files do not delete already, and whose positions are in one place. Each delete file is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lithify.engine.rewrite.budget import Budget
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.equality.anti_join import deleted_by_equality
from lithify.formats.iceberg.deletes.positions import DeletedPositions, deleted_positions
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile


@dataclass(frozen=True, slots=True)
class MergedDeletes:
    """The positions of new delete files.

    Attributes:
        has_vectors: whether they become vectors, which have all positions of a data file. A position delete
            file lacks those of older ones for the data file alone, and may have none: `write_deletes` reads
            them, and decides.
        moved: paths of the delete files of which positions are written again, whatever is new.
    """

    has_vectors: bool
    moved: frozenset[str] = frozenset()
    files: tuple[DeleteFile, ...] = ()

    def positions(
        self, files: Sequence[DataFile], reader: FileReader, schema: Schema, budget: Budget, folder: Path
    ) -> DeletedPositions:
        """The positions of deleted rows; see `deleted_positions`."""
        taken = [replace(file, deletes=tuple(filter(self._is_taken, file.deletes))) for file in files]
        known = deleted_positions(taken, reader, schema, budget, folder)
        equal = deleted_by_equality(files, reader, schema, budget, folder)
        found, none = {}, bitmap_of()
        for file in files:
            old, new = known.get(file.path, none), equal.get(file.path, none)
            is_due = len(file.own_positions) > 1 or any(each.path in self.moved for each in file.deletes)
            if is_due or not new <= old:
                found[file.path] = old | new
        return found

    def _is_taken(self, delete: DeleteFile) -> bool:
        """Whether the positions of a delete file are read: for vectors always, else if the file goes."""
        is_needed = self.has_vectors or delete.path in self.moved
        return is_needed and delete.content is Content.POSITION_DELETES
