"""Drafts of snapshots: what every commit to an Iceberg table puts around its manifest list.

Called by `committer`, and by the maintenance of manifests. Knows nothing of what a snapshot changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from lithify.clock import Clock, epoch_millis
from lithify.errors import LithifyError
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.commit.publisher import Draft
from lithify.formats.iceberg.commit.snapshot_files import SnapshotFiles, WrittenFiles
from lithify.formats.iceberg.table.evolving import NO_CHANGES, TableChanges, with_snapshot
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import EMPTY, Snapshot
from lithify.formats.iceberg.table.table import IcebergTable

_ID_BITS = 63


@dataclass(frozen=True, slots=True)
class Base:
    """The newest snapshot of the branch, with the metadata that has it."""

    metadata: TableMetadata
    pointer: Pointer
    head: Snapshot

    @property
    def parent(self) -> int | None:
        """Its id; None if the branch has no snapshot."""
        return None if self.head is EMPTY else self.head.id

    @property
    def following(self) -> int:
        """The sequence number of the next snapshot; 0 in version 1."""
        return self.metadata.last_sequence + 1 if self.metadata.format_version > 1 else 0


@dataclass(frozen=True, slots=True)
class Drafts:
    """Makes drafts of snapshots of one table.

    Attributes:
        table: the table.
        clock: source of commit times.
    """

    table: IcebergTable
    clock: Clock

    def newest(self, *, may_be_empty: bool = False) -> Base | None:
        """The newest snapshot of the branch; None if it has none, unless it may be empty."""
        metadata = self.table.refresh()
        head = self.table.head() or (EMPTY if may_be_empty else None)
        return None if head is None else Base(metadata, self.table.pointer, head)

    def exists(self, base: Base) -> bool:
        """Whether a snapshot has not expired."""
        return base.head is EMPTY or base.head.id in self.table.refresh().snapshots

    def snapshot(
        self, base: Base, snapshot_id: int, written: WrittenFiles, summary: Mapping[str, str]
    ) -> dict[str, Any]:
        """The snapshot as JSON; its time is not before that of the metadata, which readers demand."""
        metadata = base.metadata
        snapshot: dict[str, Any] = {
            "snapshot-id": snapshot_id,
            **({} if base.parent is None else {"parent-snapshot-id": base.parent}),
            "timestamp-ms": max(epoch_millis(self.clock.now()), metadata.last_updated),
            "summary": dict(summary),
            "manifest-list": written.manifest_list,
            "schema-id": metadata.schema_id,
        }
        if metadata.format_version > 1:
            snapshot["sequence-number"] = base.following
        if written.next_row_id is not None:
            snapshot["first-row-id"] = metadata.next_row_id
            snapshot["added-rows"] = written.next_row_id - metadata.next_row_id
        return snapshot

    def draft(
        self,
        base: Base,
        snapshot: Mapping[str, Any],
        files: SnapshotFiles,
        writer: str,
        further: TableChanges = NO_CHANGES,
    ) -> Draft:
        """The draft; writes the metadata file where creating it is not the commit itself."""
        if self.table.server is not None:
            return Draft(base.metadata, base.pointer, snapshot, tuple(files.paths), changes=further)
        pointers, folder = self.table.pointers, base.metadata.metadata_folder
        version = with_snapshot(base.metadata, snapshot, self.table.branch, further)
        location = pointers.next_location(base.pointer, folder, writer)
        if not pointers.owns_files:
            files.store(location, version.text.encode())
        return Draft(base.metadata, base.pointer, snapshot, tuple(files.paths), location, version, further)

    def delete(self, paths: Sequence[str]) -> None:
        """Deletes files that no snapshot names; the journal covers those that remain."""
        for path in paths:
            with suppress(LithifyError):
                self.table.storage.delete(path)


def new_id(metadata: TableMetadata) -> int:
    """A random id that no snapshot of the table has."""
    while True:
        found = uuid4().int >> (128 - _ID_BITS)
        if found and found not in metadata.snapshots:
            return found
