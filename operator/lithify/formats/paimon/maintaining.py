"""Opens Paimon tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files. A table is opened with its own options: those that one
run of maintenance may override are not those of a compaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import overridden, read_retention
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, Maintenance, MaintenanceKind


@dataclass(frozen=True, slots=True)
class MaintainedPaimonTable(MaintainedTable):
    """A table and the options that this run overrides."""

    table: PaimonTable
    overrides: Mapping[str, str]

    @property
    def name(self) -> str:
        """See the Protocol."""
        return self.table.name

    @property
    def uuid(self) -> str:
        """See the Protocol."""
        return self.table.uuid

    @property
    def kinds(self) -> Mapping[MaintenanceKind, Maintenance[Any]]:
        """See the Protocol."""
        options = read_retention(overridden(self.table.stored_options, self.overrides))
        return {SnapshotExpiry.kind: SnapshotExpiry(self.table, options)}


def open_maintained(address: TableAddress) -> MaintainedTable:
    """Opens a table for its maintenance; see `opening`."""
    return MaintainedPaimonTable(open_table(replace(address, overrides={})), address.overrides)
