"""Catalogs in a database, made by pyiceberg on SQLite."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lithify.errors import CatalogUnavailable, InvalidOption, NotFound, OutOfReach
from lithify.formats.iceberg.catalog.connecting import list_tables, open_catalog
from lithify.formats.iceberg.catalog.names import parse_name
from lithify.formats.iceberg.catalog.sql import SqlTables
from lithify.io.access_policy import NOWHERE
from support.iceberg_tables import NAME, Lakehouse, rows


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    return Lakehouse(tmp_path)


def opened(lakehouse: Lakehouse) -> SqlTables:
    found = open_catalog(lakehouse.warehouse, lakehouse.options)
    assert isinstance(found, SqlTables)
    return found


def test_a_table_is_found_where_its_writer_put_it(lakehouse: Lakehouse) -> None:
    table = lakehouse.table()
    assert opened(lakehouse).load(parse_name(NAME)).location == table.metadata_location


def test_namespaces_of_all_levels_are_listed(lakehouse: Lakehouse) -> None:
    for name in ("sales.orders", "sales.eu.orders", "sales.eu.south.orders", "other.t"):
        lakehouse.table(name)
    found = list(list_tables(opened(lakehouse)))
    assert sorted(found) == ["other.t", "sales.eu.orders", "sales.eu.south.orders", "sales.orders"]


def test_only_the_first_of_two_swaps_on_one_base_succeeds(lakehouse: Lakehouse) -> None:
    table = lakehouse.table()
    catalog, name = opened(lakehouse), parse_name(NAME)
    base = catalog.load(name)
    first, second = (catalog.next_location(base, "file:///m", nonce) for nonce in "ab")

    assert catalog.swap(name, base, first, "", lambda: True)
    assert not catalog.swap(name, base, second, "", lambda: True)

    assert catalog.load(name).location == first
    with sqlite3.connect(lakehouse.database) as database:
        found = database.execute("select previous_metadata_location from iceberg_tables").fetchone()
    assert found == (table.metadata_location,)


def test_a_swap_is_lost_to_another_writer(lakehouse: Lakehouse) -> None:
    table = lakehouse.table()
    catalog, name = opened(lakehouse), parse_name(NAME)
    base = catalog.load(name)
    table.append(rows(1))
    assert not catalog.swap(name, base, "file:///m/x", "", lambda: True)
    assert catalog.load(name).location == table.metadata_location


def test_a_swap_that_is_no_longer_wanted_changes_nothing(lakehouse: Lakehouse) -> None:
    lakehouse.table()
    catalog, name = opened(lakehouse), parse_name(NAME)
    base = catalog.load(name)
    assert not catalog.swap(name, base, "file:///m/x", "", lambda: False)
    assert catalog.load(name) == base


def test_metadata_files_are_numbered_on(lakehouse: Lakehouse) -> None:
    lakehouse.table().append(rows(1))
    catalog = opened(lakehouse)
    base = catalog.load(parse_name(NAME))
    assert catalog.next_location(base, "file:///m", "nonce") == "file:///m/00002-nonce.metadata.json"


@pytest.mark.parametrize("name", ["sales.eu.none", "none.orders"])
def test_what_does_not_exist_is_not_found(lakehouse: Lakehouse, name: str) -> None:
    lakehouse.table()
    with pytest.raises(NotFound):
        opened(lakehouse).load(parse_name(name))


def test_a_database_that_does_not_exist_is_not_created(lakehouse: Lakehouse) -> None:
    with pytest.raises(NotFound):
        opened(lakehouse)
    assert not lakehouse.database.exists()


def test_a_database_that_is_none_gives_no_answer(lakehouse: Lakehouse) -> None:
    lakehouse.database.write_text("no database at all, and longer than a header of one", "utf-8")
    with pytest.raises(CatalogUnavailable):
        opened(lakehouse)


def test_the_name_of_the_catalog_is_required(lakehouse: Lakehouse) -> None:
    lakehouse.table()
    options = {key: value for key, value in lakehouse.options.items() if key != "catalog-name"}
    with pytest.raises(InvalidOption) as refused:
        open_catalog(lakehouse.warehouse, options)
    assert refused.value.option == "catalog-name"


def test_a_file_of_the_machine_is_out_of_reach_of_others(lakehouse: Lakehouse) -> None:
    lakehouse.table()
    with pytest.raises(OutOfReach):
        open_catalog(lakehouse.warehouse, lakehouse.options, NOWHERE)
