"""What one expiry of snapshots will do. Pure; made by `snapshot_expiry`, done by it and `deleting`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lithify.columns.column_groups import Numbers
from lithify.formats.iceberg.maintenance.doomed_files import DoomedFiles
from lithify.formats.iceberg.maintenance.named_files import FileKind
from lithify.formats.iceberg.maintenance.retention import Removal
from lithify.formats.iceberg.table.snapshots import Snapshot
from lithify.formats.protocol.maintenance import FOREIGN_FILES, MaintenanceKind
from lithify.formats.protocol.model import SnapshotId

_NAMES = {
    FileKind.DATA: "dataFiles",
    FileKind.DELETES: "deleteFiles",
    FileKind.MANIFEST: "manifests",
    FileKind.LIST: "manifestLists",
    FileKind.STATISTICS: "statisticsFiles",
}


@dataclass(frozen=True, slots=True)
class ExpiryPlan:
    """The snapshots and references that leave the metadata, and the files that go with them.

    Attributes:
        removals: what leaves the metadata of each store.
        stay: the oldest snapshot that stays; None if there is none.
        doomed: the files that nothing else reaches, those of earlier expiries that were cut off included.
        now_millis: when it was planned, for which ages count.
        completes: whether it completes an earlier expiry.
        journals: the journals of earlier expiries that nobody needs after it.
    """

    removals: tuple[Removal, ...]
    stay: Snapshot | None
    doomed: DoomedFiles
    now_millis: int
    completes: bool = False
    journals: tuple[str, ...] = ()

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.EXPIRE_SNAPSHOTS

    @property
    def is_empty(self) -> bool:
        """Whether nothing goes."""
        return not any(self.removals) and not self.completes

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot that stays."""
        return None if self.stay is None else self.stay.snapshot_id

    @property
    def figures(self) -> Mapping[str, int]:
        """How many snapshots, references and files of each kind go."""
        return figures_of(self.removals, self.doomed.counts, self.doomed.foreign)

    @property
    def samples(self) -> Sequence[str]:
        """None: the figures say what goes."""
        return ()


def figures_of(removals: Sequence[Removal], counts: Numbers, foreign: int) -> Mapping[str, int]:
    """The figures of an expiry: what leaves, the number of files by `FileKind`, and of those elsewhere."""
    files = {name: int(counts[kind]) for kind, name in _NAMES.items()}
    removed = {
        "snapshots": sum(len(each.snapshots) for each in removals),
        "references": sum(len(each.references) for each in removals),
    }
    return {**removed, **files, FOREIGN_FILES: foreign}
