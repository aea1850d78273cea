"""Manifest files as columns: one row per entry, decoded field by field instead of entry by entry.

Called by `manifests`. `metadata_files` unpacks the container, with bounds on everything that a damaged or
hostile file could inflate; `avro_columns` decodes a few blocks at a time. Blocks that it cannot decode, and
very small ones, are decoded entry by entry with fastavro; the results are the same. Fields are looked up by
name, so manifests of every version look alike: a field that a version lacks is null.

A frame with statistics has everything that entries have. Without statistics it is narrow, so that the files
of a whole table fit into memory, however many columns the table has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from string import ascii_letters
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.tables.model import DataFile, OrderKey
from lithify.tables.paimon.layout.file_names import FORBIDDEN, MOST_BYTES, shown
from lithify.tables.paimon.metadata.avro_columns import Unsure, rows_as_columns
from lithify.tables.paimon.metadata.column_groups import (
    PLACE,
    ColumnGroups,
    flagged,
    flags,
    integers,
    is_among,
    listed,
    taken,
    whole,
    with_columns,
)
from lithify.tables.paimon.metadata.entries import (
    ADD,
    ENTRY_VERSION,
    UNREAD,
    FileMeta,
    ManifestEntry,
    Stats,
    check_kind,
)
from lithify.tables.paimon.metadata.entry_selection import EntrySelection
from lithify.tables.paimon.metadata.metadata_files import Unpacked, check_version, unpack
from lithify.tables.paimon.metadata.snapshot_files import LATEST_MILLIS
from lithify.tables.paimon.metadata.vector_columns import VECTOR_COLUMNS, has_vectors

_AT_A_TIME = 2 << 20
"""Bytes of uncompressed entries that are decoded at a time: decoded entries take many times as much memory.
"""

_FEW = 64
"""Number of entries up to which decoding them one by one is faster."""
_MOST_AT_ONCE = 8 << 20
"""Maximum bytes of entries that are decoded by columns; this takes about 30 times as much memory."""
_OBJECTS = 1 << 10
"""Maximum number of entries that exist as objects at a time."""
_HEAD = bytes([2 * ENTRY_VERSION])
"""The first bytes of an entry: its version in Avro encoding."""

Columns = Mapping[str, tuple[str, pa.DataType]]
"""Name and type of each column, and its field in the manifest."""

_TEXTS = pa.list_(pa.string())
_NUMBERS = pa.list_(pa.int64())
_OF_ENTRY: Columns = {
    "kind": ("_KIND", pa.int32()),
    "partition": ("_PARTITION", pa.binary()),
    "bucket": ("_BUCKET", pa.int32()),
    "total_buckets": ("_TOTAL_BUCKETS", pa.int32()),
}
_OF_FILE: Columns = {
    "name": ("_FILE_NAME", pa.string()),
    "size": ("_FILE_SIZE", pa.int64()),
    "rows": ("_ROW_COUNT", pa.int64()),
    "min_key": ("_MIN_KEY", pa.binary()),
    "max_key": ("_MAX_KEY", pa.binary()),
    "min_sequence": ("_MIN_SEQUENCE_NUMBER", pa.int64()),
    "max_sequence": ("_MAX_SEQUENCE_NUMBER", pa.int64()),
    "schema_id": ("_SCHEMA_ID", pa.int64()),
    "level": ("_LEVEL", pa.int32()),
    "extra_files": ("_EXTRA_FILES", _TEXTS),
    "created_millis": ("_CREATION_TIME", pa.int64()),
    "delete_rows": ("_DELETE_ROW_COUNT", pa.int64()),
    "embedded_index": ("_EMBEDDED_FILE_INDEX", pa.binary()),
    "source": ("_FILE_SOURCE", pa.int32()),
    "external_path": ("_EXTERNAL_PATH", pa.string()),
    "first_row_id": ("_FIRST_ROW_ID", pa.int64()),
    "write_columns": ("_WRITE_COLS", _TEXTS),
}
_OF_FILE_STATISTICS: Columns = {
    "value_stats_columns": ("_VALUE_STATS_COLS", _TEXTS),
    "write_columns_sequences": ("_WRITE_COLS_SEQUENCES", _NUMBERS),
}
_OF_KEY_STATS: Columns = {
    "key_min": ("_MIN_VALUES", pa.binary()),
    "key_max": ("_MAX_VALUES", pa.binary()),
    "key_nulls": ("_NULL_COUNTS", _NUMBERS),
}
_OF_VALUE_STATS: Columns = {
    "value_min": ("_MIN_VALUES", pa.binary()),
    "value_max": ("_MAX_VALUES", pa.binary()),
    "value_nulls": ("_NULL_COUNTS", _NUMBERS),
}
_NULLABLE = frozenset(
    {"delete_rows", "embedded_index", "source", "external_path", "first_row_id", "write_columns"}
    | {"value_stats_columns", "write_columns_sequences", "key_nulls", "value_nulls"}
)

EARLIEST = pa.field("earliest", pa.int64())
"""The earliest time of a file's rows (`earliest_times`); null for tables without record-level expiry."""
NARROW = pa.schema([*((name, kind) for name, (_, kind) in {**_OF_ENTRY, **_OF_FILE}.items()), EARLIEST])
"""The columns of a frame without statistics."""
_STATISTICS: Columns = {**_OF_FILE_STATISTICS, **_OF_KEY_STATS, **_OF_VALUE_STATS}
_WITH_STATISTICS = pa.schema([*NARROW, *((name, kind) for name, (_, kind) in _STATISTICS.items())])
_NOT_OF_ENTRIES = ("handle", "has_vector", *VECTOR_COLUMNS.names)
PLANNED = tuple(name for name in DataFile.__slots__ if name not in _NOT_OF_ENTRIES)
"""The frame columns that planning needs, in the order of `DataFile`'s fields.

`VECTOR_COLUMNS` are optional.
"""


