"""Writes manifests, their lists and index manifests of one table, and deletes those that nobody references.

Used by commits; readers have `manifests`. pypaimon writes the lists but not the manifests: it converts keys,
partitions and statistics to Python values and back, which loses nanoseconds and may change bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pypaimon.manifest.manifest_list_manager import ManifestListManager
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import CorruptTable, LithifyError, StorageError
from lithify.files.avro.metadata_files import field_names, reading, unpack
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex
from lithify.formats.paimon.manifests.encoded_entries import UnknownFields
from lithify.formats.paimon.manifests.entries import ManifestEntry, check_record, record_of_entry
from lithify.formats.paimon.manifests.entry_selection import Place
from lithify.formats.paimon.manifests.index_manifest_writer import replaced
from lithify.formats.paimon.manifests.manifest_writer import ManifestWriter
from lithify.formats.paimon.manifests.manifests import Manifests
from lithify.formats.paimon.manifests.sorted_manifests import SortedManifests
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.io.storage import Storage, reporting

_KNOWN_FIELDS = field_names(MANIFEST_ENTRY_SCHEMA)


class ManifestFiles:
    """Writes and deletes the manifests of one table.

    Args:
        table: pypaimon's table.
        manifests: reads them.
        storage: access to the table's files.
        options: codec and target size.
    """

    def __init__(
        self, table: FileStoreTable, manifests: Manifests, storage: Storage, options: ManifestOptions
    ) -> None:
        self._file_io = table.file_io
        self._lists = ManifestListManager(table)
        self._manifests = manifests
        self._storage = storage
        self._options = options

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
        return ManifestWriter(self._flush, prefix, self._manifests.partition_types, self._options, first)

    def sorted_writer(self, prefix: str) -> SortedManifests:
        """A writer for many entries in their new order, as manifest files of that prefix."""
        return SortedManifests(self._flush, prefix, self._manifests.partition_types, self._options)

    def _flush(self, name: str, content: bytes) -> None:
        path = self._manifests.path(name)
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
        self._storage.check_inside(self._manifests.path(name))
        with _writing(self._manifests.path(name)):
            size: int = self._lists.write(name, list(metas))
        return name, size

    def delete(self, names: Iterable[str]) -> None:
        """Deletes manifests and lists that no snapshot references; the journal covers those that remain."""
        for name in names:
            with suppress(StorageError, CorruptTable):
                self._storage.delete(self._manifests.path(name))

    def write_indexes(
        self,
        base: Snapshot,
        removed: Collection[str],
        added: Iterable[tuple[Place, VectorIndex]],
        name: str,
        dropped: Collection[bytes] = (),
    ) -> str | None:
        """Writes the index manifest that follows a snapshot's; None if no index file is left.

        Args:
            base: the snapshot.
            removed: names of the index files of deletion vectors that the snapshot no longer has.
            added: its new ones, each with its bucket.
            name: the file's name.
            dropped: partitions of which no index file stays, of any kind.

        Raises:
            CorruptTable: the base's index manifest cannot be read, or is of a later format.
            StorageError: the file system refuses or is full.
        """
        previous: str | None = base.index_manifest
        content = None if previous is None else self._manifests.content(previous)
        with reading(self._manifests.path(previous or name), "index manifest"):
            written = replaced(content, removed, added, self._options.compression, dropped)
        if written is None:
            return None
        self._flush(name, written)
        return name

    def records(self, name: str, content: bytes) -> Iterator[dict[str, Any]]:
        """Iterates over the entries of a manifest as Avro records, to be written again.

        Args:
            name: name of the manifest, for errors.
            content: its bytes.

        Raises:
            CorruptTable: it cannot be read.
            UnknownFields: entries have fields that this release does not know.
        """
        with reading(self._manifests.path(name), "manifest"):
            unpacked = unpack(content, MANIFEST_ENTRY_SCHEMA)
            if not field_names(unpacked.schema) <= _KNOWN_FIELDS:
                raise UnknownFields
            for record in unpacked.records():
                check_record(record)
                yield record


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
