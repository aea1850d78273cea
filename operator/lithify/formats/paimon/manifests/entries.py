"""Manifest entries: the files that a snapshot adds and removes, as the bytes that were written.

Shared by all code in this package that handles manifests; rewriting tasks return `FileMeta`, too. Keys,
partitions and statistics stay BinaryRow bytes, so that an upgraded file keeps its metadata exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lithify.columns.order_key import OrderKey
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.formats.paimon.model import DataFile
from lithify.io.file_names import check_file_name

ADD, DELETE = 0, 1
APPEND_SOURCE, COMPACT_SOURCE = 0, 1
ENTRY_VERSION = 2
"""The only version that Paimon has written since the first release whose tables Java 1.4 reads."""
_NEVER_NULL = ("_PARTITION", "_BUCKET", "_TOTAL_BUCKETS")
_NEVER_NULL_OF_FILE = ("_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_SCHEMA_ID", "_LEVEL", "_EXTRA_FILES")
"""NOT NULL fields that are checked in a copied record; other fields are copied unchanged."""


def check_version(found: int | None, expected: int) -> None:
    """Checks that an entry is of the known version.

    Raises:
        ValueError: it is of another one.
    """
    if found != expected:
        raise ValueError(f"its entries are of version {found}, this release reads version {expected}")


@dataclass(frozen=True, slots=True)
class Stats:
    """Minimum, maximum and null counts of some columns; minimum and maximum are BinaryRow bytes."""

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...] | None


_NO_STATS = Stats(bytes(12), bytes(12), ())
"""Statistics of no columns: the BinaryRow without fields."""
UNREAD = Stats(b"", b"", None)
"""Marks statistics that were skipped when an entry was read; such an entry cannot be written."""


@dataclass(frozen=True, slots=True)
class FileMeta:
    """A data file as its manifest entry describes it; field for field Paimon's DataFileMeta."""

    name: str
    size: int
    rows: int
    min_key: bytes
    max_key: bytes
    key_stats: Stats
    value_stats: Stats
    min_sequence: int
    max_sequence: int
    schema_id: int
    level: int
    extra_files: tuple[str, ...]
    created_millis: int
    delete_rows: int | None
    embedded_index: bytes | None
    source: int | None
    value_stats_columns: tuple[str, ...] | None
    external_path: str | None
    first_row_id: int | None
    write_columns: tuple[str, ...] | None
    write_columns_sequences: tuple[int, ...] | None

    def path(self, folder: str) -> str:
        """The file's path: in its bucket's directory `folder`, or as given in its entry."""
        return self.external_path or f"{folder}/{self.name}"

    def paths(self, folder: str) -> list[str]:
        """The paths of the file and of those beside it that belong to it; see `path`."""
        path = self.path(folder)
        return [path, *(f"{path.rpartition('/')[0]}/{name}" for name in self.extra_files)]

    def upgraded(self, level: int) -> FileMeta:
        """The same file at another level, otherwise unchanged."""
        return replace(self, level=level)

    def as_data_file(self, key: Callable[[bytes], OrderKey]) -> DataFile:
        """The file in the form that planning needs; `key` converts a key bound to an order key.

        Raises:
            CorruptTable: a key bound is null or cannot be read.
            UnsupportedTable: a key bound has no order.
        """
        try:
            min_key, max_key = key(self.min_key), key(self.max_key)
        except CorruptTable as error:
            raise CorruptTable(self.name, error.problem) from error
        except UnsupportedTable as error:
            raise UnsupportedTable(self.name, error.reasons) from error
        return DataFile(
            name=self.name,
            size=self.size,
            rows=self.rows,
            level=self.level,
            min_key=min_key,
            max_key=max_key,
            min_sequence=self.min_sequence,
            max_sequence=self.max_sequence,
            created_millis=self.created_millis,
            delete_rows=self.delete_rows,
            schema_id=self.schema_id,
        )


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A change: a data file is added to or removed from a bucket."""

    kind: int
    partition: bytes
    bucket: int
    total_buckets: int
    file: FileMeta

    @property
    def identity(self) -> tuple[object, ...]:
        """Identifies the file and its place, as Paimon's FileEntry.Identifier."""
        file = self.file
        return (
            self.partition,
            self.bucket,
            file.level,
            file.name,
            file.extra_files,
            file.embedded_index,
            file.external_path,
        )

    def without_statistics(self) -> ManifestEntry:
        """The same entry without statistics of value columns."""
        file = replace(self.file, value_stats=_NO_STATS, value_stats_columns=())
        return replace(self, file=file)


