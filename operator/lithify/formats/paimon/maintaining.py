"""Opens Paimon tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files. A table is opened with its own options, because a run of
maintenance may override others than a compaction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.maintenance.table_rollback import TableRollback
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import overridden, read_retention
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import (
    MaintainedTable,
    Maintenance,
    MaintenanceKind,
    MaintenanceSettings,
)


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:
    """Opens a table for its maintenance; see `opening`.

    Raises:
        InvalidOption: an option of how long snapshots are kept has no valid value.
    """
    table = open_table(replace(address, overrides={}))
    options = read_retention(overridden(table.stored_options, address.overrides))
    kinds: dict[MaintenanceKind, Maintenance[Any]] = {
        SnapshotExpiry.kind: SnapshotExpiry(table, options),
        TableRollback.kind: TableRollback(table, settings),
    }
    return MaintainedTable(table.name, table.uuid, kinds)
