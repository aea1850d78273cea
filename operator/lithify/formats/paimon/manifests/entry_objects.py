"""Rows of a frame of manifest entries as objects: entries, and the files that planning needs.

Called by `manifests`, by views for buckets that may have work, and by observations. `entry_columns` makes the
frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lithify.columns.column_groups import listed, whole
from lithify.columns.order_key import OrderKey
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.formats.paimon.manifests.entries import (
    UNREAD,
    FileMeta,
    ManifestEntry,
    Stats,
)
from lithify.formats.paimon.manifests.entry_columns import OF_FILE
from lithify.formats.paimon.manifests.vector_columns import VECTOR_COLUMNS, has_vectors
from lithify.formats.paimon.model import DataFile

_OBJECTS = 1 << 10
"""Maximum number of rows that exist as Python values at a time."""

_BOUNDS = ("min_key", "max_key")
_NOT_OF_ENTRIES = ("handle", "has_vector", *VECTOR_COLUMNS.names)
PLANNED = tuple(name for name in DataFile.__slots__ if name not in _NOT_OF_ENTRIES)
"""The frame columns that planning needs, in the order of `DataFile`'s fields.

`VECTOR_COLUMNS` are optional.
"""

_LIST_FIELDS = ("extra_files", "value_stats_columns", "write_columns", "write_columns_sequences")
_PLAIN_FIELDS = tuple(name for name in OF_FILE if name not in _LIST_FIELDS)


def entries_of(frame: pa.Table) -> list[ManifestEntry]:
    """The rows of a frame as manifest entries; those of a narrow frame have `UNREAD` statistics."""
    has_statistics = "key_min" in frame.column_names
    parts = (frame.slice(start, _OBJECTS) for start in range(0, len(frame), _OBJECTS))
    return [_entry(row, has_statistics=has_statistics) for part in parts for row in part.to_pylist()]


def data_files(
    frame: pa.Table,
    keys: Callable[[pa.Array], Sequence[OrderKey]],
    handles: Sequence[int] | None = None,
) -> tuple[DataFile, ...]:
    """The files of a frame in the form that planning needs.

    Args:
        frame: live files.
        keys: converts key bounds to order keys.
        handles: handles of the files; by default their row numbers in the frame.

    Raises:
        CorruptTable: a key bound is null or cannot be read; the path is the file's name.
        UnsupportedTable: a key bound has no order; the table is the file's name.
    """
    try:
        columns = [keys(whole(frame[name])) if name in _BOUNDS else listed(frame[name]) for name in PLANNED]
    except (CorruptTable, UnsupportedTable) as error:
        raise _with_file(error, frame, keys) from error
    files = tuple(map(DataFile, *columns, range(len(frame)) if handles is None else handles))
    return _with_vectors(files, frame)


def _with_vectors(files: tuple[DataFile, ...], frame: pa.Table) -> tuple[DataFile, ...]:
    if not has_vectors(frame):
        return files
    names, deleted = (listed(frame[name]) for name in VECTOR_COLUMNS.names)
    return tuple(
        file if name is None else replace(file, has_vector=True, vector_file=name, deleted_rows=rows)
        for file, name, rows in zip(files, names, deleted, strict=True)
    )


def _with_file(
    error: CorruptTable | UnsupportedTable,
    frame: pa.Table,
    keys: Callable[[pa.Array], Sequence[OrderKey]],
) -> CorruptTable | UnsupportedTable:
    """The error of the first file whose bounds have no order keys, with the file's name."""
    for row in range(len(frame)):
        file = frame.slice(row, 1)
        try:
            for name in _BOUNDS:
                keys(whole(file[name]))
        except CorruptTable as found:
            return CorruptTable(file["name"][0].as_py(), found.problem)
        except UnsupportedTable as found:
            return UnsupportedTable(file["name"][0].as_py(), found.reasons)
    return error


def _entry(row: Mapping[str, Any], *, has_statistics: bool) -> ManifestEntry:
    fields = {name: row[name] for name in _PLAIN_FIELDS}
    fields |= {name: _tuple(row.get(name)) for name in _LIST_FIELDS}
    key_stats = value_stats = UNREAD
    if has_statistics:
        key_stats = Stats(row["key_min"], row["key_max"], _tuple(row["key_nulls"]))
        value_stats = Stats(row["value_min"], row["value_max"], _tuple(row["value_nulls"]))
    return ManifestEntry(
        kind=row["kind"],
        partition=row["partition"],
        bucket=row["bucket"],
        total_buckets=row["total_buckets"],
        file=FileMeta(**fields, key_stats=key_stats, value_stats=value_stats),
    )


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
