"""Opens Iceberg tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files. A table is opened with its own properties, because a run of
maintenance may override others than a compaction.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.formats.iceberg.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceSettings


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:
    """Opens a table for its maintenance; see `table.opening`."""
    table = open_iceberg_table(replace(address, overrides={}))
    return MaintainedTable(table.name, table.uuid, {OrphanRemoval.kind: OrphanRemoval(table, settings)})
