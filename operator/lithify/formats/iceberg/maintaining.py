"""Opens Iceberg tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files.
"""

from __future__ import annotations

from lithify.formats.iceberg.maintenance.manifest_merge import ManifestMerge
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceSettings


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:
    """Opens a table for its maintenance; see `opening`."""
    table = open_iceberg_table(address)
    kinds = (ManifestMerge(table, settings.memory),)
    return MaintainedTable(table.name, table.uuid, {each.kind: each for each in kinds})
