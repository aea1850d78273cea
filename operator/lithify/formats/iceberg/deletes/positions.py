"""Deleted positions of data files: vectors, position deletes and equality deletes, united in bitmaps.

Called by tasks before they read rows. Each delete file is read once, however many data files it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lithify.engine.rewrite.budget import Budget
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.deletes.equality.anti_join import deleted_by_equality
from lithify.formats.iceberg.deletes.position_files import read_positions
from lithify.formats.iceberg.deletes.puffin import read_vector_of
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile

if TYPE_CHECKING:
    from pyroaring import BitMap64

DeletedPositions = Mapping[str, "BitMap64"]
"""Bitmaps of deleted positions, by the paths of data files; files without deleted rows are left out."""


def deleted_positions(
    files: Sequence[DataFile], reader: FileReader, schema: Schema, budget: Budget, folder: Path
) -> DeletedPositions:
    """The positions of deleted rows of data files.

    Args:
        files: data files with the deletes that apply to them. Several vectors of one file are united, and
            also with its position deletes: a position is never both deleted and live.
        reader: reads files of the table.
        schema: the table's schema.
        budget: memory to use.
        folder: an existing local folder for what does not fit into memory.

    Raises:
        MissingFile: a file does not exist.
        CorruptTable: a file is damaged, or deletes rows that there are not.
        UnsupportedTable: equality deletes compare a column that this release cannot compare.
        StorageError: the local disk is full or refuses.
    """
    found: dict[str, BitMap64] = {}

    def add(path: str, positions: BitMap64) -> None:
        if positions:
            found[path] = found[path] | positions if path in found else positions

    for file in files:
        for each in file.deletes:
            if each.is_vector:
                add(file.path, read_vector_of(reader.storage, each, file.path, file.rows))
    for delete, concerned in _position_files(files).values():
        for path, positions in read_positions(reader, delete, concerned).items():
            add(path, positions)
    for path, positions in deleted_by_equality(files, reader, schema, budget, folder).items():
        add(path, positions)
    return found


def _position_files(files: Sequence[DataFile]) -> dict[str, tuple[DeleteFile, dict[str, int]]]:
    """The position delete files by path, each with the data files to which it applies and their rows."""
    found: dict[str, tuple[DeleteFile, dict[str, int]]] = {}
    for file in files:
        for each in file.deletes:
            if each.content is Content.POSITION_DELETES and not each.is_vector:
                found.setdefault(each.path, (each, {}))[1][file.path] = file.rows
    return found
