"""Data files in a temporary folder: written by Lithify's writer, read as its tasks read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.files.model import InputFile
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.data_files.reader import FileRun, Reading
from lithify.formats.paimon.data_files.writer import FileTarget, OpenDataFile
from lithify.formats.paimon.manifests.entries import FileMeta
from lithify.formats.paimon.options.table_options import read_options
from lithify.formats.paimon.schema.schema import Schema
from lithify.io.storage import Storage

LEVEL, CREATED = 5, 1_234_567
Rows = Sequence[dict[str, Any]]


def local_storage(*roots: Path) -> Storage:
    """Access to files; those in the roots may be deleted."""
    return storage_of(LocalFileIO(), [str(root) for root in roots])


def target(folder: Path, schema: Schema, options: dict[str, str] | None = None) -> FileTarget:
    return FileTarget(str(folder), LEVEL, schema, read_options(options or {}).files)


def table_of(schema: Schema, rows: Rows, dictionaries: Sequence[str] = ()) -> pa.Table:
    """Rows as the merge hands them out; sequence number and row kind are 1 and +I unless given."""
    plain = [{"_SEQUENCE_NUMBER": 1, "_VALUE_KIND": 0, **row} for row in rows]
    return pa.Table.from_pylist(plain, schema=schema.rows_schema(dictionaries))


def open_file(folder: Path, schema: Schema, options: dict[str, str] | None = None) -> OpenDataFile:
    to = target(folder, schema, options)
    return OpenDataFile(to.name("writer", 0), to, local_storage(folder), lambda: CREATED)


def write(
    folder: Path,
    schema: Schema,
    groups: Sequence[Rows],
    options: dict[str, str] | None = None,
    dictionaries: Sequence[str] = (),
) -> FileMeta:
    """Writes a file, one row group for each group of rows."""
    file = open_file(folder, schema, options)
    for rows in groups:
        file.write(table_of(schema, rows, dictionaries))
    return file.close()


def input_file(folder: Path, meta: FileMeta, *, run: int = 0, is_inside: bool = True) -> InputFile:
    return InputFile(f"{folder}/{meta.name}", meta.size, meta.rows, meta.schema_id, run, is_inside)


def reading(
    files: Sequence[InputFile],
    schemas: Sequence[Schema],
    plain: Sequence[str],
    keys: KeyRange = EVERYTHING,
    shredding: dict[str, str] | None = None,
) -> Reading:
    """How the files are read; the last of the schemas is the newest, `shredding` are options of new files."""
    options = read_options(shredding or {}).files.parquet.variants
    by_id = {schema.id: schema for schema in schemas if schema.id in {file.schema_id for file in files}}
    return Reading(files, by_id, schemas[-1], plain, local_storage(), keys, options=options)


def read(
    files: Sequence[InputFile],
    schemas: Sequence[Schema],
    *,
    plain: Sequence[str] | None = None,
    keys: KeyRange = EVERYTHING,
    piece_bytes: int = 1 << 20,
) -> list[dict[str, Any]]:
    """The rows of files as one run."""
    how = reading(files, schemas, schemas[-1].primary_key if plain is None else plain, keys)
    rows = []
    for piece in FileRun(files, how).pieces(piece_bytes):
        piece.rows.validate(full=True)
        assert piece.rows.schema == how.schema
        rows += piece.rows.to_pylist()
    return rows
