"""Snapshots of both stores of keyed tables expire; Arctic and Amoro read the same rows and the same line."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.mixed import MixedTable, MixedTables
from infrastructure.arctic.model import KeyedTable
from infrastructure.iceberg import catalogs
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.maintaining import maintain
from lithify.engine.run.runner import InlineRunner
from lithify.errors import UnsupportedTable
from lithify.formats.mixed.stores import PRIMARY_KEY
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.runs import ShiftedClock

COLUMNS = {"id": "long", "p": "string", "v": "string"}
PROPERTIES = {
    "base.file-index.hash-bucket": "2",
    "change.file-index.hash-bucket": "2",
    PRIMARY_KEY: "id",
}
ALL = {"history.expire.max-snapshot-age-ms": "0"}
MONTH = ShiftedClock(timedelta(days=30))
_TIME = re.compile(r'("(?:timestamp-ms|last-updated-ms)"\s*:\s*)(\d+)')


@pytest.fixture
def table(arctic: Arctic, tmp_path: Path) -> KeyedTable:
    """A table of 0.4.1 with merged changes, moved insert files, and changes that are not merged."""
    table = arctic.create(KeyedTable(tmp_path / "db" / "t", COLUMNS, ["id"], ["p"]), PROPERTIES)
    base = [[n, "ab"[n % 2], "base"] for n in range(8)]
    arctic.write_base(table, base, arctic.begin_transaction(table))
    arctic.write_change(
        table, [["DELETE", 0, "a", "base"], ["DELETE", 1, "b", "base"], ["INSERT", 8, "a", "x"]]
    )
    arctic.rewrite(table)
    arctic.write_change(table, [["INSERT", 9, "b", "moved"]])
    arctic.minor(table)
    arctic.write_change(table, [["DELETE", 2, "a", "base"], ["INSERT", 10, "b", "y"]])
    return table


def age(table: KeyedTable) -> None:
    """Makes all that was committed nine days older."""
    millis = 9 * 24 * 3_600_000
    for path in (*table.base.glob("metadata/*.json"), *table.change.glob("metadata/*.json")):
        text = _TIME.sub(lambda found: f"{found[1]}{int(found[2]) - millis}", path.read_text())
        path.write_text(text)
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def address_in(warehouse: Path, **options: str) -> TableAddress:
    return TableAddress(str(warehouse), "db.t", overrides=options, format="mixed-iceberg")


def address_of(table: KeyedTable) -> TableAddress:
    return address_in(table.location.parent.parent)


def expire(address: TableAddress) -> dict[str, int]:
    given = replace(address, overrides={**address.overrides, **ALL})
    return dict(maintain(given, MaintenanceKind.EXPIRE_SNAPSHOTS, MONTH).figures)


def run(address: TableAddress, strategy: Strategy) -> None:
    compact(Request(address, Selection(strategy=strategy)), InlineRunner(), ShiftedClock())


def rows(arctic: Arctic, table: KeyedTable) -> list[Any]:
    return sorted(arctic.read(table), key=repr)


def parquet_files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*.parquet")}


def named(*stores: Path) -> set[str]:
    """The data files that the remaining snapshots of stores name."""
    found = set[str]()
    for store in stores:
        opened = StaticTable.from_metadata(str(store))
        for snapshot in opened.metadata.snapshots:
            for manifest in snapshot.manifests(opened.io):
                entries = manifest.fetch_manifest_entry(opened.io)
                found |= {each.data_file.file_path.removeprefix("file:") for each in entries}
    return found


def test_what_neither_store_names_goes_and_rows_stay(arctic: Arctic, table: KeyedTable) -> None:
    before, line = rows(arctic, table), arctic.line(table)
    there = parquet_files(table.location)

    figures = expire(address_of(table))

    assert figures["snapshots"] > 2
    assert figures["foreignFiles"] == 0
    assert (rows(arctic, table), arctic.line(table)) == (before, line)
    assert parquet_files(table.location) == named(table.base, table.change)
    assert parquet_files(table.location) < there
    assert not any(expire(address_of(table)).values())


def test_moved_files_stay_for_base_after_the_change_store_has_lost_them(
    arctic: Arctic, table: KeyedTable
) -> None:
    moved = {each.path for each in arctic.files(table).base} & {
        each.path for each in arctic.files(table).change
    }
    assert moved
    before = rows(arctic, table)
    arctic.expire_change_files(table, sorted(moved))

    expire(address_of(table))

    assert all(Path(path.removeprefix("file:")).exists() for path in moved)
    assert rows(arctic, table) == before
    run(address_of(table), Strategy.FULL)
    assert expire(address_of(table))["dataFiles"] >= len(moved)
    assert not any(Path(path.removeprefix("file:")).exists() for path in moved)
    assert rows(arctic, table) == before
    assert parquet_files(table.location) == named(table.base, table.change)


@pytest.mark.parametrize("point", ["expiry-committed", "expired-files-deleted"])
def test_next_run_completes_one_that_was_cut_off(
    arctic: Arctic, table: KeyedTable, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first commit, that of base, the change store still has its snapshots."""
    before = rows(arctic, table)
    with monkeypatch.context() as patched:
        patched.setenv("LITHIFY_FAULTS", f"{point}=raise:{errno.EIO}")
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            expire(address_of(table))
    assert rows(arctic, table) == before

    expire(address_of(table))

    assert rows(arctic, table) == before
    assert parquet_files(table.location) == named(table.base, table.change)
    assert not [*table.location.rglob("lithify/expiry/*")]


