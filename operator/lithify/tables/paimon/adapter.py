"""Paimon's implementation of `tables.format`. Loaded by `tables.registry`."""

from __future__ import annotations

from lithify.tables.address import TableAddress
from lithify.tables.format import OpenTable
from lithify.tables.paimon.append.clustering.compacting import CLUSTERED
from lithify.tables.paimon.append.compacting import PACKED
from lithify.tables.paimon.catalog import opening
from lithify.tables.paimon.compaction.opened_table import OpenedTable
from lithify.tables.paimon.primary_key.compacting import CompactedTable


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run; see `catalog.opening`."""
    table = opening.open_table(address)
    if table.schema.primary_key:
        return CompactedTable(table)
    if table.options.clustering is None:
        return OpenedTable(table, PACKED)
    return OpenedTable(table, CLUSTERED)
