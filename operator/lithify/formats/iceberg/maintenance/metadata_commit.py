"""Commits of metadata alone, through any catalog: no data file and no snapshot comes.

Called by `removal_commit` and `rollback_commit`, which say what changes. Answers `engine.commit.publishing`,
so a commit is sent again, read back, and counted as done only once it is found. A server checks requirements,
all other catalogs compare the pointer. Deletes no file that metadata names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol
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
from lithify.formats.iceberg.table.evolving import NextVersion
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.table import IcebergTable

_LOST = "it was sent and others have committed, so it may have been undone or may still be carried out"


class MetadataChange(Protocol):
    """What a commit changes, in both ways of saying it."""

    @property
    def title(self) -> str:
        """What it does, for messages."""
        ...

    def version(self, base: TableMetadata, millis: int) -> NextVersion:
        """The next metadata file of catalogs that hold pointers; `millis` is the present time."""
        ...

    def updates(self, base: TableMetadata) -> Sequence[Mapping[str, Any]]:
        """The same for a REST catalog's server."""
        ...

    def requirements(self, base: TableMetadata) -> Sequence[Mapping[str, Any]]:
        """What must hold for the updates."""
        ...

    def is_in(self, found: TableMetadata) -> bool:
        """Whether metadata have the change, whoever made it."""
        ...


@dataclass(frozen=True, slots=True)
class MetadataDraft:
    """A change that can be sent.

    Attributes:
        base: the metadata that it was built on.
        pointer: the catalog's mark of that metadata.
        change: the change.
        location: the next metadata file; empty if a server writes it.
        version: its content; None if a server makes it.
    """

    base: TableMetadata
    pointer: Pointer
    change: MetadataChange
    location: str = ""
    version: NextVersion | None = None


@dataclass(frozen=True, slots=True)
class MetadataPublisher:
    """Publishes metadata of one table; implements `engine.commit.publishing.Publisher`."""

    table: IcebergTable

    @property
    def can_arrive_late(self) -> bool:
        """Whether a request may be carried out long after it was sent."""
        return can_arrive_late(self.table)

    def location(self, draft: MetadataDraft) -> str:
        """The table and the change."""
        return f"{self.table.name}, {draft.change.title}"

    def publish(self, draft: MetadataDraft) -> bool:
        """Sends the change to the catalog.

        Raises:
            CatalogUnavailable, StorageUnavailable: the outcome is unknown.
        """
        server, address, change = self.table.server, self.table.address, draft.change
        if server is not None:
            return server.update(address, change.requirements(draft.base), change.updates(draft.base))
        assert draft.version is not None  # noqa: S101  # `_drafted` makes it for these catalogs
        return self.table.pointers.swap(
            address, draft.pointer, draft.location, draft.version.text, lambda: True
        )

    def is_refusal(self, error: Exception) -> bool:
        """Whether the catalog has certainly not carried out the request."""
        return is_refusal(self.table, error)

    def find_published(self, draft: MetadataDraft) -> Found:
        """Whether the newest metadata have the change; whoever made it, it has the same effect."""
        found = self.table.refresh()
        if draft.change.is_in(found):
            return Found.OURS
        return Found.NOTHING if is_unchanged(found, draft.base) else Found.OTHER

    def may_send_again(self, draft: MetadataDraft) -> bool:
        """Whether the metadata still are what the draft was built on."""
        return is_unchanged(self.table.refresh(), draft.base)

    def confirm(self, draft: MetadataDraft) -> str | None:
        """Nothing to check: catalogs compare the pointer or the heads."""
        del draft
        return None

    def verify(self, draft: MetadataDraft) -> Published:
        """Reads the metadata again: Java's writers in folders rename over each other.

        Deletes the earlier metadata files that the table's properties no longer keep.

        Raises:
            CommitUnknown: they cannot be read, or do not have the change any more.
        """
        try:
            found = self.table.reload()
        except LithifyError as error:
            problem = f"it was committed but the table cannot be read again ({error})"
            raise CommitUnknown(self.location(draft), problem) from error
        if not draft.change.is_in(found):
            raise CommitUnknown(self.location(draft), "another commit was put over ours")
        if found.file == draft.location:  # else somebody else was first, with a log of its own
            delete_forgotten(self.table, draft.version)
        return Published(Place.OURS)


def commit_metadata(
    table: IcebergTable,
    base: TableMetadata,
    pointer: Pointer,
    change: MetadataChange,
    backoff: Backoff,
    millis: int,
) -> bool:
    """Commits a change of metadata; returns whether it was, or others were faster and it certainly was not.

    Args:
        table: the table.
        base: the metadata that it is built on.
        pointer: the catalog's mark of that metadata.
        change: the change.
        backoff: waits while the outcome is unknown.
        millis: the present time.

    Raises:
        CommitUnknown: the outcome is unknown.
        LithifyError: it certainly was not committed.
    """
    publisher, draft = MetadataPublisher(table), _drafted(table, base, pointer, change, millis)
    try:
        place = publish(publisher, draft, backoff).place
    except CommitUnknown:
        raise
    except LithifyError:
        _discard(table, draft)
        raise
    if place is Place.LOST:
        raise CommitUnknown(publisher.location(draft), _LOST)
    if place is Place.OUTRUN:
        _discard(table, draft)
        return False
    publisher.verify(draft)
    return True


def _drafted(
    table: IcebergTable, base: TableMetadata, pointer: Pointer, change: MetadataChange, millis: int
) -> MetadataDraft:
    """The draft; writes the metadata file where creating it is not the commit itself."""
    if table.server is not None:
        return MetadataDraft(base, pointer, change)
    version = change.version(base, millis)
    location = table.pointers.next_location(pointer, base.metadata_folder, str(uuid4()))
    if not table.pointers.owns_files:
        table.storage.create_text(location, version.text)
    return MetadataDraft(base, pointer, change, location, version)


def _discard(table: IcebergTable, draft: MetadataDraft) -> None:
    """Deletes the metadata file of a try that was refused."""
    if draft.location and not table.pointers.owns_files:
        delete_refused(table, draft.base, draft.location)


def commit_patiently(table: IcebergTable, change: Callable[[], MetadataChange], clock: Clock) -> None:
    """Commits a change to the newest metadata, again if others were faster.

    Args:
        table: the table.
        change: makes the change for the newest metadata, which are loaded; may raise if it is not wanted.
        clock: times and waits.

    Raises:
        CommitOutrun: other commits were faster at every try.
        CommitUnknown: the outcome is unknown.
        LithifyError: it certainly was not committed.
    """
    began = clock.now()
    backoff = backoff_of(str(uuid4()), commit_patience(table.properties), clock)
    for tries in count():
        table.refresh()
        millis = epoch_millis(clock.now())
        if commit_metadata(table, table.metadata, table.pointer, change(), backoff, millis):
            return
        seconds = (clock.now() - began).total_seconds()
        if tries >= backoff.patience.max_retries and seconds > backoff.patience.timeout:
            raise CommitOutrun(table.name, tries + 1, seconds)
        backoff.wait(tries)
