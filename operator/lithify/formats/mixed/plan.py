"""The plan of a run at a keyed table; implements `Plan` of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.plan import PinnedView
from lithify.formats.mixed.units import MixedUnit
from lithify.formats.mixed.view import MixedView
from lithify.formats.protocol.details import totals_of
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.results import Block


@dataclass(frozen=True, slots=True)
class MixedPlan:
    """The work of a run."""

    view: MixedView
    units: tuple[MixedUnit, ...]
    resting: Mapping[str, int]
    held: tuple[IcebergGroup, ...]
    blocks: tuple[Block, ...] = ()

    deferred = 0
    remaining = None

    @property
    def pinned(self) -> PinnedView:
        """The base store, as it was planned on."""
        return self.view.base

    @property
    def conflicts(self) -> Mapping[IcebergGroup, str]:
        """None: a plan reads no data files, so it misses none."""
        return {}

    @property
    def totals(self) -> Mapping[str, int]:
        """The sums of the units' details."""
        return totals_of(unit.details for unit in self.units)

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the state that was planned on."""
        return self.view.snapshot_id