def _stored(*columns: Columns, **records: pa.DataType) -> pa.StructType:
    """The record fields for some columns, and the nested records."""
    fields = [field for group in columns for field in group.values()]
    return pa.struct([*fields, *records.items()])


def _stored_entry(*of_file: Columns, **records: pa.DataType) -> pa.StructType:
    return _stored({"version": ("_VERSION", pa.int32()), **_OF_ENTRY}, _FILE=_stored(*of_file, **records))


_STORED = _stored_entry(_OF_FILE)
_STORED_WITH_STATISTICS = _stored_entry(
    _OF_FILE,
    _OF_FILE_STATISTICS,
    _KEY_STATS=_stored(_OF_KEY_STATS),
    _VALUE_STATS=_stored(_OF_VALUE_STATS),
)
_OF_LOWEST: Columns = {"value_min": _OF_VALUE_STATS["value_min"]}
_OF_STORED: Columns = {"value_stats_columns": _OF_FILE_STATISTICS["value_stats_columns"]}
_STORED_WITH_LOWEST = _stored_entry(_OF_FILE, _OF_STORED, _VALUE_STATS=_stored(_OF_LOWEST))
"""The fields of a manifest's entries that are decoded."""

Earliest = Callable[[pa.Table], pa.Array]
"""Computes the earliest time of each row's file from `schema_id`, `value_stats_columns` and `value_min`."""

