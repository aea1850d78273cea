"""Manifest files as columns: one row per entry, decoded field by field instead of entry by entry.

Called by `manifests`. `metadata_files` unpacks the container, with bounds on everything that a damaged or
hostile file could inflate; `record_columns` decodes a few blocks at a time, by `avro_columns`. Fields are
looked up by name, so manifests of every version look alike: a field that a version lacks is null.

A frame with statistics has everything that entries have. Without statistics it is narrow, so that the files
of a whole table fit into memory, however many columns the table has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from string import ascii_letters
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from lithify.columns.avro_columns import rows_as_columns
from lithify.columns.column_groups import Numbers, whole
from lithify.columns.row_lanes import ByteBlock
from lithify.files.avro.metadata_files import unpack
from lithify.files.avro.record_columns import check_ranges, decoded_rows, fields_of
from lithify.formats.paimon.manifests.entries import ENTRY_VERSION, check_kind, check_version
from lithify.formats.paimon.model import LATEST_MILLIS
from lithify.io.file_names import FORBIDDEN, MOST_BYTES, shown

_FEW = 64
"""Number of entries up to which decoding them one by one is faster."""
_HEAD = bytes([2 * ENTRY_VERSION])
"""The first bytes of an entry: its version in Avro encoding."""
_NONE: Numbers = np.empty(0, dtype=np.int64)

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
OF_FILE: Columns = {
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
NARROW = pa.schema([*((name, kind) for name, (_, kind) in {**_OF_ENTRY, **OF_FILE}.items()), EARLIEST])
"""The columns of a frame without statistics."""
_STATISTICS: Columns = {**_OF_FILE_STATISTICS, **_OF_KEY_STATS, **_OF_VALUE_STATS}
_WITH_STATISTICS = pa.schema([*NARROW, *((name, kind) for name, (_, kind) in _STATISTICS.items())])


def _stored(*columns: Columns, **records: pa.DataType) -> pa.StructType:
    """The record fields for some columns, and the nested records."""
    fields = [field for group in columns for field in group.values()]
    return pa.struct([*fields, *records.items()])


def _stored_entry(*of_file: Columns, **records: pa.DataType) -> pa.StructType:
    return _stored({"version": ("_VERSION", pa.int32()), **_OF_ENTRY}, _FILE=_stored(*of_file, **records))


_STORED = _stored_entry(OF_FILE)
_STORED_WITH_STATISTICS = _stored_entry(
    OF_FILE,
    _OF_FILE_STATISTICS,
    _KEY_STATS=_stored(_OF_KEY_STATS),
    _VALUE_STATS=_stored(_OF_VALUE_STATS),
)
_OF_LOWEST: Columns = {"value_min": _OF_VALUE_STATS["value_min"]}
_OF_STORED: Columns = {"value_stats_columns": _OF_FILE_STATISTICS["value_stats_columns"]}
_STORED_WITH_LOWEST = _stored_entry(OF_FILE, _OF_STORED, _VALUE_STATS=_stored(_OF_LOWEST))
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
    wanted = _wanted(statistics=statistics, earliest=earliest)

    def decode(blocks: list[tuple[int, bytes]]) -> pa.StructArray:
        return rows_as_columns(unpacked.schema, blocks, wanted, row_starts)

    try:
        rows = decoded_rows(unpacked, wanted, decode, _FEW)
        parts = [_flat(each, statistics=statistics, earliest=earliest) for each in rows]
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise ValueError(str(error)) from error
    return pa.concat_tables([empty(statistics=statistics), *parts]).combine_chunks()


def empty(*, statistics: bool = False) -> pa.Table:
    """A frame without rows."""
    return (_WITH_STATISTICS if statistics else NARROW).empty_table()


def _wanted(*, statistics: bool, earliest: Earliest | None) -> pa.StructType:
    """The fields of an entry to decode."""
    if statistics:
        return _STORED_WITH_STATISTICS
    return _STORED if earliest is None else _STORED_WITH_LOWEST


def row_starts(block: ByteBlock, prefix: bytes) -> Numbers:
    """All offsets where an entry may start: version, kind and partition look like those of the first entry.

    The kind is a number, which is 0 or 1. The partition is a BinaryRow, which begins with its arity.
    """
    octets, head = block.octets, prefix + _HEAD
    width = len(head)
    if not block.size or bytes(octets[:width]) != head:
        return _NONE
    places = np.flatnonzero(octets[: block.size] == head[0])
    for number in range(1, width):
        places = places[octets[places + number] == head[number]]
    places = places[(octets[places + width] & 0xFD) == 0]
    rows = places + width + 2 + (octets[places + width + 1] >> 7)
    rows = np.minimum(rows, block.size)
    arities = block.words[rows] & np.uint64(0xFFFF_FFFF)
    return cast(Numbers, places[arities == arities[:1]])


def _flat(rows: pa.StructArray, *, statistics: bool, earliest: Earliest | None) -> pa.Table:
    """Flattens the records of a manifest to the columns of a frame."""
    entry = fields_of(rows)
    for version in pc.unique(entry["_VERSION"]).to_pylist():
        check_version(version, ENTRY_VERSION)
    for kind in pc.unique(entry["_KIND"]).to_pylist():
        check_kind(kind)
    file = fields_of(entry["_FILE"])
    columns = [*_columns(entry, _OF_ENTRY), *_columns(file, OF_FILE)]
    columns.append(_earliest(file, None if statistics else earliest))
    if statistics:
        columns += [
            *_columns(file, _OF_FILE_STATISTICS),
            *_columns(fields_of(file["_KEY_STATS"]), _OF_KEY_STATS),
            *_columns(fields_of(file["_VALUE_STATS"]), _OF_VALUE_STATS),
        ]
    frame = pa.table(columns, schema=_WITH_STATISTICS if statistics else NARROW)
    _check_names(whole(frame["name"]))
    _check_names(whole(frame["extra_files"]).flatten().drop_null())
    _check_ranges(frame)
    return frame


def _earliest(file: Mapping[str, pa.Array], earliest: Earliest | None) -> pa.Array:
    if earliest is None:
        return pa.nulls(len(file["_FILE_NAME"]), EARLIEST.type)
    lowest = fields_of(file["_VALUE_STATS"])
    columns = {
        "schema_id": file["_SCHEMA_ID"],
        **dict(zip(_OF_STORED, _columns(file, _OF_STORED), strict=True)),
        **dict(zip(_OF_LOWEST, _columns(lowest, _OF_LOWEST), strict=True)),
    }
    return earliest(pa.table(columns))


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
    check_ranges(frame, _RANGES, "a file")
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
