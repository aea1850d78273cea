"""The plan of a merge of manifests in any format. Made by the adapters, shown by dry runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lithify.clock import Clock
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.model import SnapshotId

Base = TypeVar("Base")
Planned = TypeVar("Planned")


@dataclass(frozen=True, slots=True)
class ManifestMergePlan(Generic[Base, Planned]):
    """What a merge of manifests rewrites.

    Attributes:
        base: the newest snapshot when it was planned; None for a table without snapshots.
        planned: the manifests; None if nothing is to be done.
        figures: numbers of manifests and entries; of new manifests an estimate.
        oldest: the oldest snapshot.
        clock: source of the time for the commit.
    """

    base: Base | None
    planned: Planned | None
    figures: Mapping[str, int]
    oldest: SnapshotId | None
    clock: Clock = field(repr=False)

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.MERGE_MANIFESTS

    @property
    def is_empty(self) -> bool:
        """Whether nothing is gained by a merge."""
        return self.planned is None

    @property
    def samples(self) -> Sequence[str]:
        """None: no file is deleted."""
        return ()
