"""Paimon's primary-key tables under the contract; Java makes them, reads them, and plays the others."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from infrastructure.oracle.client import Oracle, Table
from lithify.formats.protocol.address import TableAddress
from support.tables import PLAIN, copy_of, journals, kept_journals, make_plain, stray_files


@dataclass(frozen=True, slots=True)
class PaimonTables:
    """The oracle's tables; all are copies of one, which is made in a folder of its own."""

    oracle: Oracle
    home: Path

    own_points = ("manifests-merged", "manifests-written", "hint-written")
    tells_lost = False
    a_partition: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def make(self, folder: Path) -> Table:
        """A table of two buckets, both of which have work; every commit to it merges manifests."""
        model = Table(self.home / "model", "db.t")
        if not model.folder.exists():
            self._make(model)
        return copy_of(model, folder / "warehouse")

    def make_again(self, table: Table) -> None:
        """Drops a table and creates another one of its name, in its place."""
        shutil.rmtree(table.folder)
        self._make(table)

    def _make(self, table: Table) -> None:
        merging = {"manifest.merge-min-count": "2"}
        make_plain(self.oracle, Path(table.warehouse), buckets=2, commits=3, keys=30, **merging)

    def make_unsupported(self, folder: Path) -> tuple[Table, str]:
        """A table that is refused, and the option that the refusal names."""
        table = Table(folder, "db.refused")
        options = {"bucket": "1", "lookup.remote-file.enabled": "true"}
        self.oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
        return table, "lookup.remote-file.enabled"

    def address(self, table: Table) -> TableAddress:
        """Returns the address of the table."""
        return TableAddress(str(table.warehouse), str(table.name))

    def rows(self, table: Table) -> list[Any]:
        """All rows as Java reads them."""
        return self.oracle.read(table)

    def append(self, table: Table) -> None:
        """Others add a row that says `late`."""
        self.oracle.write(table, [["+I", 1_000, "late", 0]])

    def compact_first_group(self, table: Table) -> str:
        """Others compact one bucket; returns its path."""
        self.oracle.compact(table, buckets=[0])
        return "bucket-0"

    def roll_back(self, table: Table) -> None:
        """Others put the table back to the snapshot before its newest."""
        self.oracle.rollback_to(table, snapshot_id=self.oracle.snapshots(table)[-2]["id"])

    def strays(self, table: Table) -> set[str]:
        """Files that nothing refers to, as Java's own search for orphans finds them."""
        return stray_files(self.oracle, table)

    def notes(self, table: Table) -> set[str]:
        """Journals."""
        return journals(table) | kept_journals(table)
