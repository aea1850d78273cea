"""Where and how the tasks of a plan write new files, whatever the kind of table.

Called by the planners, on the driver.
"""

from __future__ import annotations

from lithify.tables.files.options import FileOptions
from lithify.tables.model import BucketId
from lithify.tables.paimon.data_files.writer import FileTarget
from lithify.tables.paimon.table import PaimonTable


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
