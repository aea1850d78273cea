"""Frames of live files as manifests give them, made of the files that tests of planning work with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa

from lithify.formats.paimon.manifests.entry_columns import NARROW
from lithify.formats.paimon.manifests.entry_objects import PLANNED
from lithify.formats.paimon.manifests.vector_columns import VECTOR_COLUMNS
from lithify.formats.paimon.model import Bucket, BucketId, DataFile

SCHEMA = pa.schema([*(NARROW.field(name) for name in ("partition", "bucket", *PLANNED)), *VECTOR_COLUMNS])
_PLANNED = attrgetter(*PLANNED)


def _planned(file: DataFile) -> tuple[Any, ...]:
    return *_PLANNED(file), file.vector_file, file.deleted_rows if file.vector_file else None


def path_of(partition: bytes, number: int) -> BucketId:
    """A bucket whose partition is its path, empty without partitions."""
    return BucketId(partition, number, f"{partition.decode()}/bucket-{number}".removeprefix("/"))


def live_files(buckets: Iterable[Bucket]) -> pa.Table:
    """The files of some buckets. Their key bounds are order keys already, not rows."""
    rows = [(each.id.partition, each.id.bucket, *_planned(file)) for each in buckets for file in each.files]
    return frame(rows, SCHEMA)


def files_of_one(files: Iterable[DataFile]) -> pa.Table:
    """The files of one bucket."""
    return frame([(b"", 3, *_planned(file)) for file in files], SCHEMA)


def frame(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Rows as a table."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table(list(map(pa.array, columns, schema.types)), schema=schema)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
