"""Manifest files as columns: one row for each entry, decoded by Polars instead of entry by entry in Python.

Called by `manifests`. The container is unpacked by `metadata_files`, with bounds on everything that a damaged
or hostile file could inflate, and handed to Polars uncompressed, a few blocks at a time: Polars does not know
the codec that Paimon uses (zstd), and it trusts the numbers that it finds. Fields are taken by name, so
manifests of every version look alike: a field that a version does not have is null.

A frame with statistics holds all that entries have. Without statistics it is narrow, so that the files of a
whole table fit into memory, however many columns the table has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.tables.model import DataFile, OrderKey
from lithify.tables.paimon.layout.file_names import FORBIDDEN, MOST_BYTES, shown
from lithify.tables.paimon.metadata.entries import (
    ADD,
    ENTRY_VERSION,
    UNREAD,
    Entry,
    FileMeta,
    Stats,
    check_kind,
)
from lithify.tables.paimon.metadata.entry_selection import EntrySelection
from lithify.tables.paimon.metadata.metadata_files import ROW, check_version, unpack
from lithify.tables.paimon.metadata.snapshot_files import LATEST_MILLIS

_AT_A_TIME = 2 << 20
"""Bytes of uncompressed entries that are decoded at a time: in memory they take many times as much."""

Columns = Mapping[str, tuple[str, pl.DataType]]
"""Name and type of a column, and the field of the manifest that it holds."""

_TEXTS = pl.List(pl.String)
_NUMBERS = pl.List(pl.Int64)
_OF_ENTRY: Columns = {
    "kind": ("_KIND", pl.Int32()),
    "partition": ("_PARTITION", pl.Binary()),
    "bucket": ("_BUCKET", pl.Int32()),
    "total_buckets": ("_TOTAL_BUCKETS", pl.Int32()),
}
_OF_FILE: Columns = {
    "name": ("_FILE_NAME", pl.String()),
    "size": ("_FILE_SIZE", pl.Int64()),
    "rows": ("_ROW_COUNT", pl.Int64()),
    "min_key": ("_MIN_KEY", pl.Binary()),
    "max_key": ("_MAX_KEY", pl.Binary()),
    "min_sequence": ("_MIN_SEQUENCE_NUMBER", pl.Int64()),
    "max_sequence": ("_MAX_SEQUENCE_NUMBER", pl.Int64()),
    "schema_id": ("_SCHEMA_ID", pl.Int64()),
    "level": ("_LEVEL", pl.Int32()),
    "extra_files": ("_EXTRA_FILES", _TEXTS),
    "created_millis": ("_CREATION_TIME", pl.Int64()),
    "delete_rows": ("_DELETE_ROW_COUNT", pl.Int64()),
    "embedded_index": ("_EMBEDDED_FILE_INDEX", pl.Binary()),
    "source": ("_FILE_SOURCE", pl.Int32()),
    "external_path": ("_EXTERNAL_PATH", pl.String()),
    "first_row_id": ("_FIRST_ROW_ID", pl.Int64()),
    "write_columns": ("_WRITE_COLS", _TEXTS),
}
_OF_FILE_STATISTICS: Columns = {
    "value_stats_columns": ("_VALUE_STATS_COLS", _TEXTS),
    "write_columns_sequences": ("_WRITE_COLS_SEQUENCES", _NUMBERS),
}
_OF_KEY_STATS: Columns = {
    "key_min": ("_MIN_VALUES", pl.Binary()),
    "key_max": ("_MAX_VALUES", pl.Binary()),
    "key_nulls": ("_NULL_COUNTS", _NUMBERS),
}
_OF_VALUE_STATS: Columns = {
    "value_min": ("_MIN_VALUES", pl.Binary()),
    "value_max": ("_MAX_VALUES", pl.Binary()),
    "value_nulls": ("_NULL_COUNTS", _NUMBERS),
}
_NULLABLE = frozenset(
    {"delete_rows", "embedded_index", "source", "external_path", "first_row_id", "write_columns"}
    | {"value_stats_columns", "write_columns_sequences", "key_nulls", "value_nulls"}
)

NARROW = pl.Schema({name: kind for name, (_, kind) in {**_OF_ENTRY, **_OF_FILE}.items()})
"""The columns of a frame without statistics."""
_STATISTICS: Columns = {**_OF_FILE_STATISTICS, **_OF_KEY_STATS, **_OF_VALUE_STATS}
_WITH_STATISTICS = pl.Schema({**NARROW, **{name: kind for name, (_, kind) in _STATISTICS.items()}})

_RANGES = {
    "bucket": (-2, (1 << 31) - 1),
    "size": (0, 1 << 42),
    "rows": (0, 1 << 42),
    "schema_id": (0, (1 << 31) - 1),
    "level": (0, 1 << 20),
    "created_millis": (-LATEST_MILLIS // 5, LATEST_MILLIS),
    "delete_rows": (0, 1 << 42),
}
"""What numbers of a file may be. Times are those of clocks on the wall, in milliseconds since the epoch."""
_TEXT_BYTES = {"partition": 1 << 16, "min_key": 1 << 20, "max_key": 1 << 20, "name": 1 << 10}
"""How long texts of a file may be; stores end the names of objects at 1 KiB."""
_BINARY = frozenset({"partition", "min_key", "max_key"})

_IDENTITY = ("partition", "bucket", "level", "name", "extra_files", "embedded_index", "external_path")


def decode_entries(content: bytes, *, statistics: bool = False) -> pl.DataFrame:
    """The entries of a manifest file, in its order.

    Args:
        content: the bytes of the file.
        statistics: whether to keep the statistics of key and value columns.

    Returns:
        A frame with the columns of `NARROW` and, if asked for, those of statistics.

    Raises:
        ValueError, LookupError, EOFError: it is no manifest, or a damaged one.
    """
    unpacked = unpack(content, MANIFEST_ENTRY_SCHEMA)
    try:
        decoded = (pl.read_avro(BytesIO(part)) for part in unpacked.containers(_AT_A_TIME))
        parts = [_flat(_without_end(_rows(part)), statistics=statistics) for part in decoded]
        return pl.concat(parts, rechunk=True)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError, OSError) as error:
        raise ValueError(str(error)) from error


def empty(*, statistics: bool = False) -> pl.DataFrame:
    """A frame without rows."""
    return pl.DataFrame(schema=_WITH_STATISTICS if statistics else NARROW)


def entries_of(frame: pl.DataFrame) -> list[Entry]:
    """The rows of a frame as manifest entries; those of a narrow frame have `UNREAD` statistics."""
    has_statistics = "key_min" in frame.columns
    return [_entry(row, has_statistics=has_statistics) for row in frame.iter_rows(named=True)]


def data_files(frame: pl.DataFrame, keys: Callable[[pl.Series], Sequence[OrderKey]]) -> tuple[DataFile, ...]:
    """What planning needs of the files of a frame.

    Args:
        frame: live files.
        keys: turns key bounds into order keys.

    Raises:
        CorruptTable: a key bound is null or cannot be read; the path is the file's name.
        UnsupportedTable: a key bound has no order; the table is the file's name.
    """
    try:
        columns = [
            keys(frame[name]) if name in _BOUNDS else frame[name].to_list() for name in DataFile.__slots__
        ]
    except (CorruptTable, UnsupportedTable) as error:
        raise _with_file(error, frame, keys) from error
    return tuple(map(DataFile, *columns))


def _with_file(
    error: CorruptTable | UnsupportedTable,
    frame: pl.DataFrame,
    keys: Callable[[pl.Series], Sequence[OrderKey]],
) -> CorruptTable | UnsupportedTable:
    """The error of the first file whose bounds have no order keys, with the name of the file."""
    for row in range(len(frame)):
        file = frame.slice(row, 1)
        try:
            for name in _BOUNDS:
                keys(file[name])
        except CorruptTable as found:
            return CorruptTable(file["name"][0], found.problem)
        except UnsupportedTable as found:
            return UnsupportedTable(file["name"][0], found.reasons)
    return error


_BOUNDS = ("min_key", "max_key")


def chosen(frame: pl.DataFrame, selection: EntrySelection) -> pl.DataFrame:
    """The rows of a frame whose partition and bucket belong to a selection, in their order."""
    places = frame.select("partition", "bucket").unique()
    wanted = [selection.holds(*place) for place in places.iter_rows()]
    if all(wanted):
        return frame
    rows = frame.select("partition", "bucket").with_row_index("row")
    found = rows.join(places.filter(wanted), on=["partition", "bucket"], how="semi")
    return frame[found["row"].sort()]


def live_of(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The files that the manifests of one snapshot add and do not remove, in the order of their entries.

    Args:
        frames: the entries of the manifests, one frame at least.
    """
    added, removed = [], []
    for frame in frames:
        is_added = frame["kind"] == ADD
        added.append(frame.filter(is_added))
        removed.append(frame.filter(~is_added).select(_IDENTITY))
    return without(pl.concat(added), pl.concat(removed))


