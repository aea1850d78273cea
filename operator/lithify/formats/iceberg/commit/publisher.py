"""Publishes snapshots through the catalog: how Iceberg answers `engine.commit.publishing`.

Used by `committer`. A server compares the branch's head, all other catalogs the pointer; so a copy of a
request that arrives late takes effect only if the first one did not, and nothing else was committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lithify.engine.commit.publishing import Found, Place, Published
from lithify.errors import (
    AttemptFenced,
    CatalogUnavailable,
    CommitUnknown,
    LithifyError,
    StorageUnavailable,
)
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.table.evolving import (
    NO_CHANGES,
    NextVersion,
    TableChanges,
    requirements,
    updates,
)
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import is_whole
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.model import SnapshotId

LOST = "the snapshot was committed and then taken out of the branch's history"


@dataclass(frozen=True, slots=True)
class Draft:
    """A snapshot whose files are on disk.

    Attributes:
        base: the metadata that it was built on.
        pointer: the catalog's mark of that metadata.
        snapshot: the snapshot, as JSON.
        paths: its files, written in this try; the metadata file included if it was written.
        location: the next metadata file; empty if a server writes it.
        version: its content; None if a server makes it.
        changes: what else changes with it.
    """

    base: TableMetadata
    pointer: Pointer
    snapshot: Mapping[str, Any]
    paths: tuple[str, ...]
    location: str = ""
    version: NextVersion | None = None
    changes: TableChanges = NO_CHANGES

    @property
    def id(self) -> int:
        """The snapshot's id."""
        return int(self.snapshot["snapshot-id"])


@dataclass(frozen=True, slots=True)
class SnapshotPublisher:
    """Publishes the snapshots of one attempt.

    Attributes:
        table: the table.
        check_fence: raises `AttemptFenced` if the attempt may not commit any more.
    """

    table: IcebergTable
    check_fence: Callable[[], None]

    @property
    def can_arrive_late(self) -> bool:
        """Catalogs and object stores may carry out a request long after it was sent."""
        return can_arrive_late(self.table)

    def location(self, draft: Draft) -> str:
        """The snapshot and its table."""
        return f"{self.table.name}, snapshot {draft.id}"

    def publish(self, draft: Draft) -> bool:
        """Sends the snapshot to the catalog.

        Raises:
            AttemptFenced: this attempt may not commit any more.
            CatalogUnavailable, StorageUnavailable: the outcome is unknown.
        """
        server = self.table.server
        if server is not None:
            self.check_fence()
            branch = self.table.branch
            return server.update(
                self.table.address,
                requirements(draft.base, branch),
                updates(draft.snapshot, branch, draft.base, draft.changes),
            )
        assert draft.version is not None  # noqa: S101  # `committer` writes it for these catalogs
        text = draft.version.text
        return self.table.pointers.swap(
            self.table.address, draft.pointer, draft.location, text, self._may_send
        )

    def is_refusal(self, error: Exception) -> bool:
        """Whether the catalog has certainly not carried out the request."""
        return isinstance(error, AttemptFenced) or is_refusal(self.table, error)

    def find_published(self, draft: Draft) -> Found:
        """Whether the branch has the snapshot, or has moved on without it."""
        found = self.table.refresh()
        if draft.id in found.snapshots:
            return Found.OURS if self._has(found, draft) else Found.OTHER
        return Found.NOTHING if is_unchanged(found, draft.base) else Found.OTHER

    def never_was_in_place(self, draft: Draft) -> bool:
        """Whether the branch leads back without a gap to what the snapshot was built on, and nobody has it.

        A refusal does not tell: proxies send requests twice, and the copy is refused if the first one was
        carried out. Others may have built on that one, rolled it back, or let it expire.
        """
        try:
            found = self.table.refresh()
        except LithifyError:
            return False
        if self.table.server is None and is_unchanged(found, draft.base):
            return False  # who was first? A replica may lag behind, and this draft be in place
        parent, known = draft.snapshot.get("parent-snapshot-id"), [*found.ancestry(self.table.branch)]
        leads_back = any(each.id == parent for each in known) if parent else is_whole(known)
        return leads_back and draft.id not in found.snapshots

    def may_send_again(self, draft: Draft) -> bool:
        """Whether the metadata still is what the snapshot was built on; checks the fence."""
        self.check_fence()
        return is_unchanged(self.table.refresh(), draft.base)

    def confirm(self, draft: Draft) -> str | None:
        """Nothing to check: catalogs admit a snapshot only on the head that it was built on."""
        del draft
        return None

    def verify(self, draft: Draft) -> Published:
        """Reads the branch again: Java's writers in folders rename over each other.

        Deletes the earlier metadata files that the table's properties no longer keep.
        """
        try:
            found = self.table.reload()
        except LithifyError as error:
            problem = f"it was committed but cannot be read again ({error})"
            raise CommitUnknown(self.location(draft), problem) from error
        if not self._has(found, draft):
            return Published(Place.LOST, reason=LOST)
        delete_forgotten(self.table, draft.version)
        return Published(Place.OURS, SnapshotId(str(draft.id)))

    def _may_send(self) -> bool:
        self.check_fence()
        return True

    def _has(self, found: TableMetadata, draft: Draft) -> bool:
        return any(snapshot.id == draft.id for snapshot in found.ancestry(self.table.branch))


def can_arrive_late(table: IcebergTable) -> bool:
    """Whether a commit may take effect after it seems to have failed."""
    creates_files = table.server is None and table.pointers.owns_files
    return not table.storage.is_local or not creates_files


def is_refusal(table: IcebergTable, error: Exception) -> bool:
    """Whether an error says that a catalog has certainly not carried out a commit, and will not."""
    unknown = (CatalogUnavailable, StorageUnavailable, CommitUnknown)
    is_answer = isinstance(error, LithifyError) and not isinstance(error, unknown)
    return table.server is not None and is_answer


def is_unchanged(found: TableMetadata, base: TableMetadata) -> bool:
    """Whether nothing was committed since; servers need not name metadata files."""
    if found.file and base.file:
        return found.file == base.file
    return found.json == base.json


def delete_refused(table: IcebergTable, base: TableMetadata, location: str) -> None:
    """Deletes the metadata file of a commit that was refused, if another one is seen in its place.

    A refusal does not tell: clients send requests twice, and the copy is refused if the first one was carried
    out. While the newest metadata seem to be the base, a replica may lag behind, and the file may be the
    table's.
    """
    with suppress(LithifyError):
        found = table.reload()
        logged = [each.get("metadata-file") for each in found.json.get("metadata-log") or ()]
        if not is_unchanged(found, base) and location not in (found.file, *logged):
            table.storage.delete(location)


def delete_forgotten(table: IcebergTable, version: NextVersion | None) -> None:
    """Deletes the earlier metadata files that the table's properties no longer keep."""
    for path in version.forgotten if version is not None else ():
        with suppress(LithifyError):
            table.storage.delete(path)
