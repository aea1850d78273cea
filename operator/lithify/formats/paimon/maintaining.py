"""Opens Paimon tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files. A table is opened with its own options, because a run of
maintenance may override others than a compaction.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.formats.paimon.maintenance.manifest_merge import ManifestMerge
from lithify.formats.paimon.maintenance.manifest_refusals import manifest_refusals
from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import overridden, read_retention
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceSettings


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:
    """Opens a table for its maintenance; see `opening`.

    Raises:
        InvalidOption: an option of how long snapshots are kept has no valid value.
    """
    table = open_table(replace(address, overrides={}))
    options = read_retention(overridden(table.stored_options, address.overrides))
    refusals = tuple(manifest_refusals(table, address.catalog_options))
    kinds = (SnapshotExpiry(table, options), ManifestMerge(table, refusals, settings.memory))
    return MaintainedTable(table.name, table.uuid, {each.kind: each for each in kinds})
