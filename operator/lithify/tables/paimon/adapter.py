"""Paimon's implementation of `tables.format`. Loaded by `tables.registry`."""

from __future__ import annotations

from lithify.tables.address import TableAddress
from lithify.tables.format import OpenTable
from lithify.tables.paimon.append.clustering.compacting import ClusteredTable
from lithify.tables.paimon.append.compacting import PackedTable
from lithify.tables.paimon.catalog import opening
from lithify.tables.paimon.primary_key.compacting import CompactedTable


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run; see `catalog.opening`."""
    table = opening.open_table(address)
    if table.schema.primary_key:
        return CompactedTable(table)
    return PackedTable(table) if table.options.clustering is None else ClusteredTable(table)
