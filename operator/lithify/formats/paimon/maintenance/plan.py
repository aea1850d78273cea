"""The plan of an expiry of snapshots: made by `expiry`, shown by dry runs, executed by `deleting`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

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
    """

    snapshots: tuple[int, ...]
    end: Snapshot | None
    latest: int
    doomed: Doomed
    seen: frozenset[Holder]
    hint: int | None

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.EXPIRE_SNAPSHOTS

    @property
    def is_empty(self) -> bool:
        """Whether no snapshot goes."""
        return not self.snapshots

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot that stays."""
        return None if self.end is None else snapshot_id(self.end.id)

    @property
    def figures(self) -> Mapping[str, int]:
        """How many files of each kind go."""
        doomed = self.doomed
        return {
            "snapshots": len(self.snapshots),
            "dataFiles": len(doomed.data),
            "changelogFiles": len(doomed.changelog),
            "indexFiles": len(doomed.indexes),
            "statisticsFiles": len(doomed.statistics),
            "manifests": len(doomed.manifests) + len(doomed.lists),
        }

    @property
    def samples(self) -> Sequence[str]:
        """None: the figures say what goes."""
        return ()
