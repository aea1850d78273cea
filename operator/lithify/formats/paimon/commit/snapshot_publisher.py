"""Puts the snapshots of one attempt in their places: how Paimon answers `engine.commit.publishing`.

Used by `committer`. Knows nothing about the content of a snapshot, and deletes no file that it names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics

from lithify.engine.commit.publishing import REPLACED, Found, Place, Published
from lithify.errors import CommitUnknown, LithifyError
from lithify.faults import failpoint
from lithify.formats.paimon.snapshots.lineage import Lineage, Standing
from lithify.formats.paimon.snapshots.snapshot_properties import is_same
from lithify.formats.paimon.snapshots.writable_snapshots import WritableSnapshots

TAKEN_BACK = "the table was rolled back, or its snapshots expired, while ours was written"


class SnapshotDraft(Protocol):
    """A snapshot that is to be published."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot."""
        ...

    @property
    def base(self) -> Snapshot:
        """The snapshot before it."""
        ...

    @property
    def statistics(self) -> list[PartitionStatistics]:
        """The changes of its partitions, for servers that count."""
        ...


class SnapshotPublisher:
    """Publishes the snapshots of one attempt.

    Args:
        snapshots: snapshots of the table.
        lineage: checks whether a snapshot in its place is part of the history.
        check_fence: raises `AttemptFenced` if the attempt may not commit any more.
    """

    def __init__(
        self, snapshots: WritableSnapshots, lineage: Lineage, check_fence: Callable[[], None]
    ) -> None:
        self._snapshots = snapshots
        self._lineage = lineage
        self._check_fence = check_fence

    @property
    def can_arrive_late(self) -> bool:
        """Whether a snapshot may arrive in its place after its write seems to have failed."""
        return self._snapshots.can_arrive_late

    def location(self, draft: SnapshotDraft) -> str:
        """The file of the snapshot."""
        return self._snapshots.path(draft.snapshot.id)

    def publish(self, draft: SnapshotDraft) -> bool:
        """Writes the snapshot once; see `WritableSnapshots.write`."""
        return self._snapshots.write(draft.snapshot, draft.base, draft.statistics, self._check_fence)

    def is_refusal(self, error: Exception) -> bool:
        """Whether an error says that a write was not carried out; see `WritableSnapshots.is_refusal`."""
        return self._snapshots.is_refusal(error)

    def find_published(self, draft: SnapshotDraft) -> Found:
        """What is in the place of the snapshot."""
        found = self._snapshots.in_place(draft.snapshot.id)
        if found is None:
            return Found.NOTHING
        return Found.OURS if is_same(found, draft.snapshot) else Found.OTHER

    def may_send_again(self, draft: SnapshotDraft) -> bool:
        """Whether the base is still the newest snapshot; checks the fence.

        Servers accept a snapshot on its base only. On S3 it can only get into its own place, once.
        """
        newest = self._snapshots.latest()
        if newest is None or not is_same(newest, draft.base):
            return False
        self._check_fence()
        return True

    def confirm(self, draft: SnapshotDraft) -> str | None:
        """Checks whether the table continues from the base; takes the snapshot back if it does not."""
        standing = self._lineage.confirm(draft.snapshot)
        return {Standing.TAKEN_BACK: TAKEN_BACK, Standing.REPLACED: REPLACED}.get(standing)

    def verify(self, draft: SnapshotDraft) -> Published:
        """Moves the LATEST hint, then reads the snapshot back.

        A Java writer without a lock checks and then renames. One that had
        checked just before us may still have replaced our snapshot. Another commit may have been built on
        ours in between, so its files may only be deleted after a check of all snapshots (`file_deletion`).
        """
        snapshot = draft.snapshot
        try:
            self._snapshots.advance_hint(snapshot.id)
            failpoint("hint-written")
            found = self._snapshots.get(snapshot.id)
        except LithifyError as error:
            problem = f"it was written but cannot be read again ({error})"
            raise CommitUnknown(self.location(draft), problem) from error
        if found is None or is_same(found, snapshot):
            return Published(Place.OURS, snapshot.id)
        return Published(Place.LOST, reason=REPLACED)
