"""How a task finds out which rows are deleted: by the delete files of its data files, or as a format says.

Travels with tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lithify.engine.rewrite.budget import Budget
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.deletes.positions import DeletedPositions, deleted_positions
from lithify.formats.iceberg.model import DataFile, DeleteFile


class AppliedDeletes(Protocol):
    """Finds the deleted rows of data files."""

    @property
    def files(self) -> Sequence[DeleteFile]:
        """The files that are read for it, besides the deletes of the data files."""
        ...

    def positions(
        self, files: Sequence[DataFile], reader: FileReader, schema: Schema, budget: Budget, folder: Path
    ) -> DeletedPositions:
        """The positions of deleted rows; arguments and errors as of `deletes.positions`.

        Of files that a task keeps, only those that their delete files lack.
        """
        ...


@dataclass(frozen=True, slots=True)
class DeletesOfFiles:
    """The deletes that the manifests name for each data file; implements `AppliedDeletes`."""

    files: tuple[DeleteFile, ...] = ()

    def positions(
        self, files: Sequence[DataFile], reader: FileReader, schema: Schema, budget: Budget, folder: Path
    ) -> DeletedPositions:
        """The positions of deleted rows; see `deleted_positions`."""
        return deleted_positions(files, reader, schema, budget, folder)