_RANGES = {
    "bucket": (-2, (1 << 31) - 1),
    "size": (0, 1 << 42),
    "rows": (0, 1 << 42),
    "schema_id": (0, (1 << 31) - 1),
    "level": (0, 1 << 20),
    "created_millis": (-LATEST_MILLIS // 5, LATEST_MILLIS),
    "delete_rows": (0, 1 << 42),
}
"""Valid ranges of a file's numbers. Times are local wall-clock times, in milliseconds since the epoch."""
_TEXT_BYTES = {"partition": 1 << 16, "min_key": 1 << 20, "max_key": 1 << 20, "name": 1 << 10}
"""Maximum length of a file's texts; stores limit the names of objects to 1 KiB."""

_IDENTITY = ("partition", "bucket", "level", "name", "extra_files", "embedded_index", "external_path")


def decode_entries(content: bytes, *, statistics: bool = False, earliest: Earliest | None = None) -> pa.Table:
    """Decodes the entries of a manifest file, in its order.

    Args:
        content: the bytes of the file.
        statistics: whether to keep the statistics of key and value columns.
        earliest: computes the column `earliest` of frames without statistics; None leaves it null.

    Returns:
        A frame with the columns of `NARROW` and, if requested, those of statistics.

    Raises:
        ValueError, LookupError, EOFError: it is not a manifest, or a damaged one.
    """
    unpacked = unpack(content, MANIFEST_ENTRY_SCHEMA)
    try:
        wanted = _wanted(statistics=statistics, earliest=earliest)
        parts = [_flat(rows, statistics=statistics, earliest=earliest) for rows in _decoded(unpacked, wanted)]
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise ValueError(str(error)) from error
    return pa.concat_tables([empty(statistics=statistics), *parts]).combine_chunks()


def empty(*, statistics: bool = False) -> pa.Table:
    """A frame without rows."""
    return (_WITH_STATISTICS if statistics else NARROW).empty_table()


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


_BOUNDS = ("min_key", "max_key")


def chosen(frame: pa.Table, selection: EntrySelection) -> pa.Table:
    """The rows of a frame that are selected, in their order."""
    if selection.names is not None:
        frame = frame.filter(pc.is_in(frame["name"], value_set=selection.names))
    groups = ColumnGroups(frame, PLACE)
    places = taken(frame.select(PLACE), groups.firsts)
    wanted = [selection.holds(*place) for place in zip(*map(listed, places.columns), strict=True)]
    return frame if all(wanted) else flagged(frame, np.array(wanted)[groups.numbers])


def live_of(frames: Iterable[pa.Table]) -> pa.Table:
    """The files that the manifests of one snapshot add and do not remove, in the order of their entries.

    Args:
        frames: the entries of the manifests, at least one frame.
    """
    added, removed = [], []
    for frame in frames:
        is_added = integers(frame["kind"]) == ADD
        added.append(flagged(frame, is_added))
        removed.append(flagged(frame.select(_IDENTITY), ~is_added))
    return without(pa.concat_tables(added), pa.concat_tables(removed))


def without(files: pa.Table, removed: pa.Table) -> pa.Table:
    """The rows of `files` without those that have the same identity as a row of `removed`, in their order.

    Identity is that of `ManifestEntry.identity`.
    """
    if not len(removed):
        return files
    rows = np.flatnonzero(flags(pc.is_in(files["name"], value_set=whole(removed["name"]))))
    alike = _comparable(taken(files.select(_IDENTITY), rows))
    is_gone = is_among(alike, _comparable(removed.select(_IDENTITY)), _COMPARED)
    stays = np.ones(len(files), dtype=bool)
    stays[rows[is_gone]] = False
    return flagged(files, stays)


_COMPARED = [*(name for name in _IDENTITY if name != "extra_files"), "extra_names"]


def _comparable(files: pa.Table) -> pa.Table:
    """Joins the names of extra files into one text, because lists cannot be compared."""
    return with_columns(files, extra_names=pc.binary_join(whole(files["extra_files"]), "\0"))


def _wanted(*, statistics: bool, earliest: Earliest | None) -> pa.StructType:
    """The fields of an entry to decode."""
    if statistics:
        return _STORED_WITH_STATISTICS
    return _STORED if earliest is None else _STORED_WITH_LOWEST


def _decoded(unpacked: Unpacked, wanted: pa.StructType) -> Iterator[pa.StructArray]:
    """The decoded rows of a manifest in portions, with the requested fields."""
    for blocks in unpacked.portions(_AT_A_TIME):
        if sum(rows for rows, _ in blocks) > _FEW and sum(len(data) for _, data in blocks) <= _MOST_AT_ONCE:
            with suppress(Unsure, pa.ArrowInvalid):
                yield rows_as_columns(unpacked.schema, blocks, wanted, _HEAD)
                continue
        records = unpacked.records(blocks)
        while part := list(islice(records, _OBJECTS)):
            yield pa.array(part, wanted)


def _flat(rows: pa.StructArray, *, statistics: bool, earliest: Earliest | None) -> pa.Table:
    """Flattens the records of a manifest to the columns of a frame."""
    entry = _fields(rows)
    for version in pc.unique(entry["_VERSION"]).to_pylist():
        check_version(version, ENTRY_VERSION)
    for kind in pc.unique(entry["_KIND"]).to_pylist():
        check_kind(kind)
    file = _fields(entry["_FILE"])
    columns = [*_columns(entry, _OF_ENTRY), *_columns(file, _OF_FILE)]
    columns.append(_earliest(file, None if statistics else earliest))
    if statistics:
        columns += [
            *_columns(file, _OF_FILE_STATISTICS),
            *_columns(_fields(file["_KEY_STATS"]), _OF_KEY_STATS),
            *_columns(_fields(file["_VALUE_STATS"]), _OF_VALUE_STATS),
        ]
    frame = pa.table(columns, schema=_WITH_STATISTICS if statistics else NARROW)
    _check_names(whole(frame["name"]))
    _check_names(whole(frame["extra_files"]).flatten().drop_null())
    _check_ranges(frame)
    return frame


def _earliest(file: Mapping[str, pa.Array], earliest: Earliest | None) -> pa.Array:
    if earliest is None:
        return pa.nulls(len(file["_FILE_NAME"]), EARLIEST.type)
    lowest = _fields(file["_VALUE_STATS"])
    columns = {
        "schema_id": file["_SCHEMA_ID"],
        **dict(zip(_OF_STORED, _columns(file, _OF_STORED), strict=True)),
        **dict(zip(_OF_LOWEST, _columns(lowest, _OF_LOWEST), strict=True)),
    }
    return earliest(pa.table(columns))


def _fields(record: pa.StructArray) -> dict[str, pa.Array]:
    """The fields of a record by name; null where the record is null."""
    return dict(zip((field.name for field in record.type), record.flatten(), strict=True))


def _check_names(names: pa.Array) -> None:
    """Checks that names are valid file names; like `file_names.check_file_name`, for a whole column."""
    lengths = pc.binary_length(names)
    is_right = pc.and_(_has_right_characters(names), pc.less_equal(lengths, MOST_BYTES))
    is_wrong = pc.or_(pc.invert(is_right), pc.is_in(names, value_set=pa.array(["", ".", ".."])))
    for name in names.filter(is_wrong).slice(0, 1).to_pylist():
        raise ValueError(f"{shown(name)} is no name of a file")


def _has_right_characters(names: pa.Array) -> pa.Array:
    """Mask of the names without forbidden characters; fast if all have only common characters."""
    start, end = names.offset, names.offset + len(names)
    bounds = np.frombuffer(names.buffers()[1], dtype=np.int32)[start : end + 1] if len(names) else [0, 0]
    content = names.buffers()[2] or b""
    if _IS_PLAIN[np.frombuffer(content, dtype=np.uint8)[bounds[0] : bounds[-1]]].all():
        return pa.array(np.ones(len(names), dtype=bool))
    return pc.match_substring_regex(names, _NAME)


_NAME = rf"\A[^{FORBIDDEN}]+\z"
_IS_PLAIN = np.isin(np.arange(256), list(b"-._=" + b"0123456789" + ascii_letters.encode()))
"""Lookup table of the bytes that are common in names and always allowed."""


def _check_ranges(frame: pa.Table) -> None:
    """Checks that numbers are in the ranges of real files: others would overflow sums or the calendar."""
    for name, (low, high) in _RANGES.items():
        found = pc.min_max(frame[name]).as_py()
        if found["min"] is not None and not low <= found["min"] <= found["max"] <= high:
            raise ValueError(f"{name} of a file is out of range")
    for name, limit in _TEXT_BYTES.items():
        most = pc.max(pc.binary_length(frame[name])).as_py()
        if most is not None and most > limit:
            raise ValueError(f"{name} of a file has {most} bytes")


def _columns(source: Mapping[str, pa.Array], wanted: Columns) -> Iterator[pa.Array]:
    for name, (field, _) in wanted.items():
        column = source[field].fill_null(0) if name == "created_millis" else source[field]
        if name not in _NULLABLE and column.null_count:
            raise ValueError(f"{field} is missing")
        yield column


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


_LIST_FIELDS = ("extra_files", "value_stats_columns", "write_columns", "write_columns_sequences")
_PLAIN_FIELDS = tuple(name for name in _OF_FILE if name not in _LIST_FIELDS)


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
