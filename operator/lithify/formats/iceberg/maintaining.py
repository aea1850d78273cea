"""Opens Iceberg tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files. A table is opened with its own properties, because a run of
maintenance may override others than a compaction.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.clock import SystemClock
from lithify.formats.iceberg.maintenance.manifest_merge import ManifestMerge
from lithify.formats.iceberg.maintenance.options import check_overrides
from lithify.formats.iceberg.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.iceberg.maintenance.rollback import IcebergRollback
from lithify.formats.iceberg.maintenance.snapshot_expiry import SnapshotExpiry, expiry_of_table
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceKind, MaintenanceSettings, Maker


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:
    """Opens a table for its maintenance; see `table.opening`.

    Raises:
        InvalidOption: a property is overridden that does not say how long snapshots are kept.
    """
    check_overrides(address.overrides)
    table = open_iceberg_table(replace(address, overrides={}))
    kinds: dict[MaintenanceKind, Maker] = {
        SnapshotExpiry.kind: lambda: expiry_of_table(table, address.overrides),
        ManifestMerge.kind: lambda: ManifestMerge(table, settings.memory),
        OrphanRemoval.kind: lambda: OrphanRemoval(table, settings),
        IcebergRollback.kind: lambda: IcebergRollback(table, settings, SystemClock(address.zone())),
    }
    return MaintainedTable(table.name, table.uuid, kinds)
