"""How a minor task finds out what it deletes of files that stay: implements `AppliedDeletes`.

Called by tasks that write no rows. A data file is left out of which no equality delete deletes a row that is
not deleted already, and whose positions are in one place.
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
            file needs new ones only, if there are any: `write_deletes` adds those of files that it replaces.
    """

    has_vectors: bool
    files: tuple[DeleteFile, ...] = ()

    def positions(
        self, files: Sequence[DataFile], reader: FileReader, schema: Schema, budget: Budget, folder: Path
    ) -> DeletedPositions:
        """The positions of deleted rows; see `deleted_positions`."""
        none = bitmap_of()
        known = deleted_positions(
            [_only(file, Content.POSITION_DELETES) for file in files], reader, schema, budget, folder
        )
        equal = deleted_by_equality(files, reader, schema, budget, folder)
        found = {}
        for file in files:
            old = known.get(file.path, none)
            new = equal.get(file.path, none) - old
            if self.has_vectors and (new or _is_scattered(file)):
                found[file.path] = old | new
            elif new:
                found[file.path] = new
            elif _is_scattered(file):
                own = replace(file, deletes=positions_of(file))
                found |= deleted_positions([own], reader, schema, budget, folder)
        return found


def positions_of(file: DataFile) -> tuple[DeleteFile, ...]:
    """The position delete files and vectors that are for a data file alone."""
    return tuple(each for each in file.deletes if each.referenced == file.path)


def _only(file: DataFile, content: Content) -> DataFile:
    return replace(file, deletes=tuple(each for each in file.deletes if each.content is content))


def _is_scattered(file: DataFile) -> bool:
    return len(positions_of(file)) > 1
