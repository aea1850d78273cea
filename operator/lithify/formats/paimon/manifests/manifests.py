"""Manifest files: the data files that a snapshot adds and removes, and its live files.

pypaimon writes the lists but not the manifests: it converts keys, partitions and statistics to Python values
and back, which loses nanoseconds and may change bytes. Files of all releases are read here: manifests into
columns (`entry_columns`); only merged ones are processed record by record.
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

from lithify.errors import CorruptTable, LithifyError, MissingFile, StorageError
from lithify.files.avro.metadata_files import field_names, unpack
from lithify.files.types import ColumnType
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex
from lithify.formats.paimon.manifests.entries import ManifestEntry, check_record, record_of_entry
from lithify.formats.paimon.manifests.entry_columns import Earliest, decode_entries, empty
from lithify.formats.paimon.manifests.entry_objects import entries_of
from lithify.formats.paimon.manifests.entry_selection import (
    EVERYTHING,
    ChosenBuckets,
    EntrySelection,
    Place,
)
from lithify.formats.paimon.manifests.index_manifests import (
    NO_INDEXES,
    Indexes,
    decode_indexes,
    index_names,
    replaced,
)
from lithify.formats.paimon.manifests.live_entries import chosen, live_of
from lithify.formats.paimon.manifests.manifest_lists import read_list
from lithify.formats.paimon.manifests.manifest_writer import ManifestWriter
from lithify.formats.paimon.names.file_names import is_manifest_of
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.io.small_files import MOST_MANIFEST
from lithify.io.storage import Storage, reporting

_AHEAD = 4
"""Manifests that are prefetched at a time, to hide latency; each is a few MiB."""


class UnknownFields(Exception):
    """A manifest is of a later format: it can be read, but not written again."""


_KNOWN_FIELDS = field_names(MANIFEST_ENTRY_SCHEMA)


class Manifests:
    """Reads and writes the manifests of one table.

    Args:
        table: pypaimon's table.
        partition_types: types of its partition columns.
        options: how manifests are written.
        storage: access to its files, for deletions, too.
        earliest: computes the earliest time of files for tables with record-level expiry.
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
            MissingFile: a manifest is missing; the snapshot may have expired concurrently.
            CorruptTable: a manifest is unreadable.
        """
        return entries_of(self.live_columns(snapshot, selection, statistics=True))

    def delta(self, snapshot: Snapshot, selection: EntrySelection = EVERYTHING) -> list[ManifestEntry]:
        """The entries that a snapshot itself adds and removes."""
        return entries_of(self.delta_columns(snapshot, selection, statistics=True))

    def live_columns(
        self, snapshot: Snapshot, selection: EntrySelection = EVERYTHING, *, statistics: bool = False
    ) -> pa.Table:
        """The selected files that are live in a snapshot as columns; see `entry_columns`.

        Raises:
            MissingFile: a manifest is missing; the snapshot may have expired concurrently.
            CorruptTable: a manifest is unreadable.
        """
        return live_of(self._frames(self.list_files(snapshot), selection, statistics=statistics))

    def delta_columns(
        self, snapshot: Snapshot, selection: EntrySelection = EVERYTHING, *, statistics: bool = False
    ) -> pa.Table:
        """The entries that a snapshot itself adds and removes as columns, in their order."""
        listed = self._read_list(snapshot.delta_manifest_list)
        return pa.concat_tables(self._frames(listed, selection, statistics=statistics))

    def list_files(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        """All manifest files of a snapshot, oldest first."""
        base = self._read_list(snapshot.base_manifest_list)
        return base + self._read_list(snapshot.delta_manifest_list)

    def inherited(self, snapshot: Snapshot, selection: EntrySelection = EVERYTHING) -> list[ManifestEntry]:
        """The selected files that were live in a snapshot's base."""
        listed = self._read_list(snapshot.base_manifest_list)
        return entries_of(live_of(self._frames(listed, selection, statistics=True)))

    def chosen(
        self,
        places: Collection[Place],
        whole: Collection[bytes] = (),
        names: Collection[str] | None = None,
    ) -> ChosenBuckets:
        """Selects the entries of some buckets, and those of all buckets of some of their partitions.

        With `names`, only entries of files of these names are selected.
        """
        return ChosenBuckets(places, self._partition_types, whole, names)

    def names_in_list(self, name: str) -> list[str]:
        """The manifest files that a manifest list names."""
        return [meta.file_name for meta in self._read_list(name)]

    def index_types(self, snapshot: Snapshot) -> frozenset[str]:
        """The kinds of index files that a snapshot has, for example HASH."""
        return self.indexes(snapshot).types

    def indexes(self, snapshot: Snapshot, selection: EntrySelection | None = None) -> Indexes:
        """The index files of a snapshot; deletion vectors of the selected buckets only."""
        name = snapshot.index_manifest
        if name is None:
            return NO_INDEXES
        content = self.content(name)
        with _reading(self.path(name), "index manifest"):
            return decode_indexes(content, selection)

    def index_names(self, name: str) -> set[str]:
        """The names of the index files in an index manifest."""
        content = self.content(name)
        with _reading(self.path(name), "index manifest"):
            return index_names(content)

    def write_indexes(
        self,
        base: Snapshot,
        removed: Collection[str],
        added: Iterable[tuple[Place, VectorIndex]],
        name: str,
    ) -> str | None:
        """Writes the index manifest that follows a snapshot's; None if no index file is left.

        Args:
            base: the snapshot.
            removed: names of the index files of deletion vectors that the snapshot no longer has.
            added: its new ones, each with its bucket.
            name: the file's name.

        Raises:
            CorruptTable: the base's index manifest cannot be read, or is of a later format.
            StorageError: the file system refuses or is full.
        """
        previous: str | None = base.index_manifest
        content = None if previous is None else self.content(previous)
        with _reading(self.path(previous or name), "index manifest"):
            written = replaced(content, removed, added, self._options.compression)
        if written is None:
            return None
        self._flush(name, written)
        return name

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
        """A writer for manifest files of that prefix, counted from `first`."""
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
        """Deletes manifests and lists that no snapshot references; the journal covers those that remain."""
        for name in names:
            with suppress(StorageError, CorruptTable):
                self._storage.delete(self.path(name))

    def names_with(self, prefix: str) -> list[str]:
        """Manifests and lists of an attempt, or one of its tries, by their prefix."""
        listed = self._storage.list(self._lists.manifest_path)
        names = sorted(file.name for file in listed if is_manifest_of(prefix, file.name))
        return [name for name in names if self._storage.is_plain_file(self.path(name))]

    def contents(self, listed: Sequence[ManifestFileMeta]) -> Iterator[tuple[ManifestFileMeta, bytes]]:
        """The bytes of some manifests in their order; prefetches a few."""
        with ThreadPoolExecutor(_AHEAD) as readers:
            for start in range(0, len(listed), _AHEAD):
                part = listed[start : start + _AHEAD]
                yield from zip(
                    part, readers.map(lambda meta: self.content(meta.file_name), part), strict=True
                )

    def frames(self, listed: Sequence[ManifestFileMeta]) -> Iterator[pa.Table]:
        """The entries of some manifests as columns, one frame per manifest: all together may be too large."""
        return self._frames(listed, EVERYTHING, statistics=False)

    def _frames(
        self, listed: Sequence[ManifestFileMeta], selection: EntrySelection, *, statistics: bool
    ) -> Iterator[pa.Table]:
        """The selected entries of some manifests, preceded by an empty frame."""
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
        """Iterates over the entries of a manifest as Avro records, to be written again.

        Args:
            name: name of the manifest, for errors.
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
        """The path of a manifest or manifest list."""
        return f"{self._lists.manifest_path}/{name}"


@contextmanager
def _reading(path: str, what: str) -> Iterator[None]:
    """Adds the file's name to errors when it is missing or damaged."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except (ValueError, EOFError, IndexError, KeyError, StopIteration) as error:
        raise CorruptTable(path, f"the {what} cannot be read ({error})") from error


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Adds the file's name to write errors; pypaimon hides the cause in an error of its own."""
    with reporting(path):
        try:
            yield
        except RuntimeError as error:
            if isinstance(error.__cause__, OSError | LithifyError):
                raise error.__cause__ from error
            raise