def without(files: pl.DataFrame, removed: pl.DataFrame) -> pl.DataFrame:
    """The rows of `files` that are not the same file in the same place as a row of `removed`, in their order.

    What makes two rows the same is `Entry.identity`.
    """
    numbered = files.lazy().select(_IDENTITY).with_row_index("row")
    gone = (
        _comparable(numbered.join(removed.lazy().select("name"), on="name", how="semi"))
        .join(_comparable(removed.lazy()), on=_COMPARED, how="semi", nulls_equal=True)
        .select("row")
        .collect()
    )
    if gone.is_empty():
        return files
    stays = np.ones(len(files), dtype=bool)
    stays[gone["row"].to_numpy()] = False
    return files.filter(stays)


_COMPARED = [*(name for name in _IDENTITY if name != "extra_files"), "extra_names"]


def _comparable(files: pl.LazyFrame) -> pl.LazyFrame:
    """Joins the names of extra files into one text, because Polars does not compare lists."""
    return files.with_columns(extra_names=pl.col("extra_files").list.join("\0")).drop("extra_files")


def _rows(decoded: pl.DataFrame) -> pl.DataFrame:
    """The fields of rows, also where a row is a union: releases before 0.9 wrote them like that."""
    return decoded[ROW].struct.unnest() if decoded.columns == [ROW] else decoded


