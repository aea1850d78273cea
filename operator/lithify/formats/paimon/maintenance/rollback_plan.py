"""The plan of a rollback: made by `rollback_planning`, shown by dry runs, executed by `rolling_back`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pypaimon.snapshot.snapshot import Snapshot

from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.snapshots.holders import Holder
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.rollback import UndoneCommit, losses, shown

_COMPACTION = "COMPACT"


@dataclass(frozen=True, slots=True)
class Later:
    """A snapshot, tag or long-lived changelog that is later than the target.

    Attributes:
        holder: its file.
        number: the id of its snapshot.
        snapshot: what it says; None if it cannot be read.
        text: the file, to restore it; empty if it cannot be read.
    """

    holder: Holder
    number: int
    snapshot: Snapshot | None = None
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """What one rollback deletes.

    Attributes:
        target: the snapshot that becomes the newest one.
        first: the oldest snapshot.
        snapshots: the later snapshots, newest first: the order in which they go.
        tags: the tags of later snapshots, newest first.
        changelogs: the long-lived changelogs of later snapshots, newest first.
        seen: all snapshots, tags and changelogs of the branch.
        readers: the consumers that expect a snapshot behind the one after the target, in words.
        needed: paths of some of the target's files that nobody else needs, so that an expiry may delete them.
    """

    target: Snapshot
    first: int
    snapshots: tuple[Later, ...]
    tags: tuple[Later, ...]
    changelogs: tuple[Later, ...]
    seen: frozenset[Holder]
    readers: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.ROLL_BACK

    @property
    def is_empty(self) -> bool:
        """Whether nothing is later than the target."""
        return not (self.snapshots or self.tags or self.changelogs)

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot, which stays."""
        return snapshot_id(self.first)

    @property
    def undone(self) -> list[UndoneCommit]:
        """The commits that are undone, newest first."""
        return [undone_commit(each) for each in self.snapshots]

    @property
    def figures(self) -> Mapping[str, int]:
        """How many snapshots, tags and changelogs go, and how many of the snapshots are no compactions."""
        return {
            "snapshots": len(self.snapshots),
            "lostCommits": len(losses(self.undone)),
            "tags": len(self.tags),
            "changelogs": len(self.changelogs),
        }

    @property
    def samples(self) -> Sequence[str]:
        """Some of the commits and tags that go, and consumers that are ahead of the target."""
        tags = [
            f"tag {each.holder.name.removeprefix('tag-')} of snapshot {each.number}" for each in self.tags
        ]
        return shown(self.undone, *tags, *self.readers)


def number_of(holder: Holder) -> int:
    """The id in the name of a snapshot or long-lived changelog."""
    return int(holder.name.removeprefix(f"{holder.kind}-"))


def undone_commit(later: Later) -> UndoneCommit:
    """A later snapshot as a commit that is undone."""
    snapshot = later.snapshot
    if snapshot is None:
        return UndoneCommit(snapshot_id(later.number))
    return UndoneCommit(
        snapshot=snapshot_id(later.number),
        kind=snapshot.commit_kind,
        is_compaction=snapshot.commit_kind == _COMPACTION,
        millis=snapshot.time_millis,
        records=snapshot.delta_record_count,
        changelog=snapshot.changelog_record_count or 0,
    )
