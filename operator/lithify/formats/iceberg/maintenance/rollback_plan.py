"""Plans a rollback of a branch: which commits it undoes, and whether it may. Pure.

Called by `rollback`. The rules are those of Java's `SetSnapshotOperation.rollbackTo`: the target has to be an
ancestor of the branch's head. Nothing is deleted: snapshots that are undone stay in the metadata until they
expire, and can be made the newest one again by Iceberg's procedure set_current_snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from lithify.errors import NotFound
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.properties import digits_in
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import MINOR, REPLACE, Snapshot
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.rollback import UndoneCommit, losses, shown


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """What one rollback changes.

    Attributes:
        base: the metadata that it was planned on.
        pointer: the catalog's mark of them.
        target: the snapshot that becomes the branch's head.
        later: the snapshots of the branch that are undone, newest first.
        first: the oldest known snapshot of the branch.
    """

    base: TableMetadata
    pointer: Pointer
    target: Snapshot
    later: tuple[Snapshot, ...]
    first: Snapshot

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.ROLL_BACK

    @property
    def is_empty(self) -> bool:
        """Whether the target is the head already."""
        return not self.later

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot of the branch."""
        return self.first.snapshot_id

    @property
    def undone(self) -> list[UndoneCommit]:
        """The commits that are undone, newest first."""
        return [undone_commit(each) for each in self.later]

    @property
    def figures(self) -> Mapping[str, int]:
        """How many snapshots are undone, and how many of them are no compactions."""
        return {"snapshots": len(self.later), "lostCommits": len(losses(self.undone))}

    @property
    def samples(self) -> Sequence[str]:
        """Some of the commits."""
        return shown(self.undone)


def plan_rollback(
    table: str, base: TableMetadata, pointer: Pointer, branch: str, target: int
) -> RollbackPlan:
    """Plans the rollback of a branch to a snapshot.

    Raises:
        NotFound: there is no such snapshot, or it is no ancestor of the branch's head.
    """
    history = [*base.ancestry(branch)]
    later = tuple(takewhile(lambda each: each.id != target, history))
    if len(later) == len(history):
        raise NotFound("snapshot", f"{target} in {table}", _hint(base, branch, history, target))
    return RollbackPlan(base, pointer, history[len(later)], later, history[-1])


def undone_commit(snapshot: Snapshot) -> UndoneCommit:
    """A snapshot as a commit that is undone."""
    summary = snapshot.summary
    operation = summary.get("operation")
    counts = ("added-records", "deleted-records")
    is_counted = any(name in summary for name in counts)
    added, deleted = (digits_in(summary, name) for name in counts)
    return UndoneCommit(
        snapshot=snapshot.snapshot_id,
        kind=operation or "of an unknown operation",
        is_compaction=operation == REPLACE or MINOR in summary,
        millis=snapshot.millis,
        records=added - deleted if is_counted else None,
    )


def _hint(base: TableMetadata, branch: str, history: Sequence[Snapshot], target: int) -> str:
    if not history:
        return f"branch {branch} has no snapshot"
    if target in base.snapshots:
        return (
            f"it is no ancestor of {history[0].id}, the newest snapshot of branch {branch}; a snapshot of "
            "another history is made the newest one by Iceberg's set_current_snapshot"
        )
    return f"it has expired, or never was; the oldest snapshot of branch {branch} is {history[-1].id}"