def _without_end(decoded: pl.DataFrame) -> pl.DataFrame:
    """The rows before the empty one: Polars does not mind bytes that no row accounts for."""
    if decoded["_VERSION"][-1]:
        raise ValueError("a block in it has more rows than it says")
    return decoded.head(-1)


def _flat(decoded: pl.DataFrame, *, statistics: bool) -> pl.DataFrame:
    """The fields that a frame has, out of the records in which a manifest has them."""
    for version in decoded["_VERSION"].unique():
        check_version(version, ENTRY_VERSION)
    for kind in decoded["_KIND"].unique():
        check_kind(kind)
    file = decoded["_FILE"].struct.unnest()
    columns = [*_columns(decoded, _OF_ENTRY), *_columns(file, _OF_FILE)]
    if statistics:
        columns += [
            *_columns(file, _OF_FILE_STATISTICS),
            *_columns(file["_KEY_STATS"].struct.unnest(), _OF_KEY_STATS),
            *_columns(file["_VALUE_STATS"].struct.unnest(), _OF_VALUE_STATS),
        ]
    frame = pl.DataFrame(columns)
    _check_names(frame["name"])
    _check_names(frame["extra_files"].explode(empty_as_null=False).drop_nulls())
    _check_ranges(frame)
    return frame


def _check_names(names: pl.Series) -> None:
    """Makes sure that paths can be made of names; as `file_names.check_file_name`, of a whole column."""
    is_right = names.str.contains(_NAME) & ~names.is_in([".", ".."]) & (names.str.len_bytes() <= MOST_BYTES)
    for name in names.filter(~is_right).head(1):
        raise ValueError(f"{shown(name)} is no name of a file")


_NAME = rf"\A[^{FORBIDDEN}]+\z"


def _check_ranges(frame: pl.DataFrame) -> None:
    """Makes sure that numbers are such as files have: sums of others overflow, and calendars end."""
    names = list(_RANGES)
    lows, highs = frame.select(pl.col(names).min()), frame.select(pl.col(names).max())
    for name, (low, high) in _RANGES.items():
        least, most = lows.item(0, name), highs.item(0, name)
        if least is not None and not low <= least <= most <= high:
            raise ValueError(f"{name} of a file is out of range")
    for name in _TEXT_BYTES:
        longest = frame.select(pl.col(name).bin.size() if name in _BINARY else pl.col(name).str.len_bytes())
        most = longest.to_series().max()
        if isinstance(most, int) and most > _TEXT_BYTES[name]:
            raise ValueError(f"{name} of a file has {most} bytes")


def _columns(source: pl.DataFrame, wanted: Columns) -> Iterator[pl.Series]:
    for name, (field, kind) in wanted.items():
        column = (
            source[field] if field in source.columns else pl.Series([None]).new_from_index(0, len(source))
        )
        column = column.cast(kind).alias(name)
        if name == "created_millis":
            column = column.fill_null(0)
        if name not in _NULLABLE and column.null_count():
            raise ValueError(f"{field} is missing")
        yield column


def _entry(row: Mapping[str, Any], *, has_statistics: bool) -> Entry:
    fields = {name: row[name] for name in _PLAIN_FIELDS}
    fields |= {name: _tuple(row.get(name)) for name in _LIST_FIELDS}
    key_stats = value_stats = UNREAD
    if has_statistics:
        key_stats = Stats(row["key_min"], row["key_max"], _tuple(row["key_nulls"]))
        value_stats = Stats(row["value_min"], row["value_max"], _tuple(row["value_nulls"]))
    return Entry(
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
