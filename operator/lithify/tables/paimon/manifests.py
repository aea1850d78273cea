"""Manifest files: which data files a snapshot adds and removes, and what is live in it.

Read with fastavro, written with pypaimon's writers. Reading goes around pypaimon's reader because that one
turns keys, partitions and statistics into Python values and back, which loses nanoseconds and may change
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from typing import Any, cast

import fastavro
from pypaimon.data.timestamp import Timestamp
from pypaimon.manifest.manifest_file_manager import ManifestFileManager
from pypaimon.manifest.manifest_list_manager import ManifestListManager
from pypaimon.manifest.schema.data_file_meta import DataFileMeta
from pypaimon.manifest.schema.manifest_entry import ManifestEntry
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.manifest.schema.simple_stats import SimpleStats
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.table.file_store_table import FileStoreTable
from pypaimon.table.row.binary_row import BinaryRow
from pypaimon.table.row.generic_row import GenericRowDeserializer

from lithify.errors import CorruptTable, MissingFile
from lithify.tables.paimon.entries import ADD, Entry, Stats, entry_of_record
from lithify.tables.paimon.storage import reporting

_READERS = 8
"""Manifests read at a time; they are small, so it is latency that is hidden."""

PlaceFilter = Callable[[bytes, int], bool]
"""Whether entries of a partition (BinaryRow bytes) and bucket are wanted."""


def everywhere(partition: bytes, bucket: int) -> bool:
    """The filter that wants all entries."""
    del partition, bucket
    return True


class Manifests:
    """Reads and writes the manifests of one table."""

    def __init__(self, table: FileStoreTable) -> None:
        self._file_io = table.file_io
        self._lists = ManifestListManager(table)
        self._files = ManifestFileManager(table)
        self._partition_fields = table.partition_keys_fields
        self._key_fields = table.trimmed_primary_keys_fields
        self._target_size: int = table.options.manifest_target_size()

    def live(self, snapshot: Snapshot, wanted: PlaceFilter = everywhere) -> list[Entry]:
        """The files that are live in a snapshot, in the order in which they were added.

        Raises:
            MissingFile: a manifest is missing; perhaps the snapshot was expired meanwhile.
            CorruptTable: a manifest is unreadable.
        """
        entries = list(self._entries(self.list_files(snapshot), wanted))
        removed = {entry.identity for entry in entries if entry.kind != ADD}
        return [entry for entry in entries if entry.kind == ADD and entry.identity not in removed]

    def delta(self, snapshot: Snapshot, wanted: PlaceFilter = everywhere) -> list[Entry]:
        """What a snapshot itself adds and removes."""
        metas = self._read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        return list(self._entries(metas, wanted))

    def list_files(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        """All manifest files of a snapshot, oldest first."""
        base = self._read_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)
        return base + self._read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)

    def names_in_list(self, name: str) -> list[str]:
        """The manifest files that a manifest list names."""
        return [meta.file_name for meta in self._read_list(name, None)]

    def index_types(self, snapshot: Snapshot) -> frozenset[str]:
        """The kinds of index files that a snapshot has, for example HASH."""
        if snapshot.index_manifest is None:
            return frozenset()
        return frozenset(record["_INDEX_TYPE"] for record in self._read_avro(snapshot.index_manifest))

    def entries_of(self, name: str) -> list[Entry]:
        """All entries of one manifest file."""
        return self._read_file(name, everywhere)

    def write(self, entries: Sequence[Entry], prefix: str) -> list[ManifestFileMeta]:
        """Writes entries as manifest files named `manifest-<prefix>-<n>`.

        Raises:
            StorageError: the file system refuses or is full.
        """
        name = f"manifest-{prefix}"
        with _writing(self.path(name)):
            written: list[ManifestFileMeta] = self._files.rolling_write(
                [self._to_pypaimon(entry) for entry in entries], self._target_size, name
            )
        return written

    def write_list(self, metas: Sequence[ManifestFileMeta], name: str) -> tuple[str, int]:
        """Writes a manifest list; returns its file name and size.

        Raises:
            StorageError: the file system refuses or is full.
        """
        with _writing(self.path(name)):
            size: int = self._lists.write(name, list(metas))
        return name, size

    def delete(self, names: Iterable[str]) -> None:
        """Deletes manifests and lists that no snapshot names."""
        for name in names:
            self._file_io.delete_quietly(self.path(name))

    def names_with(self, prefix: str) -> list[str]:
        """Manifests and lists of an attempt, by the prefix that it gave them."""
        statuses = self._file_io.list_status(self._lists.manifest_path)
        names = (status.path.rsplit("/", 1)[-1] for status in statuses)
        return sorted(
            name for name in names if name.startswith((f"manifest-{prefix}", f"manifest-list-{prefix}"))
        )

    def _entries(self, metas: Sequence[ManifestFileMeta], wanted: PlaceFilter) -> Iterator[Entry]:
        with ThreadPoolExecutor(_READERS) as readers:
            for entries in readers.map(lambda meta: self._read_file(meta.file_name, wanted), metas):
                yield from entries

    def _read_file(self, name: str, wanted: PlaceFilter) -> list[Entry]:
        records = self._read_avro(name)
        return [
            entry_of_record(record) for record in records if wanted(record["_PARTITION"], record["_BUCKET"])
        ]

    def _read_avro(self, name: str) -> list[dict[str, Any]]:
        path = self.path(name)
        with _reading(path, "manifest"), self._file_io.new_input_stream(path) as stream:
            return cast(list[dict[str, Any]], list(fastavro.reader(BytesIO(stream.read()))))

    def _read_list(self, name: str, size: int | None) -> list[ManifestFileMeta]:
        with _reading(self.path(name), "manifest list"):
            metas: list[ManifestFileMeta] = self._lists.read(name, size)
        return metas

    def path(self, name: str) -> str:
        """Where a manifest or manifest list is."""
        return f"{self._lists.manifest_path}/{name}"

    def _to_pypaimon(self, entry: Entry) -> ManifestEntry:
        file = entry.file
        meta = DataFileMeta(
            file_name=file.name,
            file_size=file.size,
            row_count=file.rows,
            min_key=BinaryRow(file.min_key, self._key_fields),
            max_key=BinaryRow(file.max_key, self._key_fields),
            key_stats=_to_pypaimon_stats(file.key_stats),
            value_stats=_to_pypaimon_stats(file.value_stats),
            min_sequence_number=file.min_sequence,
            max_sequence_number=file.max_sequence,
            schema_id=file.schema_id,
            level=file.level,
            extra_files=list(file.extra_files),
            creation_time=Timestamp.from_epoch_millis(file.created_millis),
            delete_row_count=file.delete_rows,
            embedded_index=file.embedded_index,
            file_source=file.source,
            value_stats_cols=_list(file.value_stats_columns),
            external_path=file.external_path,
            first_row_id=file.first_row_id,
            write_cols=_list(file.write_columns),
            write_cols_sequences=_list(file.write_columns_sequences),
        )
        return ManifestEntry(
            kind=entry.kind,
            partition=_Partition(entry.partition, self._partition_fields),
            bucket=entry.bucket,
            total_buckets=entry.total_buckets,
            file=meta,
        )


@contextmanager
def _reading(path: str, what: str) -> Iterator[None]:
    """Names the file when it is missing or damaged."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except (ValueError, EOFError, IndexError, KeyError, StopIteration) as error:
        raise CorruptTable(path, f"the {what} cannot be read ({error})") from error


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Names the file when it cannot be written; pypaimon hides why in an error of its own."""
    with reporting(path):
        try:
            yield
        except RuntimeError as error:
            if isinstance(error.__cause__, OSError):
                raise error.__cause__ from error
            raise


class _Partition(BinaryRow):  # type: ignore[misc]  # pypaimon is untyped
    """A partition that is written as the bytes it came as, yet shows its values for statistics."""

    @property
    def values(self) -> list[Any]:
        values: list[Any] = GenericRowDeserializer.from_bytes(self.data, self.fields).values
        return values


def _to_pypaimon_stats(stats: Stats) -> SimpleStats:
    return SimpleStats(
        min_values=BinaryRow(stats.min_values, []),
        max_values=BinaryRow(stats.max_values, []),
        null_counts=_list(stats.null_counts),
    )


def _list(values: Iterable[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
