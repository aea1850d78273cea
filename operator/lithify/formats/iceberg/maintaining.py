"""Opens Iceberg tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files. A table is opened with its own properties, because a run of
maintenance may override others than a compaction.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.formats.iceberg.maintenance.options import check_overrides, read_rules
from lithify.formats.iceberg.maintenance.snapshot_expiry import SnapshotExpiry, expiry_of_table
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceSettings


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:  # noqa: ARG001  # expiry has none
    """Opens a table for its maintenance; see `table.opening`.

    Raises:
        InvalidOption: a property of how long snapshots are kept has no valid value.
    """
    check_overrides(address.overrides)
    table = open_iceberg_table(replace(address, overrides={}))
    rules = read_rules({**table.metadata.properties, **address.overrides})
    return MaintainedTable(table.name, table.uuid, {SnapshotExpiry.kind: expiry_of_table(table, rules)})