def test_line_in_puffin_files_stays_with_the_way_to_it(mixed_tables: MixedTables, tmp_path: Path) -> None:
    catalog = catalogs.folder_of_tables(tmp_path)
    table = mixed_tables.create(MixedTable(catalog, "db.t", COLUMNS, ["id"], ["p"]), PROPERTIES)
    mixed_tables.write_change(table, [["INSERT", 1, "a", "x"], ["INSERT", 2, "b", "y"]])
    mixed_tables.rewrite(table)
    mixed_tables.write_change(table, [["INSERT", 3, "a", "z"]])
    mixed_tables.rewrite(table)
    for number in range(4, 7):  # commits to base without a line
        mixed_tables.write_base(table, [[number, "a", "base"]], mixed_tables.begin_transaction(table))
    mixed_tables.write_change(table, [["DELETE", 1, "a", "x"]])
    before, line = sorted(mixed_tables.read(table), key=repr), mixed_tables.line(table)
    assert line

    figures = expire(address_in(tmp_path))

    assert figures["snapshots"] > 1
    assert figures["statisticsFiles"] == 1, "that of the first line"
    assert sorted(mixed_tables.read(table), key=repr) == before
    assert mixed_tables.line(table) == line


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        case({"table-expire.enabled": "false"}, "table-expire.enabled", id="off by the switch of Amoro"),
        case({"snapshot.keep.duration": "9d"}, "snapshot.keep.duration", id="kept by Amoro's property"),
        case({"gc.enabled": "false"}, "gc.enabled", id="files of others"),
    ],
)
def test_refused_by_name(arctic: Arctic, table: KeyedTable, properties: dict[str, str], name: str) -> None:
    arctic.set_properties(table, properties)
    before = parquet_files(table.location)
    with pytest.raises(UnsupportedTable, match=f"cannot be expired yet.*{name}"):
        expire(address_of(table))
    assert parquet_files(table.location) == before


@pytest.mark.parametrize("store", ["base", "change"])
def test_stores_alone_are_refused(table: KeyedTable, store: str) -> None:
    alone = TableAddress(str(table.location.parent.parent), f"db.t.{store}", format="iceberg")
    with pytest.raises(UnsupportedTable, match=r"cannot be expired yet.*mixed-format.table-store"):
        expire(alone)
