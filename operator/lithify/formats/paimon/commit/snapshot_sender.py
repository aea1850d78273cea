"""Writes a snapshot to its place and finds out the result, retrying while the storage may still answer.

Used by `committer`. Knows nothing about the content of a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable

from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics

from lithify.clock import Clock
from lithify.engine.commit.patience import Patience
from lithify.errors import CommitUnknown, LithifyError, StorageError
from lithify.formats.paimon.snapshots.lineage import Lineage
from lithify.formats.paimon.snapshots.snapshot_properties import is_same
from lithify.formats.paimon.snapshots.writable_snapshots import WritableSnapshots, Written


class SnapshotSender:
    """Sends the snapshots of one attempt.

    Args:
        snapshots: snapshots of the table.
        lineage: checks whether a snapshot in its place is part of the history.
        patience: number and timing of retries.
        clock: for waiting.
        check_fence: raises `AttemptFenced` if the attempt may not commit any more.
    """

    def __init__(
        self,
        snapshots: WritableSnapshots,
        lineage: Lineage,
        patience: Patience,
        clock: Clock,
        check_fence: Callable[[], None],
    ) -> None:
        self._snapshots = snapshots
        self._lineage = lineage
        self._patience = patience
        self._clock = clock
        self._check_fence = check_fence

    def send(self, snapshot: Snapshot, base: Snapshot, statistics: list[PartitionStatistics]) -> Written:
        """Writes the snapshot that follows `base`; returns what is in its place.

        Raises:
            LithifyError: it certainly was not written.
            CommitUnknown: it is unknown whether it was written.
        """
        written = self._write(snapshot, base, statistics)
        return self._confirmed(snapshot) if written is Written.OURS else written

    def _write(self, snapshot: Snapshot, base: Snapshot, statistics: list[PartitionStatistics]) -> Written:
        try:
            return self._snapshots.write(snapshot, base, statistics)
        except CommitUnknown as unknown:
            if not self._snapshots.can_write_again(unknown):
                raise
            return self._send_again(snapshot, base, statistics, unknown)
        except LithifyError:
            raise
        except BaseException as error:
            raise CommitUnknown(self._snapshots.path(snapshot.id), f"interrupted by {error!r}") from error

    def _confirmed(self, snapshot: Snapshot) -> Written:
        """Checks again whether the table continues from the base; takes the snapshot back if it does not."""
        try:
            return self._lineage.confirm(snapshot)
        except BaseException as error:
            problem = f"it was written, and whether the table goes on from it is unknown ({error!r})"
            raise CommitUnknown(self._snapshots.path(snapshot.id), problem) from error

    def _send_again(
        self,
        snapshot: Snapshot,
        base: Snapshot,
        statistics: list[PartitionStatistics],
        unknown: CommitUnknown,
    ) -> Written:
        """Checks the result for a snapshot, and sends it again while its base is the newest.

        However many of them arrive: they are identical, and at most one is accepted.
        """
        for number in range(self._patience.max_retries):
            try:
                self._patience.wait(number, self._clock)
                written = self._snapshots.read_back(snapshot)
                if written is Written.MISSING and self._is_newest(base):
                    self._check_fence()
                    written = self._snapshots.write(snapshot, base, statistics)
            except StorageError as error:
                unknown = CommitUnknown(unknown.path, error.problem)
            except BaseException as error:
                raise CommitUnknown(unknown.path, f"{unknown.problem}, and then {error!r}") from error
            else:
                if written is not Written.MISSING:
                    return self._snapshots.for_good(written)
        raise unknown

    def _is_newest(self, snapshot: Snapshot) -> bool:
        newest = self._snapshots.latest()
        return newest is not None and is_same(newest, snapshot)
