"""An open Iceberg table or branch: its newest metadata, its files, and who it is.

Made by `opening`; planning, steps, clean-up and observers work on it. Knows no run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import cast

from lithify.errors import CatalogUnavailable, NotFound, UnsupportedTable
from lithify.formats.iceberg.catalog.connecting import AnyCatalog
from lithify.formats.iceberg.catalog.model import Pointer, PointerCatalog, ServerCatalog
from lithify.formats.iceberg.catalog.names import TableName
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata
from lithify.formats.iceberg.table.snapshots import Snapshot, is_rollbackable
from lithify.io.objects.conditional_puts import check_heeded
from lithify.io.storage import Storage

_LENGTH = 32
"""Hexadecimal digits, as many as in a UUID without dashes; never parsed as one."""

Reading = Callable[[Pointer], TableMetadata]


class IcebergTable:
    """A table, of which one branch is read and written.

    Attributes:
        address: its name; `address.branch` is the branch.
        catalog: knows its newest metadata.
        storage: access to its files.
        refusals: why this release cannot compact it.
        overrides: properties of this run that replace stored ones.
        more_folders: properties that name further folders of its files.

    Args:
        address: its name.
        catalog: knows its newest metadata.
        storage: access to its files.
        read: reads the metadata of a pointer.
        pointer: the newest metadata when it was opened.
        metadata: its content.
        refusals: why this release cannot compact it.
        overrides: properties of this run that replace stored ones.
        more_folders: properties that name further folders of its files.
    """

    def __init__(
        self,
        *,
        address: TableName,
        catalog: AnyCatalog,
        storage: Storage,
        read: Reading,
        pointer: Pointer,
        metadata: TableMetadata,
        refusals: tuple[str, ...],
        overrides: Mapping[str, str],
        more_folders: tuple[str, ...] = (),
    ) -> None:
        self.address = address
        self.catalog = catalog
        self.storage = storage
        self.refusals = refusals
        self.overrides = overrides
        self.more_folders = more_folders
        self._read = read
        self._pointer = pointer
        self._metadata = metadata

    @property
    def name(self) -> str:
        """The table's name for people."""
        return str(self.address)

    @property
    def branch(self) -> str:
        """The branch that is read and written."""
        return self.address.branch

    @property
    def uuid(self) -> str:
        """Distinguishes the table from others of its name; a branch is another one than its table."""
        known = self._metadata.uuid
        if known and self.branch == MAIN:
            return known
        text = f"{known or self._metadata.location}${self.branch}"
        return sha256(text.encode()).hexdigest()[:_LENGTH]

    @property
    def server(self) -> ServerCatalog | None:
        """The catalog, if its server applies changes itself."""
        return cast(ServerCatalog, self.catalog) if hasattr(self.catalog, "update") else None

    @property
    def pointers(self) -> PointerCatalog:
        """The catalog, if it holds pointers; only asked if it is no server."""
        return cast(PointerCatalog, self.catalog)

    @property
    def metadata(self) -> TableMetadata:
        """The metadata as it was last loaded."""
        return self._metadata

    @property
    def pointer(self) -> Pointer:
        """The catalog's mark of that metadata."""
        return self._pointer

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties as this run sees them."""
        return {**self._metadata.properties, **self.overrides}

    def refresh(self) -> TableMetadata:
        """Loads the newest metadata; reads no file if it is the known one.

        Raises:
            NotFound: the table was dropped, or another one has its name.
            CatalogUnavailable: the catalog does not answer, or with an older state than it did: a replica of
                it lags behind, and new files would seem to be unreferenced.
        """
        return self._load(self._pointer.location)

    def reload(self) -> TableMetadata:
        """Like `refresh`, but reads the file even if its name is the known one.

        Java's writers in folders rename their metadata over others of the same number.
        """
        return self._load("")

    def _load(self, known: str) -> TableMetadata:
        pointer = self.catalog.load(self.address)
        if not pointer.location or pointer.location != known:
            metadata = self._read(pointer)
            if metadata.uuid != self._metadata.uuid:
                hint = "it was dropped and created again since it was opened"
                raise NotFound("table", self.name, hint)
            is_older = metadata.last_sequence < self._metadata.last_sequence
            if is_older and not self._has_yielded(metadata):
                raise CatalogUnavailable(self.name, "the catalog answers with an older state than before")
            self._metadata = metadata
        self._pointer = pointer
        return self._metadata

    def _has_yielded(self, found: TableMetadata) -> bool:
        """Whether a catalog has removed the newest snapshot in favour of a writer.

        Polaris assigns the sequence numbers of removed snapshots again.
        """
        known, head = self._metadata, self.head()
        is_gone = head is not None and is_rollbackable(head) and head.id not in found.snapshots
        return is_gone and found.last_updated > known.last_updated

    def head(self) -> Snapshot | None:
        """The newest snapshot of the branch, as it was last loaded."""
        return self._metadata.head(self.branch)

    def check_writable(self) -> None:
        """Checks that commits are safe: tables in folders on object stores depend on conditional puts.

        Raises:
            UnsupportedTable: the store does not honour them.
            NotAllowed, StorageUnavailable: it refuses, or does not answer.
        """
        if self.server is None and self.pointers.owns_files and self.storage.objects is not None:
            check_heeded(self.name, self._metadata.location, self.storage.objects)

    def check_supported(self) -> None:
        """Checks that this release can compact the table.

        Raises:
            UnsupportedTable: it cannot.
        """
        if self.refusals:
            raise UnsupportedTable(self.name, self.refusals)
