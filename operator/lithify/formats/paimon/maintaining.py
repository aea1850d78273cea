"""Opens Paimon tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files. A table is opened with its own options, because a run of
maintenance may override others than a compaction.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.formats.paimon.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.maintenance.table_rollback import TableRollback
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import overridden, read_retention
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceKind, MaintenanceSettings, Maker


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:
    """Opens a table for its maintenance; see `opening`.

    Raises:
        InvalidOption: an option is overridden that does not say which snapshots are kept.
    """
    table = open_table(replace(address, overrides={}))
    options = overridden(table.stored_options, address.overrides)
    kinds: dict[MaintenanceKind, Maker] = {
        SnapshotExpiry.kind: lambda: SnapshotExpiry(table, read_retention(options)),
        OrphanRemoval.kind: lambda: OrphanRemoval(table, settings),
        TableRollback.kind: lambda: TableRollback(table, settings),
    }
    return MaintainedTable(table.name, table.uuid, kinds)
