"""Snapshots of a table that can be written, so that exactly one writer wins.

Used by commits and clean-up. On a local file system a snapshot is written beside its place and linked into
it, which is atomic (pypaimon checks and then renames, which two processes can do at the same time). On S3 it
is written by a conditional put (`conditional_put`). A REST catalog commits on its server. `support` refuses
anything else: no write there is known to be atomic yet.

Where Java's committers take a lock of the catalog, writes take it, too: holders of it check a place and then
rename over it, so what is written without it can be replaced. Whatever a write returns or raises, its place
is then read (`engine.commit.publishing`), and only what is found counts. After a write of unknown outcome it
is read under the lock: then nobody is between such a check and its renaming.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from pypaimon.common.json_util import JSON
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import (
    CatalogUnavailable,
    CorruptTable,
    LithifyError,
    StorageUnavailable,
)
from lithify.formats.paimon.catalog.locks import CatalogLock, NoLock
from lithify.formats.paimon.snapshots.conditional_put import ConditionalPut
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.formats.paimon.snapshots.snapshot_properties import is_same
from lithify.formats.paimon.snapshots.snapshots import Snapshots
from lithify.io.storage import Storage


class SnapshotWriter(Protocol):
    """Tries to put a snapshot in its place; reading it back tells whether that worked."""

    @property
    def can_be_late(self) -> bool:
        """Whether a snapshot may arrive in its place after its write seems to have failed."""
        ...

    def write(self, snapshot: Snapshot, base: Snapshot, statistics: list[PartitionStatistics]) -> bool:
        """Tries once; False if another snapshot was there first.

        A `LithifyError` means that nothing was written, except `CatalogUnavailable` and `StorageUnavailable`:
        then the outcome is unknown to this object, as for any other exception.
        """
        ...


class WritableSnapshots(Snapshots):
    """The snapshots of one branch of a table, and the place of the next one.

    Args:
        table: pypaimon's table.
        storage: access to its files.
        lock: the lock that all committers take; none by default.
    """

    def __init__(self, table: FileStoreTable, storage: Storage, lock: CatalogLock | None = None) -> None:
        super().__init__(table, storage)
        self._writer: SnapshotWriter = self._server or self._file_writer()
        self._lock = lock or NoLock()
        self._has_begun = False
        self._is_in_doubt = False

    @property
    def can_arrive_late(self) -> bool:
        """Whether a snapshot may arrive in its place after its write seems to have failed."""
        return self._writer.can_be_late

    def write(
        self,
        snapshot: Snapshot,
        base: Snapshot,
        statistics: list[PartitionStatistics],
        check_fence: Callable[[], None],
    ) -> bool:
        """Sends the snapshot that follows `base` once; False if another one was first or the base is gone.

        A number is reused after a rollback and free again after an expiry, so on a file system the base must
        still be in its place; servers check that themselves. The base may leave its place after that check:
        `lineage` checks again. The fence is checked if another writer had the lock first.
        """
        self._has_begun = False
        with self._lock.held() as had_to_wait:
            if had_to_wait:
                check_fence()
            self._has_begun = self._is_in_doubt = True
            is_written = self._follows(base) and self._writer.write(snapshot, base, statistics)
        self._is_in_doubt = False
        return is_written

    def _follows(self, base: Snapshot) -> bool:
        return self._server is not None or self.has(base)

    def is_refusal(self, error: Exception) -> bool:
        """Whether an error of `write` says that the snapshot was not written and will not be.

        A local file system may fail after it has linked the file; whatever its error, the place is read.
        """
        if not self._has_begun:
            return True  # the lock was not ours, or the attempt was fenced while others had it
        is_answer = not isinstance(error, (CatalogUnavailable, StorageUnavailable))
        return self._writer.can_be_late and isinstance(error, LithifyError) and is_answer

    def in_place(self, snapshot_id: int) -> Snapshot | None:
        """What is in the place of a snapshot that was sent.

        Raises:
            LithifyError: it cannot be read.
        """
        if not self._is_in_doubt:
            return self._read_place(snapshot_id)
        with self._lock.held():
            return self._read_place(snapshot_id)

    def _read_place(self, snapshot_id: int) -> Snapshot | None:
        newest = self._server.latest() if self._server is not None else None
        if self._server is None or (newest is not None and newest.id > snapshot_id):
            found = self.get(snapshot_id)
            if found is None and newest is not None:
                raise CorruptTable(self.path(snapshot_id), "it was expired meanwhile")
            return found
        return newest if newest is not None and newest.id == snapshot_id else None

    def remove(self, snapshot: Snapshot) -> bool:
        """Deletes the file of a snapshot; False if it is gone, or has another snapshot by now.

        A hint that names it is deleted first: Java would follow it, and without one it lists the snapshots.
        """
        if self.hint() == snapshot.id:
            self._storage.delete(self._files.latest_file)
        return self._storage.delete_text(self.path(snapshot.id), lambda text: _is_text_of(text, snapshot))

    def restore(self, snapshot: Snapshot) -> bool:
        """Puts a removed snapshot back in its place; False if the place is taken."""
        return self._storage.create_text(self.path(snapshot.id), JSON.to_json(snapshot, indent=2))

    def _file_writer(self) -> SnapshotWriter:
        objects = self._storage.objects
        if objects is None:
            return _LinkWriter(self, self._storage)
        return ConditionalPut(self._files.snapshot_dir, objects)

    def advance_hint(self, snapshot_id: int) -> None:
        """Points the LATEST hint to a new snapshot; servers do that themselves."""
        if self._server is not None:
            return
        hint = self._files.latest_file
        with suppress(Exception):
            known = self._storage.read_text(hint)
            if known is None or not known.strip().isdigit() or int(known) < snapshot_id:
                self._storage.write_text(hint, str(snapshot_id))
                if self.get(snapshot_id) is None:
                    # Rolled back concurrently: Java would trust a hint to it. Without a hint it lists the
                    # snapshots.
                    self._storage.delete(hint)


def _is_text_of(text: str, snapshot: Snapshot) -> bool:
    try:
        return is_same(parse_snapshot(text), snapshot)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class _LinkWriter:
    """Creates the snapshot file, which fails if there is one.

    Attributes:
        snapshots: snapshots of the table.
        storage: access to their files.
    """

    snapshots: Snapshots
    storage: Storage

    can_be_late = False

    def write(self, snapshot: Snapshot, base: Snapshot, statistics: list[PartitionStatistics]) -> bool:
        """Tries once; False if the name is taken, or the base has left its place.

        The base is checked last, just before the file is linked.
        """
        del statistics
        path, text = self.snapshots.path(snapshot.id), JSON.to_json(snapshot, indent=2)
        return self.storage.create_text(path, text, lambda: self.snapshots.has(base))
