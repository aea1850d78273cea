"""Files of Paimon's tables without a key, as planning sees them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lithify.columns.order_key import OrderKey
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from support.merge_trees import MIDNIGHT_MILLIS
from support.packed_files import File

KEYLESS = OrderKey(b"")


def file(
    name: str, size: int = 100, *, first: int = 0, rows: int = 10, created: int = MIDNIGHT_MILLIS
) -> DataFile:
    """A file without deleted rows."""
    return DataFile(
        name=name,
        size=size,
        rows=rows,
        level=0,
        min_key=KEYLESS,
        max_key=KEYLESS,
        min_sequence=first,
        max_sequence=first + rows - 1,
        created_millis=created,
        delete_rows=0,
    )


def marked(unmarked: DataFile, index: str = "index-1", deleted: int | None = 1) -> DataFile:
    """The file with this number of deleted rows; None if nobody has counted them."""
    return replace(unmarked, has_vector=True, vector_file=index, deleted_rows=deleted)


def bucket_of(files: Iterable[DataFile]) -> Bucket:
    return Bucket(BucketId(b"", 0, "bucket-0"), tuple(files), -1)


def data_file(plain: File) -> DataFile:
    """The file as Paimon's planners see it."""
    found = file(plain.name, plain.size, first=plain.first, rows=plain.rows, created=plain.created_millis)
    return marked(found, plain.vector_file, plain.deleted_rows) if plain.vector_file else found
