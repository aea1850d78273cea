"""The plan of an expiry of snapshots: made by `expiry`, shown by dry runs, executed by `deleting`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.formats.paimon.maintenance.consumers import Consumer
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.snapshots.holders import Holder
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.model import SnapshotId


@dataclass(frozen=True, slots=True)
class Doomed:
    """The paths of files that go, by kind."""

    data: pa.Array
    changelog: pa.Array
    indexes: tuple[str, ...]
    statistics: tuple[str, ...]
    manifests: tuple[str, ...]
    lists: tuple[str, ...]

    @property
    def figures(self) -> dict[str, int]:
        """How many files of each kind go."""
        return {
            "dataFiles": len(self.data),
            "changelogFiles": len(self.changelog),
            "indexFiles": len(self.indexes),
            "statisticsFiles": len(self.statistics),
            "manifests": len(self.manifests) + len(self.lists),
        }


NOTHING = Doomed(pa.array([], pa.string()), pa.array([], pa.string()), (), (), (), ())


@dataclass(frozen=True, slots=True)
class ExpiryPlan:
    """What one expiry deletes.

    Attributes:
        snapshots: ids of the snapshots that go, ascending.
        end: the oldest snapshot that stays, as it was when the plan was made; None for an empty table.
        latest: the newest snapshot then.
        doomed: the files that go before the snapshots.
        seen: all holders of the table then.
        hint: the number to write into the EARLIEST file; None if that names a snapshot that stays already.
        changelogs: ids of the changelogs that go, ascending.
        becoming: those of the snapshots whose changelogs outlive them.
        changelog_hint: the number to write into the EARLIEST file of changelogs; None if it is right.
        consumers: the consumers that go, because they have not moved for too long.
        unread: what a consumer may not have still to read, because it goes: ids below this one.
    """

    snapshots: tuple[int, ...]
    end: Snapshot | None
    latest: int
    doomed: Doomed
    seen: frozenset[Holder]
    hint: int | None
    changelogs: tuple[int, ...] = ()
    becoming: frozenset[int] = frozenset()
    changelog_hint: int | None = None
    consumers: tuple[Consumer, ...] = ()
    unread: int = 0

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.EXPIRE_SNAPSHOTS

    @property
    def is_empty(self) -> bool:
        """Whether nothing goes."""
        return not (self.snapshots or self.changelogs or self.consumers)

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot that stays."""
        return None if self.end is None else snapshot_id(self.end.id)

    @property
    def figures(self) -> Mapping[str, int]:
        """How many files of each kind go."""
        return {
            "snapshots": len(self.snapshots),
            "changelogs": len(self.changelogs),
            "consumers": len(self.consumers),
            **self.doomed.figures,
        }

    @property
    def samples(self) -> Sequence[str]:
        """None: the figures say what goes."""
        return ()
