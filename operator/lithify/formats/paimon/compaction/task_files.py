"""The input files of a plan's tasks, and the targets of their new files, whatever the kind of table.

Called by the planners, on the driver.
"""

from __future__ import annotations

from collections.abc import Iterable

from lithify.files.model import InputFile, VectorLocation
from lithify.files.options import FileOptions
from lithify.formats.paimon.data_files.writer import FileTarget
from lithify.formats.paimon.manifests.entries import ManifestEntry
from lithify.formats.paimon.model import BucketId, DataFile
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.paimon.table import PaimonTable


def input_of(
    table: PaimonTable,
    entry: ManifestEntry,
    *,
    vector: VectorLocation | None = None,
    is_copyable: bool = False,
) -> InputFile:
    """A data file to be read by a task whose files are one run; see `InputFile`."""
    file = entry.file
    return InputFile(
        path=table.path(entry),
        size=file.size,
        rows=file.rows,
        schema_id=file.schema_id,
        run=0,
        vector=vector,
        is_copyable=is_copyable,
    )


def schemas_of(table: PaimonTable, files: Iterable[DataFile]) -> dict[int, Schema]:
    """The schemas of some files, by id."""
    return {file.schema_id: table.schema_of(file.schema_id) for file in files}


def target_of(table: PaimonTable, bucket: BucketId, options: FileOptions, level: int = 0) -> FileTarget:
    """Where and how a task writes the files of a bucket.

    Args:
        table: the table.
        bucket: the bucket.
        options: the options for files of the level; in tables without a primary key all levels have the same.
        level: the level of the files.
    """
    return FileTarget(
        folder=table.folder(bucket),
        level=level,
        schema=table.schema,
        options=options,
        external_paths=table.locations.external_paths(bucket),
        indexes=table.options.indexes,
    )