def identity_of_record(record: dict[str, Any]) -> tuple[object, ...]:
    """The `ManifestEntry.identity` of an Avro record, without decoding the whole entry."""
    file = record["_FILE"]
    return (
        record["_PARTITION"],
        record["_BUCKET"],
        file["_LEVEL"],
        file["_FILE_NAME"],
        tuple(file["_EXTRA_FILES"]),
        file.get("_EMBEDDED_FILE_INDEX"),
        file.get("_EXTERNAL_PATH"),
    )


def check_record(record: Mapping[str, Any]) -> None:
    """Checks that an Avro record is an entry with all mandatory fields.

    Raises:
        ValueError, LookupError: it is not.
    """
    check_version(record["_VERSION"], ENTRY_VERSION)
    check_kind(record["_KIND"])
    file = record["_FILE"] or {}
    if None in [record[name] for name in _NEVER_NULL] or None in [file[name] for name in _NEVER_NULL_OF_FILE]:
        raise ValueError("a field is null that must not be")
    for name in (file["_FILE_NAME"], *file["_EXTRA_FILES"]):
        check_file_name(name)


def check_kind(kind: int | None) -> None:
    """Checks that an entry adds or removes a file.

    Raises:
        ValueError: it does neither.
    """
    if kind not in (ADD, DELETE):
        raise ValueError(f"an entry is of kind {kind}")


def record_of_entry(entry: ManifestEntry) -> dict[str, Any]:
    """The Avro record of an entry.

    Raises:
        ValueError: the entry was read without its statistics.
    """
    if UNREAD in (entry.file.key_stats, entry.file.value_stats):
        raise ValueError(f"the statistics of {entry.file.name} were not read, so its entry cannot be written")
    return {
        "_VERSION": ENTRY_VERSION,
        "_KIND": entry.kind,
        "_PARTITION": entry.partition,
        "_BUCKET": entry.bucket,
        "_TOTAL_BUCKETS": entry.total_buckets,
        "_FILE": _file_record(entry.file),
    }


def _file_record(file: FileMeta) -> dict[str, Any]:
    return {
        "_FILE_NAME": file.name,
        "_FILE_SIZE": file.size,
        "_ROW_COUNT": file.rows,
        "_MIN_KEY": file.min_key,
        "_MAX_KEY": file.max_key,
        "_KEY_STATS": _stats_record(file.key_stats),
        "_VALUE_STATS": _stats_record(file.value_stats),
        "_MIN_SEQUENCE_NUMBER": file.min_sequence,
        "_MAX_SEQUENCE_NUMBER": file.max_sequence,
        "_SCHEMA_ID": file.schema_id,
        "_LEVEL": file.level,
        "_EXTRA_FILES": list(file.extra_files),
        "_CREATION_TIME": file.created_millis,
        "_DELETE_ROW_COUNT": file.delete_rows,
        "_EMBEDDED_FILE_INDEX": file.embedded_index,
        "_FILE_SOURCE": file.source,
        "_VALUE_STATS_COLS": _list(file.value_stats_columns),
        "_EXTERNAL_PATH": file.external_path,
        "_FIRST_ROW_ID": file.first_row_id,
        "_WRITE_COLS": _list(file.write_columns),
        "_WRITE_COLS_SEQUENCES": _list(file.write_columns_sequences),
    }


def _stats_record(stats: Stats) -> dict[str, Any]:
    return {
        "_MIN_VALUES": stats.min_values,
        "_MAX_VALUES": stats.max_values,
        "_NULL_COUNTS": _list(stats.null_counts),
    }


def _list(values: Iterable[Any] | None) -> list[Any] | None:
    """Arrays of a record must be lists: fastavro interprets tuples differently."""
    return None if values is None else list(values)
