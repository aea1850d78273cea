"""The snapshots of a table, as everyone reads them; `writable_snapshots` writes them.

Used by `table` and by code that observes tables. If a catalog's server commits, it is asked for the newest
snapshot; older ones are read from files, as by all of Paimon's clients.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_manager import SnapshotManager
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import (
    CorruptTable,
)
from lithify.formats.paimon.snapshots.committing_server import CatalogServer, has_server
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


class Snapshots:
    """The snapshots of one branch of a table."""

    def __init__(self, table: FileStoreTable, storage: Storage) -> None:
        self._files = SnapshotManager(table.file_io, table.table_path, table.current_branch())
        self._storage = storage
        self._server = CatalogServer(table) if has_server(table) else None

    @property
    def has_server(self) -> bool:
        """Whether a catalog server knows the newest snapshot."""
        return self._server is not None

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
