"""Commits that some snapshots and references leave the metadata, through any catalog.

Called by `snapshot_expiry`. Answers `engine.commit.publishing`, so a commit is sent again, read back, and
counted as done only once it is found. A commit that was outrun is tried again on the newer metadata, if that
would let the same snapshots go. Deletes no file that metadata names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from uuid import uuid4

from lithify.clock import Clock, epoch_millis
from lithify.engine.commit.patience import Backoff, backoff_of
from lithify.engine.commit.publishing import Found, Place, Published, publish
from lithify.errors import CommitOutrun, CommitUnknown, LithifyError
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.commit.options import commit_patience
from lithify.formats.iceberg.commit.publisher import (
    can_arrive_late,
    delete_forgotten,
    delete_refused,
    is_refusal,
    is_unchanged,
)
from lithify.formats.iceberg.maintenance.next_metadata import (
    removal_requirements,
    removal_updates,
    version_without,
)
from lithify.formats.iceberg.maintenance.retention import Removal
from lithify.formats.iceberg.table.evolving import NextVersion
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.table import IcebergTable

CheckCurrent = Callable[[], None]
"""Raises `StalePlan` if something may not leave the metadata as it was last loaded."""


@dataclass(frozen=True, slots=True)
class RemovalDraft:
    """The metadata without what leaves it.

    Attributes:
        base: the metadata that it was built on.
        pointer: the catalog's mark of that metadata.
        removal: what leaves it.
        location: the next metadata file; empty if a server writes it.
        version: its content; None if a server makes it.
    """

    base: TableMetadata
    pointer: Pointer
    removal: Removal
    location: str = ""
    version: NextVersion | None = None


@dataclass(frozen=True, slots=True)
class RemovalPublisher:
    """Publishes metadata of one table; implements `engine.commit.publishing.Publisher`."""

    table: IcebergTable

    @property
    def can_arrive_late(self) -> bool:
        """Whether a request may be carried out long after it was sent."""
        return can_arrive_late(self.table)

    def location(self, draft: RemovalDraft) -> str:
        """The table, and how many snapshots go."""
        return f"{self.table.name}, without {len(draft.removal.snapshots)} snapshots"

    def publish(self, draft: RemovalDraft) -> bool:
        """Sends the change to the catalog.

        Raises:
            CatalogUnavailable, StorageUnavailable: the outcome is unknown.
        """
        server, address = self.table.server, self.table.address
        if server is not None:
            changes = removal_updates(draft.base, draft.removal)
            return server.update(address, removal_requirements(draft.base), changes)
        assert draft.version is not None  # noqa: S101  # `_draft` makes it for these catalogs
        return self.table.pointers.swap(
            address, draft.pointer, draft.location, draft.version.text, lambda: True
        )

    def is_refusal(self, error: Exception) -> bool:
        """Whether the catalog has certainly not carried out the request."""
        return is_refusal(self.table, error)

    def find_published(self, draft: RemovalDraft) -> Found:
        """Whether all is gone from the newest metadata; whoever did that, it has the same effect."""
        found = self.table.refresh()
        if is_gone(draft.removal, found):
            return Found.OURS
        return Found.NOTHING if is_unchanged(found, draft.base) else Found.OTHER

    def may_send_again(self, draft: RemovalDraft) -> bool:
        """Whether the metadata still is what the draft was built on."""
        return is_unchanged(self.table.refresh(), draft.base)

    def confirm(self, draft: RemovalDraft) -> str | None:
        """Nothing to check: what is gone is gone."""
        del draft
        return None

    def verify(self, draft: RemovalDraft) -> Published:
        """Reads the metadata again: Java's writers in folders rename over each other.

        Raises:
            CommitUnknown: it cannot be read, or something is there again.
        """
        try:
            found = self.table.reload()
        except LithifyError as error:
            problem = f"they were removed but the table cannot be read again ({error})"
            raise CommitUnknown(self.location(draft), problem) from error
        if not is_gone(draft.removal, found):
            raise CommitUnknown(self.location(draft), "another commit was put over ours")
        if found.file == draft.location:  # else another expiry was first, with a log of its own
            delete_forgotten(self.table, draft.version)
        return Published(Place.OURS)


def is_gone(removal: Removal, metadata: TableMetadata) -> bool:
    """Whether metadata has nothing of what leaves it."""
    return not (removal.snapshots & metadata.snapshots.keys() or removal.references & metadata.refs.keys())


def commit_removal(
    table: IcebergTable, removal: Removal, check_current: CheckCurrent, clock: Clock
) -> TableMetadata:
    """Removes snapshots and references from a table's metadata; returns the metadata without them.

    Raises:
        StalePlan: they may not go any more.
        CommitOutrun: other commits were faster at every try.
        CommitUnknown: the outcome is unknown, so no file may be deleted.
        LithifyError: they certainly have not gone.
    """
    publisher, began = RemovalPublisher(table), clock.now()
    backoff = backoff_of(str(uuid4()), commit_patience(table.properties), clock)
    for tries in count():
        table.refresh()
        check_current()
        draft = _draft(table, removal, epoch_millis(clock.now()))
        place = _publish(publisher, draft, backoff)
        if place is Place.OURS:
            publisher.verify(draft)
            return table.metadata
        seconds = (clock.now() - began).total_seconds()
        if tries >= backoff.patience.max_retries and seconds > backoff.patience.timeout:
            raise CommitOutrun(table.name, tries + 1, seconds)
        backoff.wait(tries)
    raise AssertionError("unreachable")


def _publish(publisher: RemovalPublisher, draft: RemovalDraft, backoff: Backoff) -> Place:
    """Publishes a draft; deletes its metadata file if that certainly is not, and will not be, the table's."""
    try:
        place = publish(publisher, draft, backoff).place
    except CommitUnknown:
        raise
    except LithifyError:
        _discard(publisher.table, draft)
        raise
    if place is Place.LOST:
        raise CommitUnknown(publisher.location(draft), "it was sent, and other commits came after it")
    if place is Place.OUTRUN:
        _discard(publisher.table, draft)
    return place


def _draft(table: IcebergTable, removal: Removal, millis: int) -> RemovalDraft:
    """The draft; writes the metadata file where creating it is not the commit itself."""
    base, pointer = table.metadata, table.pointer
    if table.server is not None:
        return RemovalDraft(base, pointer, removal)
    version = version_without(base, removal, millis)
    location = table.pointers.next_location(pointer, base.metadata_folder, str(uuid4()))
    if not table.pointers.owns_files:
        table.storage.create_text(location, version.text)
    return RemovalDraft(base, pointer, removal, location, version)


def _discard(table: IcebergTable, draft: RemovalDraft) -> None:
    """Deletes the metadata file of a try that another commit was faster than."""
    if draft.location and not table.pointers.owns_files:
        delete_refused(table, draft.base, draft.location)
