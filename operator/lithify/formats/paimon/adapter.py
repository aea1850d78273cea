"""Paimon's implementation of `formats.protocol.table`. Loaded by `formats.registry`."""

from __future__ import annotations

from lithify.formats.paimon import opening
from lithify.formats.paimon.append.clustering.compacting import CLUSTERED
from lithify.formats.paimon.append.compacting import PACKED
from lithify.formats.paimon.compaction.opened_table import OpenedPaimonTable
from lithify.formats.paimon.primary_key.compacting import CompactedTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.table import OpenTable


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run; see `opening`."""
    table = opening.open_table(address)
    if table.schema.primary_key:
        return CompactedTable(table)
    if table.options.clustering is None:
        return OpenedPaimonTable(table, PACKED)
    return OpenedPaimonTable(table, CLUSTERED)
