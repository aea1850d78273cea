"""Paimon's primary-key tables under the contract; Java makes them, reads them, and plays the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from lithify.tables.format import TableAddress
from support.tables import PLAIN, make_plain, stray_files


@dataclass(frozen=True, slots=True)
class PaimonTables:
    """The oracle's tables."""

    oracle: Oracle

    def make(self, folder: Path) -> Table:
        """A table of two buckets, both of which have work."""
        return make_plain(self.oracle, folder, buckets=2, commits=3, keys=30)

    def make_unsupported(self, folder: Path) -> tuple[Table, str]:
        """A table that is refused, and the option that the refusal names."""
        table = Table(folder, "db.refused")
        options = {"bucket": "1", "changelog-producer": "input"}
        self.oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
        return table, "changelog-producer"

    def address(self, table: Table) -> TableAddress:
        """How a run is told which table."""
        return TableAddress(str(table.warehouse), str(table.name))

    def rows(self, table: Table) -> list[Any]:
        """All rows as the format's own engine reads them."""
        return self.oracle.read(table)

    def compact_first_group(self, table: Table) -> str:
        """Others compact one group; returns its path."""
        self.oracle.compact(table, buckets=[0])
        return "bucket-0"

    def append(self, table: Table) -> None:
        """Others add rows."""
        self.oracle.write(table, [["+I", 1_000, "late", 0]])

    def strays(self, table: Table) -> set[str]:
        """Files that nothing refers to."""
        return stray_files(self.oracle, table)
