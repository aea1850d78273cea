"""Keyed tables in each kind of catalog: rows stay, and the line moves in the form in which they have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.arctic.mixed import MixedTable, MixedTables
from infrastructure.iceberg import catalogs
from infrastructure.iceberg.catalogs import CatalogAddress
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.formats.mixed.observing.observer import OBSERVED
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.iceberg_runs import options_of

COLUMNS = {"id": "long", "p": "string", "v": "string"}


@pytest.fixture(params=["rest", "sql", "folder"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogAddress:
    if request.param == "rest":
        address: CatalogAddress = request.getfixturevalue("rest_catalog_server").address()
        return address
    return catalogs.sql(tmp_path / "sql") if request.param == "sql" else catalogs.folder_of_tables(tmp_path)


@pytest.mark.parametrize("in_property", [False, True], ids=["line in files", "line in the property"])
def test_rows_stay_and_the_line_moves(
    mixed_tables: MixedTables, catalog: CatalogAddress, *, in_property: bool
) -> None:
    name = f"keyed.{'old' if in_property else 'new'}"
    made = MixedTable(catalog, name, COLUMNS, ["id"], ["p"], has_line_in_property=in_property)
    table = mixed_tables.create(made)
    rows = [[number, f"p{number % 2}", "x"] for number in range(20)]
    mixed_tables.write_base(table, rows, mixed_tables.begin_transaction(table))
    mixed_tables.write_change(table, [["DELETE", 1, "p1", "x"], ["INSERT", 30, "p0", "y"]])
    mixed_tables.rewrite(table)  # Amoro's commit, which begins the line
    mixed_tables.write_change(table, [["DELETE", 2, "p0", "x"], ["INSERT", 31, "p0", "y"]])
    before, line = sorted(mixed_tables.read(table)), mixed_tables.line(table)
    warehouse, options = options_of(catalog)
    address = TableAddress(warehouse, name, options, format="mixed-iceberg")

    report = compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), SystemClock())

    found = OBSERVED.list_tables(address)
    assert name in found, "an operator finds the table"
    assert f"{name}_change_" not in found
    assert report.status == "Compacted"
    assert sorted(mixed_tables.read(table)) == sorted(mixed_tables.read_base(table)) == before
    assert mixed_tables.line(table)["p=p0"] > line["p=p0"]
    assert mixed_tables.line(table)["p=p1"] == line["p=p1"]
