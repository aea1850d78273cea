"""Catalogs without a server: which there are, what they lack, and errors that say so."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest
from pypaimon import CatalogFactory

from infrastructure.oracle.client import Oracle, Table
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CatalogUnavailable, InvalidOption, LithifyError, NotFound
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.runs import ShiftedClock
from support.tables import data_files, journals, make_plain, stray_files


def jdbc(uri: str) -> dict[str, str]:
    return {"metastore": "jdbc", "uri": uri}


def registered(table: Table, database: Path) -> dict[str, str]:
    """Registers a table in a new SQLite catalog, whose options are returned."""
    options = jdbc(f"jdbc:sqlite:{database}")
    with CatalogFactory.create({"warehouse": str(table.warehouse), **options}) as catalog:
        catalog.create_database("db", ignore_if_exists=False)
    with sqlite3.connect(database) as connection:
        connection.execute("INSERT INTO paimon_tables VALUES ('jdbc', 'db', 't')")
    connection.close()
    return options


def run(table: Table, options: Mapping[str, str]) -> Report:
    address = TableAddress(str(table.warehouse), str(table.name), options)
    return compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), ShiftedClock())


@pytest.mark.oracle
def test_table_of_a_jdbc_catalog_is_compacted_and_java_reads_the_same_rows(
    oracle: Oracle, tmp_path: Path
) -> None:
    table = make_plain(oracle, tmp_path / "warehouse", buckets=2)
    options = registered(table, tmp_path / "catalog.db")
    rows, snapshots = oracle.read(table), oracle.snapshots(table)

    report = run(table, options)

    assert report.status == "Compacted"
    assert [s["commitKind"] for s in oracle.snapshots(table)[len(snapshots) :]] == ["COMPACT"]
    assert oracle.read(table) == rows
    assert {file.level for file in oracle.files(table)} == {5}
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


@pytest.mark.oracle
def test_a_branch_of_a_jdbc_catalog_has_its_own_schema(oracle: Oracle, tmp_path: Path) -> None:
    """Both have a schema of the same number with other columns, and pypaimon knows the table's only."""
    table = make_plain(oracle, tmp_path / "warehouse", commits=2)
    options = registered(table, tmp_path / "catalog.db")
    oracle.create_tag(table, "old")
    oracle.create_branch(table, "b", "old")
    branch = table.branch("b")
    oracle.alter_table(table, {"add_column": {"name": "of the table", "type": "INT"}})
    oracle.alter_table(branch, {"add_column": {"name": "of the branch", "type": "STRING"}})
    oracle.write(branch, [["+I", 1, "new", 1, "kept"]])
    rows = oracle.read(branch)

    assert run(branch, options).status == "Compacted"

    assert oracle.read(branch) == rows
    assert {file.level for file in oracle.files(branch)} == {5}
    with pytest.raises(NotFound) as caught:
        run(table.branch("nobody"), options)
    assert caught.value.what == "branch"


@pytest.mark.oracle
def test_files_that_a_jdbc_catalog_does_not_list_are_no_table(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "warehouse", commits=1)
    before = data_files(table)

    (tmp_path / "catalog.db").touch()
    with pytest.raises(NotFound) as caught:
        run(table, jdbc(f"jdbc:sqlite:{tmp_path}/catalog.db"))

    assert caught.value.what == "table"
    assert data_files(table) == before


@pytest.mark.oracle
@pytest.mark.parametrize("metastore", ["filesystem", "jdbc"])
def test_options_that_choose_another_way_to_files_are_refused(
    oracle: Oracle, tmp_path: Path, metastore: str
) -> None:
    table = make_plain(oracle, tmp_path / "warehouse", commits=1)
    options = registered(table, tmp_path / "catalog.db") if metastore == "jdbc" else {}
    before = data_files(table)

    with pytest.raises(InvalidOption) as caught:
        run(table, {**options, "resolving-file-io.enabled": "true"})

    assert caught.value.option == "resolving-file-io.enabled"
    assert data_files(table) == before


@pytest.mark.parametrize(
    ("options", "error", "code"),
    [
        case({"metastore": "jdbc"}, InvalidOption, 2, id="no database"),
        case(jdbc("jdbc:oracle:thin:@db"), InvalidOption, 2, id="a database that pypaimon does not know"),
        case(jdbc("jdbc:mysql://db/x?password=pw"), InvalidOption, 2, id="MySQL without a driver"),
        case(jdbc("jdbc:postgresql://nowhere.invalid/x"), CatalogUnavailable, 1, id="PostgreSQL nowhere"),
        case(jdbc("jdbc:sqlite:/nowhere/at/all.db"), NotFound, 2, id="a file that does not exist"),
        case(jdbc("jdbc:sqlite:file:/nowhere/x.db"), InvalidOption, 2, id="a URI instead of a file"),
        case(jdbc("jdbc:sqlite:NOISE"), CatalogUnavailable, 1, id="a file that is no database"),
        case({"metastore": "hive", "uri": "thrift://h:1"}, InvalidOption, 2, id="a Hive metastore"),
    ],
)
def test_catalog_that_cannot_be_used_is_one_error(
    tmp_path: Path, options: dict[str, str], error: type[LithifyError], code: int
) -> None:
    noise = tmp_path / "noise"
    noise.write_bytes(b"noise" * 1000)
    options = {key: value.replace("NOISE", str(noise)) for key, value in options.items()}

    with pytest.raises(error) as caught:
        open_table(TableAddress(str(tmp_path), "db.t", options))

    assert caught.value.exit_code == code
    assert "pw" not in str(caught.value)
