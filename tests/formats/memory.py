"""The reference format's tables under the contract; the tests themselves are their other writers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.formats.memory.snapshot import DataFile, Files, Group, Snapshot, parse_snapshot, to_json
from lithify.formats.protocol.address import TableAddress

FIRST, SECOND = Group("a"), Group("b")


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """The place of a table."""

    warehouse: Path
    name: str

    @property
    def folder(self) -> Path:
        """The table's folder."""
        return self.warehouse.joinpath(*self.name.split("."))


@dataclass(frozen=True, slots=True)
class MemoryTables:
    """Tables that the tests write, without Lithify's tasks and commits."""

    format: str = "memory"
    own_points: ClassVar[tuple[str, ...]] = ()
    tells_lost: ClassVar[bool] = True
    a_partition: ClassVar[Mapping[str, str]] = MappingProxyType({"group": FIRST.path})

    def make(self, folder: Path) -> MemoryTable:
        """A table of two groups with three files each."""
        table = MemoryTable(folder / "warehouse", "sales.eu.t")
        self._fill(table)
        return table

    def make_again(self, table: MemoryTable) -> None:
        """Drops a table and creates another one of its name, in its place."""
        shutil.rmtree(table.folder)
        self._fill(table)

    def make_unsupported(self, folder: Path) -> tuple[MemoryTable, str]:
        """A table with an option that nobody knows."""
        table = MemoryTable(folder, "db.refused")
        _define(table, {"encryption": "on"})
        return table, "encryption"

    def address(self, table: MemoryTable) -> TableAddress:
        """Returns the address of the table."""
        return TableAddress(str(table.warehouse), table.name, format=self.format)

    def rows(self, table: MemoryTable) -> list[Any]:
        """All rows, in the order of groups, files and rows."""
        newest = _snapshots(table)[-1]
        files = [
            table.folder / "data" / group.path / name
            for group in newest.files
            for name in newest.names(group)
        ]
        return [row for file in files for row in pq.read_table(file).to_pylist()]

    def append(self, table: MemoryTable) -> None:
        """Others add a row that says `late`."""
        _append(table, FIRST, [(1_000, "late")])

    def compact_first_group(self, table: MemoryTable) -> str:
        """Others write the rows of the first group into one file."""
        newest = _snapshots(table)[-1]
        paths = [table.folder / "data" / FIRST.path / name for name in newest.names(FIRST)]
        joined = pa.concat_tables(pq.read_table(path) for path in paths)
        _commit(table, {**newest.files, FIRST: (_write(table, FIRST, joined),)})
        return FIRST.path

    def roll_back(self, table: MemoryTable) -> None:
        """Others delete the newest snapshot."""
        _path(table, _snapshots(table)[-1].number).unlink()

    def strays(self, table: MemoryTable) -> set[str]:
        """Data files that no snapshot lists, and snapshots that were not finished."""
        listed = {file.name for snapshot in _snapshots(table) for file in snapshot.all_files}
        data = {path.name for path in (table.folder / "data").rglob("*") if path.is_file()}
        return (data - listed) | {path.name for path in (table.folder / "snapshots").glob(".*")}

    def notes(self, table: MemoryTable) -> set[str]:
        """Journals and heartbeats."""
        return {path.name for path in (table.folder / "lithify").rglob("*") if path.is_file()}

    def _fill(self, table: MemoryTable) -> None:
        _define(table, {})
        for start in range(0, 30, 10):
            for group in (FIRST, SECOND):
                _append(table, group, [(key, f"{group.path}-{key}") for key in range(start, start + 10)])


def _define(table: MemoryTable, options: dict[str, str]) -> None:
    for name in ("data", "snapshots"):
        (table.folder / name).mkdir(parents=True, exist_ok=True)
    definition = {"uuid": str(uuid4()), "options": options}
    (table.folder / "definition.json").write_text(json.dumps(definition))


def _append(table: MemoryTable, group: Group, rows: list[tuple[int, str]]) -> None:
    before = _snapshots(table)
    files: Files = before[-1].files if before else {}
    columns = dict(zip(("id", "v"), map(list, zip(*rows, strict=True)), strict=True))
    _commit(table, {**files, group: (*files.get(group, ()), _write(table, group, pa.table(columns)))})


def _write(table: MemoryTable, group: Group, rows: pa.Table) -> DataFile:
    path = table.folder / "data" / group.path / f"{uuid4()}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(rows, path)
    return DataFile(path.name, path.stat().st_size, len(rows))


def _commit(table: MemoryTable, files: Files) -> None:
    number = 1 + max((snapshot.number for snapshot in _snapshots(table)), default=0)
    _path(table, number).write_text(to_json(Snapshot(number, uuid4().hex, number, files)))


def _snapshots(table: MemoryTable) -> list[Snapshot]:
    paths = (table.folder / "snapshots").glob("[0-9]*.json")
    return sorted(
        (parse_snapshot(path.read_text(), str(path)) for path in paths), key=lambda each: each.number
    )


def _path(table: MemoryTable, number: int) -> Path:
    return table.folder / "snapshots" / f"{number}.json"
