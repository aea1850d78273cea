"""Keyed tables are opened by what their stores say of each other, and refused by name before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from lithify.errors import NotFound, UnsupportedTable
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.mixed.stores import PRIMARY_KEY, open_mixed_table, tables_among
from lithify.formats.protocol.address import TableAddress
from support.cases import case
from support.iceberg_tables import Lakehouse

NAME = "shop.orders"
BASE = {
    "mixed-format.table-store": "base",
    "mixed-format.change.identifier": f"{NAME}_change_",
    PRIMARY_KEY: "id",
}


CHANGE = {"mixed-format.table-store": "change"}


def made(
    folder: Path,
    base: Mapping[str, str] = BASE,
    schema: pa.Schema | None = None,
    change_properties: Mapping[str, str] = CHANGE,
) -> TableAddress:
    """Where a table with both stores is."""
    version = {"format-version": "2"}
    lakehouse = Lakehouse(folder)
    columns = schema or pa.schema([("id", pa.int64()), ("name", pa.string())])
    lakehouse.table(NAME, schema=columns, properties={**version, **base})
    lakehouse.table(f"{NAME}_change_", schema=columns, properties={**version, **change_properties})
    return lakehouse.address(NAME, format="mixed-iceberg")


def test_stores_and_key_are_those_that_the_base_store_names(tmp_path: Path) -> None:
    table = open_mixed_table(made(tmp_path))

    assert (table.base.name, table.change.name, table.key) == (NAME, f"{NAME}_change_", ("id",))
    assert (table.in_folders, table.refusals) == (False, ())


def test_key_of_the_lake_table_wins(tmp_path: Path) -> None:
    address = replace(made(tmp_path), overrides={PRIMARY_KEY: "name, id"})

    assert open_mixed_table(address).key == ("name", "id")


@pytest.mark.parametrize(
    ("properties", "schema", "reason"),
    [
        case({PRIMARY_KEY: ""}, None, PRIMARY_KEY, id="no key"),
        case({PRIMARY_KEY: "id,other"}, None, "other", id="key of an unknown column"),
        case({"format-version": "1"}, None, "format-version = 1", id="version 1"),
        case({"base.hive.location-root": "/hive"}, None, "base.hive.location-root", id="Hive"),
        case(
            {"table.partition-properties": '{"": {"hive-location": "/hive"}}'},
            None,
            "hive-location",
            id="partition in Hive",
        ),
        case({}, pa.schema([("id", pa.uuid())]), "uuid", id="key without a hash that all engines share"),
    ],
)
def test_tables_that_cannot_be_merged_are_refused_by_name(
    tmp_path: Path, properties: Mapping[str, str], schema: pa.Schema | None, reason: str
) -> None:
    table = open_mixed_table(made(tmp_path, {**BASE, **properties}, schema))

    with pytest.raises(UnsupportedTable) as refused:
        table.check_supported()

    assert any(reason in each for each in refused.value.reasons)


def test_change_store_of_another_version_is_refused(tmp_path: Path) -> None:
    table = open_mixed_table(made(tmp_path, change_properties={"format-version": "1"}))

    assert any("change store" in each for each in table.refusals)


def test_plain_table_of_iceberg_is_no_keyed_table(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedTable) as refused:
        open_mixed_table(made(tmp_path, {}))
    assert "mixed-format.table-store" in refused.value.reasons[0]


def test_missing_change_store_is_not_found(tmp_path: Path) -> None:
    address = made(tmp_path)
    Lakehouse(tmp_path).catalog().drop_table(f"{NAME}_change_")

    with pytest.raises(NotFound):
        open_mixed_table(address)


def test_catalogs_list_keyed_tables_by_their_change_stores() -> None:
    names = ("a.t", "a.t_change_", "a.plain", "b.u.base", "b.u.change", "b.alone.base")

    assert sorted(tables_among(names)) == ["a.t", "b.u"]


@pytest.mark.parametrize("name", [NAME, f"{NAME}_change_"], ids=["base", "change"])
def test_stores_are_refused_as_tables_of_their_own(tmp_path: Path, name: str) -> None:
    address = replace(made(tmp_path, change_properties=CHANGE), name=name, format="iceberg")

    with pytest.raises(UnsupportedTable) as refused:
        open_iceberg_table(address).check_supported()

    assert "MixedIceberg" in refused.value.reasons[0]


@pytest.mark.parametrize(
    ("names", "is_refused"),
    [case(("base", "change"), True, id="keyed"), case(("base",), False, id="keyless")],
)
def test_stores_in_folders_are_known_by_the_one_beside_them(
    tmp_path: Path, names: tuple[str, ...], is_refused: bool
) -> None:
    lakehouse = Lakehouse(tmp_path)
    for name in names:
        lakehouse.table(f"db.t.{name}", properties={"table.create-timestamp": "1"})

    opened = open_iceberg_table(lakehouse.address("db.t.base"))

    assert any("MixedIceberg" in each for each in opened.refusals) == is_refused


def test_line_is_read_once_for_the_same_metadata(tmp_path: Path) -> None:
    table = open_mixed_table(made(tmp_path))
    metadata = table.base.metadata
    line = table.read_line(metadata)

    assert table.read_line(metadata) is line
    assert table.read_line(replace(metadata)) is not line
