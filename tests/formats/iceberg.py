"""Tables of Iceberg under the contract, in a catalog on SQLite, written and read by pyiceberg."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import pyarrow as pa
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from lithify.clock import SystemClock
from lithify.formats.iceberg.adapter import OpenedIcebergTable
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.iceberg_tables import Lakehouse

_NAME = "sales.eu.t"
_FIELDS = Schema(
    NestedField(1, "group", StringType()), NestedField(2, "id", LongType()), NestedField(3, "v", StringType())
)
_BY_GROUP = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "group"))
_COLUMNS = pa.schema([("group", pa.string()), ("id", pa.int64()), ("v", pa.string())])


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """The place of a table."""

    lakehouse: Lakehouse

    @property
    def opened(self) -> Table:
        """The table as pyiceberg opens it."""
        return self.lakehouse.catalog().load_table(_NAME)

    @property
    def folder(self) -> Path:
        """The table's folder."""
        return _local(self.opened.location())


@dataclass(frozen=True, slots=True)
class IcebergTables:
    """Tables that pyiceberg makes, reads and changes."""

    format: str = "iceberg"
    own_points: ClassVar[tuple[str, ...]] = ("manifests-written",)
    tells_lost: ClassVar[bool] = True
    a_partition: ClassVar[Mapping[str, str]] = MappingProxyType({"group": "a"})

    def make(self, folder: Path) -> IcebergTable:
        """A table of two groups with three files each."""
        table = IcebergTable(Lakehouse(folder / "lakehouse"))
        self._fill(table)
        return table

    def make_again(self, table: IcebergTable) -> None:
        """Drops a table and creates another one of its name, in its place."""
        folder = table.folder
        table.lakehouse.catalog().drop_table(_NAME)
        shutil.rmtree(folder)
        self._fill(table)

    def make_unsupported(self, folder: Path) -> tuple[IcebergTable, str]:
        """A table of which a class says where its files are."""
        option = "write.location-provider.impl"
        table = IcebergTable(Lakehouse(folder))
        self._create(table, {option: "com.example.Places"})
        return table, option

    def address(self, table: IcebergTable) -> TableAddress:
        """Returns the address of the table."""
        return table.lakehouse.address(_NAME)

    def rows(self, table: IcebergTable) -> list[Any]:
        """All rows, ordered."""
        found = table.opened.scan().to_arrow().select(_COLUMNS.names).to_pylist()
        return sorted(found, key=lambda row: (row["group"], row["id"]))

    def append(self, table: IcebergTable) -> None:
        """Others add a row that says `late`."""
        table.opened.append(_rows("a", [(1_000, "late")]))

    def compact_first_group(self, table: IcebergTable) -> str:
        """Others write the rows of the first partition into one file; returns its group."""
        path = _group_of(self.address(table), "a")
        rows = table.opened.scan(row_filter=EqualTo("group", "a")).to_arrow().cast(_COLUMNS)
        table.opened.overwrite(rows, overwrite_filter=EqualTo("group", "a"))
        return path

    def roll_back(self, table: IcebergTable) -> None:
        """Others make the parent of the newest snapshot the current one."""
        opened = table.opened
        head = opened.current_snapshot()
        assert head is not None
        assert head.parent_snapshot_id is not None
        opened.manage_snapshots().set_current_snapshot(head.parent_snapshot_id).commit()

    def strays(self, table: IcebergTable) -> set[str]:
        """Data and metadata files that nothing refers to."""
        opened = table.opened
        named = {opened.metadata_location, *(entry.metadata_file for entry in opened.metadata.metadata_log)}
        for snapshot in opened.metadata.snapshots:
            named.add(snapshot.manifest_list)
            for manifest in snapshot.manifests(opened.io):
                named.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(opened.io, discard_deleted=True)
                named |= {entry.data_file.file_path for entry in entries}
        there = {path for part in ("data", "metadata") for path in (table.folder / part).rglob("*")}
        return {path.name for path in there if path.is_file()} - {_local(path).name for path in named}

    def notes(self, table: IcebergTable) -> set[str]:
        """Journals and heartbeats."""
        return {path.name for path in (table.folder / "lithify").rglob("*") if path.is_file()}

    def _fill(self, table: IcebergTable) -> None:
        self._create(table, {})
        for start in range(0, 30, 10):
            for group in ("a", "b"):
                numbers = range(start, start + 10)
                table.opened.append(_rows(group, [(number, f"{group}-{number}") for number in numbers]))

    def _create(self, table: IcebergTable, properties: dict[str, str]) -> None:
        table.lakehouse.table(_NAME, schema=_FIELDS, partition_spec=_BY_GROUP, properties=properties)


def _rows(group: str, pairs: list[tuple[int, str]]) -> pa.Table:
    ids, texts = map(list, zip(*pairs, strict=True))
    return pa.table([[group] * len(pairs), ids, texts], schema=_COLUMNS)


def _group_of(address: TableAddress, value: str) -> str:
    """The group that a full compaction plans for a partition."""
    opened, selection = OpenedIcebergTable(open_iceberg_table(address)), Selection(strategy=Strategy.FULL)
    view = opened.pin_view(selection)
    assert view is not None
    units = opened.plan(view, selection, SystemClock()).units
    return next((unit.group.path for unit in units if unit.group.place == f"group={value}"), "")


def _local(location: str) -> Path:
    return Path(location.removeprefix("file://"))
