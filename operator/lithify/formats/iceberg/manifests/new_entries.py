"""Entries for the files that a snapshot adds.

Called by the commit. There are as many as a compaction writes files, so they are made of objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from lithify.files.avro.encoding import Cells, encode_rows
from lithify.formats.iceberg.manifests.entries import ADDED, Entries
from lithify.formats.iceberg.manifests.partition_types import (
    PartitionType,
    partition_struct,
    physical_of,
)
from lithify.formats.iceberg.model import Content, FileMetrics, NewDataFile, NewDeleteFile, Partition

NewFile: TypeAlias = NewDataFile | NewDeleteFile

_KEY = pa.field("key", pa.int32(), nullable=False)


def _pairs(value: pa.DataType) -> pa.DataType:
    """The type of a map that Avro stores as an array of keys and values."""
    return pa.list_(
        pa.field("element", pa.struct([_KEY, pa.field("value", value, nullable=False)]), nullable=False)
    )


_COUNTS, _BYTES = _pairs(pa.int64()), _pairs(pa.binary())
_OFFSETS = pa.list_(pa.field("element", pa.int64(), nullable=False))
_METRICS: Mapping[str, tuple[str, pa.DataType]] = {
    "column_sizes": ("column_sizes", _COUNTS),
    "value_counts": ("value_counts", _COUNTS),
    "null_value_counts": ("null_counts", _COUNTS),
    "nan_value_counts": ("nan_counts", _COUNTS),
    "lower_bounds": ("lower_bounds", _BYTES),
    "upper_bounds": ("upper_bounds", _BYTES),
}


def added_data_files(
    files: Sequence[NewDataFile], partition: PartitionType, snapshot_id: int, sequence: int | None
) -> Entries:
    """Entries of added data files.

    Args:
        files: the files, all of one spec.
        partition: the fields of that spec.
        snapshot_id: the snapshot that adds them.
        sequence: their data sequence number; None for that of the commit.
    """
    further = {
        "split_offsets": _column(files, lambda file: list(file.split_offsets) or None, _OFFSETS),
        "sort_order_id": _column(files, lambda file: file.sort_order_id, pa.int32()),
    }
    return _added(files, Content.DATA, partition, snapshot_id, sequence, further)


def added_delete_files(
    files: Sequence[NewDeleteFile], partition: PartitionType, snapshot_id: int, sequence: int | None
) -> Entries:
    """Entries of added position delete files and vectors, with the arguments of `added_data_files`."""
    further = {
        "referenced_data_file": _column(files, lambda file: file.referenced, pa.string()),
        "content_offset": _column(files, lambda file: file.offset, pa.int64()),
        "content_size_in_bytes": _column(files, lambda file: file.length, pa.int64()),
    }
    return _added(files, Content.POSITION_DELETES, partition, snapshot_id, sequence, further)


def _added(
    files: Sequence[NewFile],
    content: Content,
    partition: PartitionType,
    snapshot_id: int,
    sequence: int | None,
    further: Mapping[str, pa.Array],
) -> Entries:
    count = len(files)
    rows = pa.table(
        {
            "status": pa.array(np.full(count, ADDED, dtype=np.int32)),
            "snapshot_id": pa.array(np.full(count, snapshot_id, dtype=np.int64)),
            "sequence_number": pa.array([sequence] * count, pa.int64()),
            "file_sequence_number": pa.nulls(count, pa.int64()),
            "content": pa.array(np.full(count, content, dtype=np.int32)),
            "file_path": _column(files, lambda file: file.path, pa.string()),
            "file_format": _column(files, lambda file: file.format.upper(), pa.string()),
            "record_count": _column(files, lambda file: file.rows, pa.int64()),
            "file_size_in_bytes": _column(files, lambda file: file.size, pa.int64()),
            "first_row_id": pa.nulls(count, pa.int64()),
        }
    )
    columns = {**_metrics([file.metrics for file in files]), **further}
    encoded: dict[tuple[str, ...], Cells] = {(name,): _cells(each) for name, each in columns.items()}
    return Entries(rows, _partitions([file.partition for file in files], partition), partition, encoded)


def _column(files: Sequence[Any], value: Callable[[Any], Any], kind: pa.DataType) -> pa.Array:
    return pa.array([value(file) for file in files], kind)


def _metrics(metrics: Sequence[FileMetrics]) -> dict[str, pa.Array]:
    return {
        name: pa.array([[*getattr(each, attribute).items()] or None for each in metrics], kind)
        for name, (attribute, kind) in _METRICS.items()
    }


def _partitions(partitions: Sequence[Partition], fields: PartitionType) -> pa.StructArray:
    """Partitions as physical values."""
    kind = partition_struct(fields)
    columns = [
        pa.array([physical_of(each.values[place], field.type) for each in partitions], part.type)
        for place, (field, part) in enumerate(zip(fields, kind, strict=True))
    ]
    if not columns:
        return pa.array([{}] * len(partitions), kind)
    return pa.StructArray.from_arrays(columns, fields=list(kind))


def _cells(column: pa.Array) -> Cells:
    """A column of nullable values in Avro."""
    return Cells(*encode_rows([column], [True]))
