"""Puts snapshots of reference tables in their places: how the format answers `engine.commit.publishing`.

Used by steps. A snapshot is a file that one writer can create, and nobody replaces it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lithify.engine.commit.publishing import Found, Place, Published
from lithify.errors import AttemptFenced
from lithify.formats.memory.snapshot import Snapshot
from lithify.formats.memory.table import MemoryTable


@dataclass(frozen=True, slots=True)
class Draft:
    """The next snapshot, and the one before it."""

    base: Snapshot
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class SnapshotPublisher:
    """Publishes the snapshots of one attempt.

    Attributes:
        table: the table.
        check_fence: raises `AttemptFenced` if the attempt may not commit any more.
    """

    table: MemoryTable
    check_fence: Callable[[], None]

    can_arrive_late = False
    """A local file system has either created a file or not, once it returns."""

    def location(self, draft: Draft) -> str:
        """The file of the snapshot."""
        return self.table.snapshot_path(draft.snapshot.number)

    def publish(self, draft: Draft) -> bool:
        """Creates the snapshot, which one writer can.

        The base is looked up last: its number is used again after a rollback. A rollback between that and the
        creation would not be noticed, so tables of this format may only be rolled back while nobody commits.

        Raises:
            AttemptFenced: another run has condemned this attempt.
        """
        return self.table.publish(draft.snapshot, lambda: self._may_commit(draft.base))

    def is_refusal(self, error: Exception) -> bool:
        """Only a condemned attempt has certainly written nothing: an error may follow the creation."""
        return isinstance(error, AttemptFenced)

    def find_published(self, draft: Draft) -> Found:
        """Reads the file of the snapshot's number."""
        found = self.table.snapshot(draft.snapshot.number)
        if found is None:
            return Found.NOTHING
        return Found.OURS if found.id == draft.snapshot.id else Found.OTHER

    def may_send_again(self, draft: Draft) -> bool:
        """Whether the base is still the newest snapshot; checks the fence."""
        self.check_fence()
        newest = self.table.latest()
        return newest is not None and newest.id == draft.base.id

    def confirm(self, draft: Draft) -> str | None:
        """Nothing to check: every snapshot in its place is part of the history."""
        del draft
        return None

    def verify(self, draft: Draft) -> Published:
        """Nothing to read back: nobody replaces a snapshot."""
        return Published(Place.OURS, draft.snapshot.id)

    def _may_commit(self, base: Snapshot) -> bool:
        self.check_fence()
        return self.table.has(base)
