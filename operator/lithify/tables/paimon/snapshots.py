"""Snapshots: reading them, and writing the next one so that exactly one writer wins.

Called by `commit`, `orphans` and `table`. On a local file system a snapshot is written beside its place and
linked into it, which the kernel does atomically or not at all (pypaimon checks and then renames, which two
processes can do at the same time). A REST catalog commits on its server. Anything else is refused by
`catalog`: no write there is known to be atomic yet.

Whatever a write returns or raises, the snapshot is then read back, and only what is found there counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from pypaimon.common.json_util import JSON
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import CommitUnknown, CorruptTable, StorageError
from lithify.tables.model import SnapshotId
from lithify.tables.paimon.storage import Storage, reporting

RUN_PROPERTY = "lithify.run"
"""The snapshot property that holds the id of the run that committed it."""


_STEM = "snapshot-"
_SNAPSHOT = re.compile(rf"{_STEM}\d+")


class Written(Enum):
    """What became of an attempt to write a snapshot."""

    OURS = auto()
    LOST = auto()


class SnapshotWriter(Protocol):
    """Tries to put a snapshot in its place; whether that worked is found out by reading it back."""

    def write(self, snapshot: Snapshot, statistics: list[PartitionStatistics]) -> None:
        """Tries once. May raise anything; the outcome is then unknown to this object."""
        ...


class Snapshots:
    """The snapshots of one table's main branch."""

    def __init__(self, table: FileStoreTable, storage: Storage) -> None:
        self._manager = table.snapshot_manager()
        self._storage = storage
        environment = table.catalog_environment
        by_catalog = environment.catalog_loader is not None and environment.supports_version_management
        self._writer: SnapshotWriter = (
            _CatalogWriter(table) if by_catalog else _LinkWriter(self._manager.snapshot_dir, storage)
        )

    def latest(self) -> Snapshot | None:
        """The newest snapshot, None if the table has none.

        Raises:
            CorruptTable: it cannot be read.
        """
        folder = self._manager.snapshot_dir
        try:
            with reporting(folder):
                return self._manager.get_latest_snapshot()
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            raise CorruptTable(folder, f"the newest snapshot cannot be read ({error})") from error

    def get(self, snapshot_id: int) -> Snapshot | None:
        """A snapshot by its id, None if it does not exist (any more or yet).

        Raises:
            CorruptTable: it exists but cannot be read.
        """
        path = self._manager.get_snapshot_path(snapshot_id)
        text = self._storage.read_text(path)
        if text is None:
            return None
        try:
            return JSON.from_json(text, Snapshot)
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptTable(path, f"the snapshot cannot be read ({error})") from error

    def since(self, snapshot_id: int) -> Iterator[Snapshot | None]:
        """The snapshots after the given one up to the newest; None stands for each that is gone."""
        newest = self.latest()
        for number in range(snapshot_id + 1, (newest.id if newest else 0) + 1):
            yield self.get(number)

    def committed_by_run(self, run: str) -> Snapshot | None:
        """The newest snapshot that a run of this id committed, if it is still there."""
        names = [file.name for file in self._storage.list(self._manager.snapshot_dir)]
        numbers = [int(name.removeprefix(_STEM)) for name in names if _SNAPSHOT.fullmatch(name)]
        found = (self.get(number) for number in sorted(numbers, reverse=True))
        return next((s for s in found if s and (s.properties or {}).get(RUN_PROPERTY) == run), None)

    def write(self, snapshot: Snapshot, statistics: list[PartitionStatistics]) -> Written:
        """Writes the next snapshot and reads it back.

        Raises:
            StorageError: it certainly was not written.
            CommitUnknown: nobody can say now whether it was written.
        """
        failure: Exception | None = None
        try:
            self._writer.write(snapshot, statistics)
        except Exception as error:  # noqa: BLE001  # whatever it was, what is in place now decides
            failure = error
        path = self._manager.get_snapshot_path(snapshot.id)
        try:
            found = self.get(snapshot.id)
        except Exception as error:
            raise CommitUnknown(path, f"the snapshot was sent but cannot be read back ({error})") from error
        if found is not None:
            return Written.OURS if found.uuid == snapshot.uuid else Written.LOST
        if failure is None:
            return Written.LOST
        if self._storage.is_local:
            raise StorageError(path, f"the snapshot cannot be written ({failure})") from failure
        raise CommitUnknown(path, f"writing the snapshot failed ({failure})") from failure

    def advance_hint(self, snapshot_id: SnapshotId) -> None:
        """Points the LATEST file, which is a hint only, to a new snapshot."""
        hint = self._manager.latest_file
        with suppress(Exception):
            known = self._storage.read_text(hint)
            if known is None or not known.strip().isdigit() or int(known) < snapshot_id:
                self._storage.write_text(hint, str(snapshot_id))


@dataclass(frozen=True, slots=True)
class _LinkWriter:
    """Creates the snapshot file, which fails if there is one."""

    folder: str
    storage: Storage

    def write(self, snapshot: Snapshot, statistics: list[PartitionStatistics]) -> None:
        del statistics
        self.storage.create_text(f"{self.folder}/snapshot-{snapshot.id}", JSON.to_json(snapshot, indent=2))


class _CatalogWriter:
    """Lets the catalog's server commit."""

    def __init__(self, table: FileStoreTable) -> None:
        self._table = table

    def write(self, snapshot: Snapshot, statistics: list[PartitionStatistics]) -> None:
        base = self._table.snapshot_manager().get_snapshot_by_id(snapshot.id - 1)
        with self._table.new_snapshot_commit() as commit:
            commit.commit(base.uuid if base else None, snapshot, statistics)
