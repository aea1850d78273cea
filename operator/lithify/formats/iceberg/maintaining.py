"""Opens Iceberg tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.clock import SystemClock
from lithify.formats.iceberg.maintenance.rollback import IcebergRollback
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceSettings


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:
    """Opens a table for its maintenance; see `table.opening`."""
    table = open_iceberg_table(replace(address, overrides={}))
    rollback = IcebergRollback(table, settings, SystemClock(address.zone()))
    return MaintainedTable(table.name, table.uuid, {rollback.kind: rollback})
