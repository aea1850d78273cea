"""Keyed tables of Arctic under the contract; Arctic 0.4.1 makes them, reads them, and plays the others."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from pyiceberg.table import StaticTable

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import KeyedTable
from lithify.clock import SystemClock
from lithify.formats.mixed.adapter import OpenedMixedTable
from lithify.formats.mixed.stores import PRIMARY_KEY, open_mixed_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy

_COLUMNS = {"group": "string", "id": "long", "v": "string"}
_PROPERTIES = {
    "base.file-index.hash-bucket": "1",
    "change.file-index.hash-bucket": "1",
    PRIMARY_KEY: "id",  # which Arctic itself does not write
}
_GROUPS = ("a", "b")


@dataclass(frozen=True, slots=True)
class MixedTables:
    """Tables in folders, with one node in each partition."""

    arctic: Arctic

    own_points: ClassVar[tuple[str, ...]] = ("manifests-written",)
    tells_lost: ClassVar[bool] = True
    a_partition: ClassVar[Mapping[str, str]] = MappingProxyType({"group": "a"})

    def make(self, folder: Path) -> KeyedTable:
        """A table of two partitions with base files, inserts, updates and deletes."""
        table = KeyedTable(folder / "warehouse" / "db" / "t", _COLUMNS, ["id"], ["group"])
        self._fill(table)
        return table

    def make_again(self, table: KeyedTable) -> None:
        """Drops a table and creates another one of its name, in its place."""
        shutil.rmtree(table.location)
        self._fill(table)

    def make_unsupported(self, folder: Path) -> tuple[KeyedTable, str]:
        """A table whose base store is in a location of Hive."""
        table = KeyedTable(folder / "db" / "refused", _COLUMNS, ["id"], ["group"])
        self.arctic.create(table, {**_PROPERTIES, "base.hive.location-root": "/hive/refused"})
        return table, "base.hive.location-root"

    def address(self, table: KeyedTable) -> TableAddress:
        """Returns the address of the table."""
        warehouse, name = table.location.parent.parent, f"{table.location.parent.name}.{table.location.name}"
        return TableAddress(str(warehouse), name, format="mixed-iceberg")

    def rows(self, table: KeyedTable) -> list[Any]:
        """All rows as Arctic merges them, ordered."""
        return sorted(self.arctic.read(table), key=str)

    def append(self, table: KeyedTable) -> None:
        """Others add a base row that says `late`."""
        self.arctic.write_base(table, [["a", 1_000, "late"]], self.arctic.begin_transaction(table))

    def compact_first_group(self, table: KeyedTable) -> str:
        """Others merge the first partition; returns its group."""
        opened, selection = OpenedMixedTable(open_mixed_table(self.address(table))), Selection()
        view = opened.pin_view(selection)
        assert view is not None
        units = opened.plan(view, Selection(strategy=Strategy.FULL), SystemClock()).units
        self.arctic.rewrite(table, ["group=a"])
        return next((unit.group.path for unit in units if unit.folder == "group=a"), "")

    def roll_back(self, table: KeyedTable) -> None:
        """Others put the base store back to the snapshot before its newest."""
        self.arctic.roll_back_base(table)

    def strays(self, table: KeyedTable) -> set[str]:
        """Data and metadata files of the base store that nothing refers to."""
        opened = StaticTable.from_metadata(str(table.base))
        named = {opened.metadata_location, *(entry.metadata_file for entry in opened.metadata.metadata_log)}
        for snapshot in opened.metadata.snapshots:
            named.add(snapshot.manifest_list)
            for manifest in snapshot.manifests(opened.io):
                named.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(opened.io, discard_deleted=True)
                named |= {entry.data_file.file_path for entry in entries}
        there = {path for part in ("data", "metadata") for path in (table.base / part).rglob("*")}
        names = {path.name for path in there if path.is_file() and path.suffix not in (".crc", ".text")}
        return names - {path.rpartition("/")[2] for path in named}

    def notes(self, table: KeyedTable) -> set[str]:
        """Journals and heartbeats."""
        return {path.name for path in (table.base / "lithify").rglob("*") if path.is_file()}

    def _fill(self, table: KeyedTable) -> None:
        self.arctic.create(table, _PROPERTIES)
        for start in range(0, 30, 10):
            rows = [[group, n, f"{group}-{n}"] for group in _GROUPS for n in range(start, start + 10)]
            self.arctic.write_base(table, rows, self.arctic.begin_transaction(table))
        for group in _GROUPS:
            gone = [["DELETE", group, n, f"{group}-{n}"] for n in range(5)]
            new = [["INSERT", group, n, f"{group}-{n}"] for n in range(100, 110)]
            self.arctic.write_change(table, [*gone, *new])
