"""Paimon's implementation of `tables.format`. Loaded by `tables.registry`."""

from __future__ import annotations

from lithify.tables.address import TableAddress
from lithify.tables.format import OpenTable
from lithify.tables.paimon.catalog import opening
from lithify.tables.paimon.primary_key.compacting import CompactedTable


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run; see `catalog.opening`."""
    return CompactedTable(opening.open_table(address))
