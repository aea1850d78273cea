"""Manifest files: the data files that a snapshot adds and removes, and its live files.

Used by everyone who reads a table; `manifest_files` writes them. Files of all releases are read here:
manifests into columns (`entry_columns`); only merged ones are processed record by record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
from pypaimon.manifest.manifest_list_manager import ManifestListManager
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.table.file_store_table import FileStoreTable

from lithify.files.avro.metadata_files import reading
from lithify.files.types import ColumnType
from lithify.formats.paimon.manifests.entries import ManifestEntry
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
)
from lithify.formats.paimon.manifests.live_entries import chosen, live_of
from lithify.formats.paimon.manifests.manifest_lists import read_list
from lithify.formats.paimon.names.file_names import is_manifest_of
from lithify.io.prefetching import prefetched
from lithify.io.small_files import MOST_MANIFEST
from lithify.io.storage import Storage, reporting


class Manifests:
    """Reads the manifests of one table.

    Attributes:
        folder: the folder of manifests and their lists.
        partition_types: types of the table's partition columns.

    Args:
        table: pypaimon's table.
        partition_types: types of its partition columns.
        storage: access to its files.
        earliest: computes the earliest time of files for tables with record-level expiry.
    """

    def __init__(
        self,
        table: FileStoreTable,
        partition_types: Sequence[ColumnType],
        storage: Storage,
        earliest: Earliest | None = None,
    ) -> None:
        self.folder: str = ManifestListManager(table).manifest_path
        self.partition_types = partition_types
        self._storage = storage
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
        return ChosenBuckets(places, self.partition_types, whole, names)

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
        with reading(self.path(name), "index manifest"):
            return decode_indexes(content, selection)

    def index_names(self, name: str) -> set[str]:
        """The names of the index files in an index manifest."""
        content = self.content(name)
        with reading(self.path(name), "index manifest"):
            return index_names(content)

    def columns_of(self, name: str, *, statistics: bool = False) -> pa.Table:
        """All entries of one manifest file as columns; see `entry_columns`."""
        return self._decode(name, self.content(name), statistics=statistics)

    def columns_in(self, name: str, content: bytes) -> pa.Table:
        """The entries in the bytes of a manifest; see `columns_of`."""
        return self._decode(name, content, statistics=False)

    def names_with(self, prefix: str) -> list[str]:
        """Manifests and lists of an attempt, or one of its tries, by their prefix."""
        listed = self._storage.list(self.folder)
        names = sorted(file.name for file in listed if is_manifest_of(prefix, file.name))
        return [name for name in names if self._storage.is_plain_file(self.path(name))]

    def contents(self, listed: Sequence[ManifestFileMeta]) -> Iterator[tuple[ManifestFileMeta, bytes]]:
        """The bytes of some manifests in their order; prefetches a few."""
        return prefetched(listed, lambda meta: self.content(meta.file_name))

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
        with reading(self.path(name), "manifest"):
            return decode_entries(content, statistics=statistics, earliest=self._earliest)

    def content(self, name: str) -> bytes:
        """The bytes of a manifest.

        Raises:
            MissingFile: it is gone.
        """
        path = self.path(name)
        self._storage.check_inside(path)
        with reading(path, "manifest"), reporting(path):
            return self._storage.read_bytes(path, MOST_MANIFEST)

    def _read_list(self, name: str) -> list[ManifestFileMeta]:
        content = self.content(name)
        with reading(self.path(name), "manifest list"):
            return read_list(content)

    def path(self, name: str) -> str:
        """The path of a manifest or manifest list."""
        return f"{self.folder}/{name}"
