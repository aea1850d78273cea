"""Keyed tables that are partitioned by floating-point numbers: readers find the line of every value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.mixed import MixedTable, MixedTables
from infrastructure.arctic.model import Actions, KeyedTable
from infrastructure.iceberg import catalogs
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.mixed.stores import PRIMARY_KEY
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy

VALUES = (0.5, 0.0, "-0.0", -3.25, "NaN", "Infinity", "-Infinity")
"""Values that Java and Python spell alike; rows have the last ones as texts."""
SPELLED_OTHERWISE = (0.1, 1e-7, 16777216.0)
"""0.1 where the column has 32 bits, 1.0E-7 and 1.6777216E7 in Java."""
UNKNOWN_TO_OLDER = 1e22
"""A value whose text has a plus sign, which version 0.4 does not decode."""
Rows = list[list[Any]]


@pytest.fixture(params=["float", "double"])
def columns(request: pytest.FixtureRequest) -> dict[str, str]:
    return {"id": "long", "p": request.param, "v": "string"}


def changes_of(values: tuple[Any, ...]) -> Actions:
    """Replaces the row of each partition."""
    deletes = [["DELETE", number, value, "x"] for number, value in enumerate(values)]
    return [*deletes, *(["INSERT", number, value, "y"] for number, value in enumerate(values))]


def rows_of(values: tuple[Any, ...]) -> Rows:
    return [[number, value, "x"] for number, value in enumerate(values)]


def run(address: TableAddress) -> Report:
    return compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), SystemClock())


def in_order(rows: Rows) -> Rows:
    return sorted(rows, key=repr)


def test_older_readers_find_all_but_encoded_values(
    arctic: Arctic, columns: dict[str, str], tmp_path: Path
) -> None:
    values = (*VALUES, *SPELLED_OTHERWISE, UNKNOWN_TO_OLDER)
    table = arctic.create(KeyedTable(tmp_path / "db" / "t", columns, ["id"], ["p"]))
    arctic.write_base(table, rows_of(values), arctic.begin_transaction(table))
    arctic.write_change(table, changes_of(values))
    before = in_order(arctic.read(table))
    address = TableAddress(str(tmp_path), "db.t", overrides={PRIMARY_KEY: "id"}, format="mixed-iceberg")

    report = run(address)

    assert (len(report.groups), len(report.blocked)) == (len(values) - 1, 1)
    assert "e+2" in report.blocked[0].problem
    assert in_order(arctic.read(table)) == before
    assert len(arctic.line(table)) == len(values) - 1


def test_a_line_that_java_has_spelled_is_read(
    arctic: Arctic, columns: dict[str, str], tmp_path: Path
) -> None:
    values = (*VALUES, *SPELLED_OTHERWISE)
    table = arctic.create(KeyedTable(tmp_path / "db" / "t", columns, ["id"], ["p"]))
    arctic.write_change(table, changes_of(values))
    arctic.rewrite(table)
    before = in_order(arctic.read(table))
    address = TableAddress(str(tmp_path), "db.t", overrides={PRIMARY_KEY: "id"}, format="mixed-iceberg")

    assert run(address).status == "NothingToDo"

    arctic.write_change(table, [["INSERT", 100, 0.5, "z"]])
    assert [group.group.partition("/")[0] for group in run(address).groups] == ["p=0.5"]
    assert in_order(arctic.read(table)) == in_order([*before, [100, 0.5, "z"]])


def test_readers_of_today_find_all_values(
    mixed_tables: MixedTables, columns: dict[str, str], tmp_path: Path
) -> None:
    catalog = catalogs.folder_of_tables(tmp_path)
    table = mixed_tables.create(MixedTable(catalog, "db.t", columns, ["id"], ["p"]))
    mixed_tables.write_base(table, rows_of(VALUES), mixed_tables.begin_transaction(table))
    mixed_tables.write_change(table, changes_of(VALUES))
    before = in_order(mixed_tables.read(table))

    report = run(TableAddress(str(tmp_path), "db.t", format="mixed-iceberg"))

    assert (len(report.groups), report.blocked) == (len(VALUES), ())
    assert in_order(mixed_tables.read(table)) == in_order(mixed_tables.read_base(table)) == before
