"""Opens keyed tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.formats.iceberg.maintenance.options import check_overrides
from lithify.formats.mixed.snapshot_expiry import expiry_of_stores
from lithify.formats.mixed.stores import PRIMARY_KEY, open_mixed_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceKind, MaintenanceSettings


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:  # noqa: ARG001  # expiry has none
    """Opens a table for its maintenance; see `stores`.

    Raises:
        InvalidOption: a property is overridden that does not say how long snapshots are kept.
    """
    key = {name: text for name, text in address.overrides.items() if name == PRIMARY_KEY}
    others = {name: text for name, text in address.overrides.items() if name not in key}
    check_overrides(others)
    table = open_mixed_table(replace(address, overrides=key))
    kinds = {MaintenanceKind.EXPIRE_SNAPSHOTS: lambda: expiry_of_stores(table, others)}
    return MaintainedTable(table.name, table.uuid, kinds)
