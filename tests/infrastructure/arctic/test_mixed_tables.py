"""Tables of today's layout hold what Amoro's hold, and read as the model says, in every kind of catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from infrastructure.arctic import random_tables
from infrastructure.arctic.merge_on_read import PositionRule, merge_on_read
from infrastructure.arctic.mixed import MixedTable, MixedTables
from infrastructure.arctic.random_tables import RandomHistory
from infrastructure.iceberg import catalogs
from infrastructure.iceberg.catalogs import CatalogAddress
from infrastructure.iceberg.rest_server import RestCatalogServer

COLUMNS = {"id": "long", "p": "string", "v": "string"}
CATALOGS: Mapping[str, Callable[[Path], CatalogAddress]] = {
    "folder": catalogs.folder_of_tables,
    "sql": catalogs.sql,
}


def by_model(
    mixed_tables: MixedTables, table: MixedTable, rule: PositionRule = PositionRule.ABOVE
) -> list[list[Any]]:
    """The rows that must be, sorted."""
    files = mixed_tables.files(table)
    rows = merge_on_read(files.base, files.change, mixed_tables.line(table), table.key, rule)
    return sorted([list(row) for row in rows.rows()], key=repr)


def by_arctic(mixed_tables: MixedTables, table: MixedTable) -> list[list[Any]]:
    """The rows that Arctic reads, sorted."""
    return sorted(mixed_tables.read(table), key=repr)


def metadata(path: str) -> dict[str, Any]:
    """A metadata file of Iceberg's."""
    found: dict[str, Any] = json.loads(Path(path.removeprefix("file:")).read_text())
    return found


@pytest.fixture(params=CATALOGS)
def table(request: pytest.FixtureRequest, mixed_tables: MixedTables, tmp_path: Path) -> MixedTable:
    """An empty table, partitioned by `p`."""
    address = CATALOGS[request.param](tmp_path / "catalog")
    return mixed_tables.create(MixedTable(address, "db.t", COLUMNS, ["id"], ["p"]))


def fill(mixed_tables: MixedTables, table: MixedTable) -> list[list[Any]]:
    """Rows of both stores, in partitions with usual and unusual names; returns those that live."""
    rows: list[list[Any]] = [[1, "a", "x"], [2, "a", "x"], [3, "x/y", "x"], [4, None, "x"]]
    mixed_tables.write_base(table, rows, mixed_tables.begin_transaction(table))
    mixed_tables.write_change(
        table, [["DELETE", 1, "a", "x"], ["INSERT", 5, "x/y", "y"], ["DELETE", 4, None, "x"]]
    )
    return [[2, "a", "x"], [3, "x/y", "x"], [5, "x/y", "y"]]


def test_properties_name_key_and_change_store(mixed_tables: MixedTables, table: MixedTable) -> None:
    state = mixed_tables.state(table)
    base, change = (metadata(path)["properties"] for path in (state.base, state.change))
    assert base["table-format"] == change["table-format"] == "MIXED_ICEBERG"
    assert (base["mixed-format.table-store"], change["mixed-format.table-store"]) == ("base", "change")
    assert base["mixed-format.change.identifier"] == "db.t_change_"
    assert base["mixed-format.primary-key-fields"] == change["mixed-format.primary-key-fields"] == "id"


@pytest.mark.parametrize("optimize", [MixedTables.minor, MixedTables.rewrite], ids=["minor", "rewrite"])
def test_optimizing_keeps_rows_and_moves_line(
    mixed_tables: MixedTables, table: MixedTable, optimize: Callable[[MixedTables, MixedTable], object]
) -> None:
    living = fill(mixed_tables, table)
    assert by_arctic(mixed_tables, table) == by_model(mixed_tables, table) == living
    optimize(mixed_tables, table)
    assert mixed_tables.line(table) == {"p=a": 2, "p=x%2Fy": 2, "p=null": 2}
    assert by_arctic(mixed_tables, table) == by_model(mixed_tables, table) == living
    assert sorted(mixed_tables.read_base(table), key=repr) == living


def test_snapshots_that_move_the_line_have_one_statistics_file(
    mixed_tables: MixedTables, table: MixedTable
) -> None:
    fill(mixed_tables, table)
    mixed_tables.minor(table)
    base = metadata(mixed_tables.state(table).base)
    flagged = {
        snapshot["snapshot-id"]
        for snapshot in base["snapshots"]
        if snapshot["summary"].get("optimized-sequence.exist") == "true"
        and snapshot["summary"].get("base-optimized-time.exist") == "true"
    }
    assert len(flagged) == 2  # The insert files, and the position deletes.
    assert {file["snapshot-id"] for file in base["statistics"]} == flagged
    assert len({file["statistics-path"] for file in base["statistics"]}) == 1
    types = [[blob["type"] for blob in file["blob-metadata"]] for file in base["statistics"]]
    assert types == [["optimized-sequence", "base-optimized-time"]] * 2
    assert "table.partition-properties" not in base["properties"]


def test_line_in_property_is_that_of_versions_until_0_6_0(mixed_tables: MixedTables, tmp_path: Path) -> None:
    address = catalogs.folder_of_tables(tmp_path)
    what = MixedTable(address, "db.t", COLUMNS, ["id"], ["p"], has_line_in_property=True)
    table = mixed_tables.create(what)
    living = fill(mixed_tables, table)
    mixed_tables.rewrite(table)
    base = metadata(mixed_tables.state(table).base)
    held = json.loads(base["properties"]["table.partition-properties"])
    assert {path: each["max-txId"] for path, each in held.items()} == {
        "p=a": "2",
        "p=x%2Fy": "2",
        "p=null": "2",
    }
    assert base["statistics"] == []
    assert by_arctic(mixed_tables, table) == by_model(mixed_tables, table) == living


def test_table_in_rest_catalog_reads_as_model_says(
    mixed_tables: MixedTables, rest_catalog_server: RestCatalogServer
) -> None:
    what = MixedTable(rest_catalog_server.address(), "mixed.t", COLUMNS, ["id"], ["p"])
    table = mixed_tables.create(what)
    living = fill(mixed_tables, table)
    mixed_tables.rewrite(table)
    assert by_arctic(mixed_tables, table) == by_model(mixed_tables, table) == living


def test_consumed_change_files_may_go(mixed_tables: MixedTables, table: MixedTable) -> None:
    living = fill(mixed_tables, table)
    mixed_tables.rewrite(table)
    mixed_tables.expire_change_files(table, [file.path for file in mixed_tables.files(table).change])
    assert mixed_tables.files(table).change == ()
    assert by_arctic(mixed_tables, table) == by_model(mixed_tables, table) == living


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(12))
def test_random_table_reads_as_model_says_and_optimizing_changes_nothing(
    mixed_tables: MixedTables, tmp_path: Path, seed: int
) -> None:
    def create(partition: Sequence[str], properties: Mapping[str, str]) -> MixedTable:
        address = catalogs.folder_of_tables(tmp_path)
        what = MixedTable(address, "db.t", random_tables.COLUMNS, ["id"], partition)
        return mixed_tables.create(what, properties)

    history = RandomHistory.start(mixed_tables, create, seed, has_plain_positions=False)
    for _ in range(2):
        for step in history.changing(4):
            assert by_arctic(mixed_tables, history.table) == by_model(mixed_tables, history.table), step
        before = by_arctic(mixed_tables, history.table)
        optimized = history.optimize()
        after = by_arctic(mixed_tables, history.table)
        assert after == by_model(mixed_tables, history.table) == before, optimized
