"""Manifest files: which data files a snapshot adds and removes, and what is live in it.

Lists are written by pypaimon, manifests are not: it turns keys, partitions and statistics into Python values
and back, which loses nanoseconds and may change bytes. All are read here, whatever release wrote them:
manifests into columns (`entry_columns`), and only what is merged goes from record to record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
from pypaimon.manifest.manifest_list_manager import ManifestListManager
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import CorruptTable, MissingFile, StorageError
from lithify.tables.files.types import ColumnType
from lithify.tables.io.small_files import MOST_MANIFEST
from lithify.tables.io.storage import Storage, reporting
from lithify.tables.paimon.layout.file_names import is_manifest_of
from lithify.tables.paimon.metadata.entries import ManifestEntry, check_record, record_of_entry
from lithify.tables.paimon.metadata.entry_columns import (
    Earliest,
    chosen,
    decode_entries,
    empty,
    entries_of,
    live_of,
)
from lithify.tables.paimon.metadata.entry_selection import EVERYTHING, ChosenBuckets, EntrySelection, Place
from lithify.tables.paimon.metadata.manifest_lists import read_list
from lithify.tables.paimon.metadata.manifest_writer import ManifestWriter
from lithify.tables.paimon.metadata.metadata_files import check_version, field_names, unpack
from lithify.tables.paimon.options.table_options import ManifestOptions

_AHEAD = 4
"""Manifests that are fetched at a time, to hide latency; each is a few MiB."""


class UnknownFields(Exception):
    """A manifest is of a later format: it can be read, but not written again."""


_KNOWN_FIELDS = field_names(MANIFEST_ENTRY_SCHEMA)
_INDEX_VERSION = 1
_MOST_INDEX_TYPES = 64
"""Paimon has five."""
_INDEX_SCHEMA = {
    "type": "record",
    "name": "IndexManifestEntry",
    "fields": [{"name": "_VERSION", "type": "int"}, {"name": "_INDEX_TYPE", "type": "string"}],
}
"""Of index manifests, as far as anybody reads them here."""


class Manifests:
    """Reads and writes the manifests of one table.

    Args:
        table: pypaimon's table.
        partition_types: of its partition columns.
        options: how manifests are written.
        storage: its files, which may be deleted.
        earliest: computes the earliest time of files where rows of the table expire.
    """

    def __init__(
        self,
        table: FileStoreTable,
        partition_types: Sequence[ColumnType],
        options: ManifestOptions,
        storage: Storage,
        earliest: Earliest | None = None,
    ) -> None:
        self._file_io = table.file_io
        self._storage = storage
        self._lists = ManifestListManager(table)
        self._partition_types = partition_types
        self._options = options
        self._earliest = earliest

    def live(self, snapshot: Snapshot, selection: EntrySelection = EVERYTHING) -> list[ManifestEntry]:
        """The selected files that are live in a snapshot, in the order in which they were added.

        Raises:
            MissingFile: a manifest is missing; perhaps the snapshot was expired meanwhile.
            CorruptTable: a manifest is unreadable.
        """
        return entries_of(self.live_columns(snapshot, selection, statistics=True))

    def delta(self, snapshot: Snapshot, selection: EntrySelection = EVERYTHING) -> list[ManifestEntry]:
        """What a snapshot itself adds and removes."""
        return entries_of(self.delta_columns(snapshot, selection, statistics=True))

    def live_columns(
        self, snapshot: Snapshot, selection: EntrySelection = EVERYTHING, *, statistics: bool = False
    ) -> pa.Table:
        """The selected files that are live in a snapshot as columns; see `entry_columns`.

        Raises:
            MissingFile: a manifest is missing; perhaps the snapshot was expired meanwhile.
            CorruptTable: a manifest is unreadable.
        """
        return live_of(self._frames(self.list_files(snapshot), selection, statistics=statistics))

    def delta_columns(
        self, snapshot: Snapshot, selection: EntrySelection = EVERYTHING, *, statistics: bool = False
    ) -> pa.Table:
        """What a snapshot itself adds and removes as columns, in the order of its entries."""
        listed = self._read_list(snapshot.delta_manifest_list)
        return pa.concat_tables(self._frames(listed, selection, statistics=statistics))

    def list_files(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        """All manifest files of a snapshot, oldest first."""
        base = self._read_list(snapshot.base_manifest_list)
        return base + self._read_list(snapshot.delta_manifest_list)

    def inherited(self, snapshot: Snapshot, selection: EntrySelection = EVERYTHING) -> list[ManifestEntry]:
        """The selected files that a snapshot found live when it was made."""
        listed = self._read_list(snapshot.base_manifest_list)
        return entries_of(live_of(self._frames(listed, selection, statistics=True)))

    def chosen(self, places: Collection[Place]) -> ChosenBuckets:
        """Selects the entries of some partitions and buckets."""
        return ChosenBuckets(places, self._partition_types)

    def names_in_list(self, name: str) -> list[str]:
        """The manifest files that a manifest list names."""
        return [meta.file_name for meta in self._read_list(name)]

    def index_types(self, snapshot: Snapshot) -> frozenset[str]:
        """The kinds of index files that a snapshot has, for example HASH."""
        name = snapshot.index_manifest
        if name is None:
            return frozenset()
        content = self.content(name)
        with _reading(self.path(name), "index manifest"):
            types: set[str] = set()
            for record in unpack(content, _INDEX_SCHEMA).records():
                check_version(record["_VERSION"], _INDEX_VERSION)
                types.add(record["_INDEX_TYPE"])
                if len(types) > _MOST_INDEX_TYPES:
                    raise ValueError(f"it has more than {_MOST_INDEX_TYPES} kinds of index files")
            return frozenset(types)

    def columns_of(self, name: str, *, statistics: bool = False) -> pa.Table:
        """All entries of one manifest file as columns; see `entry_columns`."""
        return self._decode(name, self.content(name), statistics=statistics)

    def write(self, entries: Sequence[ManifestEntry], prefix: str, first: int = 0) -> list[ManifestFileMeta]:
        """Writes entries as manifest files named `manifest-<prefix>-<n>`, counted from `first`.

        Raises:
            StorageError: the file system refuses or is full.
        """
        writer = self.writer(prefix, first)
        for entry in entries:
            writer.write(record_of_entry(entry))
        return writer.roll()

    def writer(self, prefix: str, first: int = 0) -> ManifestWriter:
        """What writes entries as manifest files of that prefix, counted from `first`."""
        return ManifestWriter(self._flush, prefix, self._partition_types, self._options, first)

    def _flush(self, name: str, content: bytes) -> None:
        path = self.path(name)
        self._storage.check_inside(path)
        with reporting(path):
            try:
                with self._file_io.new_output_stream(path) as stream:
                    stream.write(content)
            except BaseException:
                self.delete([name])
                raise

    def write_list(self, metas: Sequence[ManifestFileMeta], name: str) -> tuple[str, int]:
        """Writes a manifest list; returns its file name and size.

        Raises:
            StorageError: the file system refuses or is full.
        """
        self._storage.check_inside(self.path(name))
        with _writing(self.path(name)):
            size: int = self._lists.write(name, list(metas))
        return name, size

    def delete(self, names: Iterable[str]) -> None:
        """Deletes manifests and lists that no snapshot names; a later run finds what stays by the journal."""
        for name in names:
            with suppress(StorageError, CorruptTable):
                self._storage.delete(self.path(name))

    def names_with(self, prefix: str) -> list[str]:
        """Manifests and lists of an attempt, or one of its tries, by the prefix that it gave them."""
        listed = self._storage.list(self._lists.manifest_path)
        names = sorted(file.name for file in listed if is_manifest_of(prefix, file.name))
        return [name for name in names if self._storage.is_plain_file(self.path(name))]

    def contents(self, listed: Sequence[ManifestFileMeta]) -> Iterator[tuple[ManifestFileMeta, bytes]]:
        """The bytes of some manifests in their order, a few fetched at a time."""
        with ThreadPoolExecutor(_AHEAD) as readers:
            for start in range(0, len(listed), _AHEAD):
                part = listed[start : start + _AHEAD]
                yield from zip(
                    part, readers.map(lambda meta: self.content(meta.file_name), part), strict=True
                )

    def frames(self, listed: Sequence[ManifestFileMeta]) -> Iterator[pa.Table]:
        """The entries of some manifests as columns, one frame a manifest: together they may be too large."""
        return self._frames(listed, EVERYTHING, statistics=False)

    def _frames(
        self, listed: Sequence[ManifestFileMeta], selection: EntrySelection, *, statistics: bool
    ) -> Iterator[pa.Table]:
        """The selected entries of some manifests, after a frame without rows."""
        yield empty(statistics=statistics)
        for meta, content in self.contents([meta for meta in listed if selection.may_be_in(meta)]):
            yield chosen(self._decode(meta.file_name, content, statistics=statistics), selection)

    def _decode(self, name: str, content: bytes, *, statistics: bool) -> pa.Table:
        with _reading(self.path(name), "manifest"):
            return decode_entries(content, statistics=statistics, earliest=self._earliest)

    def content(self, name: str) -> bytes:
        """The bytes of a manifest.

        Raises:
            MissingFile: it is gone.
        """
        path = self.path(name)
        self._storage.check_inside(path)
        with _reading(path, "manifest"), reporting(path):
            return self._storage.read_bytes(path, MOST_MANIFEST)

    def records(self, name: str, content: bytes) -> Iterator[dict[str, Any]]:
        """The entries in the bytes of a manifest as Avro records, one after the other, to be written again.

        Args:
            name: of the manifest, for errors.
            content: its bytes.

        Raises:
            CorruptTable: it cannot be read.
            UnknownFields: entries have fields that this release does not know.
        """
        with _reading(self.path(name), "manifest"):
            unpacked = unpack(content, MANIFEST_ENTRY_SCHEMA)
            if not field_names(unpacked.schema) <= _KNOWN_FIELDS:
                raise UnknownFields
            for record in unpacked.records():
                check_record(record)
                yield record

    def _read_list(self, name: str) -> list[ManifestFileMeta]:
        content = self.content(name)
        with _reading(self.path(name), "manifest list"):
            return read_list(content)

    def path(self, name: str) -> str:
        """Where a manifest or manifest list is."""
        return f"{self._lists.manifest_path}/{name}"


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
