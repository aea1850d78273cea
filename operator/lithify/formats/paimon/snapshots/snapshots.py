"""Snapshots: reads them, and writes the next one so that exactly one writer wins.

Called by `committer`, `remains`, `table` and code that observes tables. On a local file system a snapshot
is written beside its place and linked into it, which is atomic (pypaimon checks and then renames, which two
processes can do at the same time). On S3 it is written by a conditional put (`conditional_put`). A REST
catalog commits on its server. `support` refuses anything else: no write there is known to be atomic yet.

Whatever a write returns or raises, its place is then read (`engine.commit.publishing`), and only what is
found counts. A server is asked for the newest snapshot; older ones are read from files, as by all of Paimon's
clients.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from pypaimon.common.json_util import JSON
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics
from pypaimon.snapshot.snapshot_manager import SnapshotManager
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import (
    CatalogUnavailable,
    CorruptTable,
    LithifyError,
    StorageUnavailable,
)
from lithify.formats.paimon.snapshots.committing_server import CatalogServer, has_server
from lithify.formats.paimon.snapshots.conditional_put import ConditionalPut
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.formats.paimon.snapshots.snapshot_properties import is_same
from lithify.io.small_files import MOST_SNAPSHOT
from lithify.io.storage import Storage

_LOOKS = 10
_MOST_STEPS = 256
_MOST_ASKED_FOR = 1000
_STEM = "snapshot-"
_SNAPSHOT = re.compile(rf"{_STEM}[0-9]{{1,19}}")
_NUMBER = re.compile(r"[0-9]{1,19}")


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


class Snapshots:
    """The snapshots of one branch of a table."""

    def __init__(self, table: FileStoreTable, storage: Storage) -> None:
        self._files = SnapshotManager(table.file_io, table.table_path, table.current_branch())
        self._storage = storage
        self._server = CatalogServer(table) if has_server(table) else None
        self._writer = self._server or self._file_writer()

    @property
    def has_server(self) -> bool:
        """Whether a catalog server knows the newest snapshot."""
        return self._server is not None

    @property
    def can_arrive_late(self) -> bool:
        """Whether a snapshot may arrive in its place after its write seems to have failed."""
        return self._writer.can_be_late

    def latest(self) -> Snapshot | None:
        """The newest snapshot, None if the table has none.

        Raises:
            CorruptTable: it cannot be read.
            CatalogUnavailable: the catalog's server does not answer.
        """
        if self._server is not None:
            return self._server.latest()
        folder = self._files.snapshot_dir
        for _ in range(_LOOKS):
            hint = self.hint()
            found = self.get(hint) if hint is not None else None
            if found is not None and not self.exists(found.id + 1):
                return found
            numbers = self.numbers()
            if not numbers and hint is None:
                return None
            found = self.get(numbers[-1]) if numbers else None
            if found is not None:
                return found
            # It expired between listing and reading, or only the hint is left.
        raise CorruptTable(folder, "the newest snapshot is gone whenever it is read")

    def hint(self) -> int | None:
        """The number in the LATEST file, which may be behind, or ahead after a rollback; None without one."""
        try:
            text = (self._storage.read_text(self._files.latest_file, MOST_SNAPSHOT) or "").strip()
        except CorruptTable:
            return 0
        if text and not _NUMBER.fullmatch(text):
            return 0  # there should be snapshots, but not with this number
        return int(text) if text else None

    def path(self, snapshot_id: int) -> str:
        """The file of a snapshot."""
        return f"{self._files.snapshot_dir}/{_STEM}{snapshot_id}"

    def get(self, snapshot_id: int) -> Snapshot | None:
        """A snapshot by its id, None if it does not exist (any more or yet).

        Raises:
            CorruptTable: it exists but cannot be read.
        """
        path = self.path(snapshot_id)
        text = self._storage.read_text(path, MOST_SNAPSHOT)
        if text is None:
            return None
        try:
            found = parse_snapshot(text)
        except ValueError as error:
            raise CorruptTable(path, f"the snapshot cannot be read ({error})") from error
        if found.id != snapshot_id:
            raise CorruptTable(path, f"it says that it is snapshot {found.id}")
        return found

    def exists(self, snapshot_id: int) -> bool:
        """Whether this snapshot has a file; one request."""
        return self._storage.exists(self.path(snapshot_id))

    def has(self, snapshot: Snapshot) -> bool:
        """Whether the file of a snapshot's number has this snapshot and no other."""
        found = self.get(snapshot.id)
        return found is not None and is_same(found, snapshot)

    def numbers(self) -> list[int]:
        """The numbers of all snapshots that have files, ascending."""
        names = self._storage.names_in(self._files.snapshot_dir)
        return sorted(int(name.removeprefix(_STEM)) for name in names if _SNAPSHOT.fullmatch(name))

    def since(self, snapshot_id: int) -> Iterator[Snapshot | None]:
        """The snapshots after the given one up to the newest; None stands for missing ones.

        If there may be very many, a listing finds them: numbers in metadata may be arbitrarily large.
        """
        newest = self.latest()
        if newest is None or newest.id <= snapshot_id:
            return
        between = range(snapshot_id + 1, newest.id)
        if len(between) <= _MOST_ASKED_FOR:
            yield from map(self.get, between)
        else:
            there = [number for number in self.numbers() if number in between]
            yield from map(self.get, there)
            yield from [None] if len(there) < len(between) else []
        yield newest

    def steps(self, base: Snapshot, newest: Snapshot) -> list[Snapshot] | None:
        """The snapshots after `base` up to `newest`, oldest first.

        None if `base` was rolled back or expired, if a snapshot in between is gone, or if there are more than
        `_MOST_STEPS`, so that reading everything is cheaper.
        """
        if is_same(base, newest):
            return []
        if not 0 < newest.id - base.id <= _MOST_STEPS or not self.has(base):
            return None
        between = [self.get(number) for number in range(base.id + 1, newest.id)]
        steps = [snapshot for snapshot in between if snapshot is not None]
        return [*steps, newest] if len(steps) == len(between) else None

    def write(self, snapshot: Snapshot, base: Snapshot, statistics: list[PartitionStatistics]) -> bool:
        """Sends the snapshot that follows `base` once; False if another one was first or the base is gone.

        A number is reused after a rollback and free again after an expiry, so on a file system the base must
        still be in its place; servers check that themselves. The base may leave its place after that check:
        `lineage` checks again.
        """
        if self._server is None and not self.has(base):
            return False
        return self._writer.write(snapshot, base, statistics)

    def is_refusal(self, error: Exception) -> bool:
        """Whether an error of `write` says that the snapshot was not written and will not be.

        A local file system may fail after it has linked the file; whatever its error, the place is read.
        """
        is_answer = not isinstance(error, (CatalogUnavailable, StorageUnavailable))
        return self._writer.can_be_late and isinstance(error, LithifyError) and is_answer

    def in_place(self, snapshot_id: int) -> Snapshot | None:
        """What is in the place of a snapshot that was sent.

        Raises:
            LithifyError: it cannot be read.
        """
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
        s3 = self._storage.s3
        if s3 is None:
            return _LinkWriter(self, self._storage)
        return ConditionalPut(self._files.snapshot_dir, s3)

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
