"""Iceberg tables of a real Hive metastore: found, and compacted beside other writers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hive_metastore.ttypes import (
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    UnlockRequest,
)

from infrastructure.hive.metastore import HiveMetastore
from infrastructure.iceberg.catalogs import fresh_name
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.errors import NotFound, UnsupportedTable
from lithify.formats.iceberg.catalog.connecting import list_tables
from lithify.formats.iceberg.catalog.hive import HiveTables
from lithify.formats.iceberg.catalog.names import TableName, parse_name
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.iceberg_runs import CLOCK
from support.iceberg_tables import SCHEMA, rows

IMPATIENT = {
    "lock-check-min-wait-time": "0.01",
    "lock-check-max-wait-time": "0.01",
    "lock-check-retries": "2",
}


@pytest.fixture
def database(hive_metastore: HiveMetastore) -> str:
    name = fresh_name("db")
    hive_metastore.catalog().create_namespace(name)
    return name


@pytest.fixture
def orders(hive_metastore: HiveMetastore, database: str) -> TableName:
    name = f"{database}.orders"
    hive_metastore.catalog().create_table(name, SCHEMA).append(rows(1))
    return parse_name(name)


@pytest.fixture
def hive(hive_metastore: HiveMetastore) -> HiveTables:
    return HiveTables(hive_metastore.uri, {**IMPATIENT})


def swap(hive: HiveTables, name: TableName, location: str = "file:///m/x") -> bool:
    return hive.swap(name, hive.load(name), location, "", lambda: True)


def test_a_compaction_keeps_the_rows_and_what_hive_says_of_the_table(
    hive_metastore: HiveMetastore, orders: TableName
) -> None:
    catalog, name = hive_metastore.catalog(), str(orders)
    for number in (2, 3):
        catalog.load_table(name).append(rows(number))
    with hive_metastore.client() as client:
        before = client.get_table(*name.split("."))
    options = {"metastore": "hive", "uri": hive_metastore.uri}
    address = TableAddress(hive_metastore.warehouse, name, options, format="iceberg")

    compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), CLOCK)

    found = catalog.load_table(name)
    assert len(found.inspect.files()) == 1
    assert found.scan().to_arrow().sort_by("id").equals(rows(1, 2, 3))
    with hive_metastore.client() as client:
        after = client.get_table(*name.split("."))
    assert (after.sd, after.owner, after.tableType) == (before.sd, before.owner, before.tableType)
    changed = {key for key, value in after.parameters.items() if before.parameters.get(key) != value}
    assert changed <= {"metadata_location", "previous_metadata_location", "transient_lastDdlTime"}


def test_tables_of_iceberg_are_listed(hive: HiveTables, orders: TableName) -> None:
    assert str(orders) in list(list_tables(hive))


def test_only_the_first_of_two_swaps_on_one_base_succeeds(hive: HiveTables, orders: TableName) -> None:
    base = hive.load(orders)
    assert hive.swap(orders, base, "file:///m/a", "", lambda: True)
    assert not hive.swap(orders, base, "file:///m/b", "", lambda: True)
    assert hive.load(orders).location == "file:///m/a"


def test_a_swap_is_lost_to_another_writer(
    hive: HiveTables, hive_metastore: HiveMetastore, orders: TableName
) -> None:
    base = hive.load(orders)
    table = hive_metastore.catalog().load_table(str(orders))
    table.append(rows(2))
    assert not hive.swap(orders, base, "file:///m/x", "", lambda: True)
    assert hive.load(orders).location == table.metadata_location


def test_a_lock_of_others_is_not_passed_over_and_swaps_leave_none(
    hive: HiveTables, hive_metastore: HiveMetastore, orders: TableName
) -> None:
    with locked(hive_metastore, orders):
        assert not swap(hive, orders)
    assert swap(hive, orders)
    assert swap(hive, orders, "file:///m/y")


def test_a_commit_that_slips_in_between_our_check_and_the_swap_stays(
    hive: HiveTables, hive_metastore: HiveMetastore, orders: TableName
) -> None:
    """It holds no lock, as writers with `engine.hive.lock-enabled = false`."""
    base = hive.load(orders)

    def commits() -> bool:
        with hive_metastore.client() as client:
            found = client.get_table(*str(orders).split("."))
            found.parameters["metadata_location"] = "of others"
            client.alter_table(*str(orders).split("."), found)
        return True

    assert not hive.swap(orders, base, "file:///m/x", "", commits)
    assert hive.load(orders).location == "of others"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        case("none", NotFound, id="no such table"),
        case("plain", UnsupportedTable, id="not of Iceberg"),
    ],
)
def test_what_is_no_table_of_iceberg_is_refused(
    hive: HiveTables, hive_metastore: HiveMetastore, orders: TableName, name: str, error: type[Exception]
) -> None:
    database, _ = str(orders).split(".")
    with hive_metastore.client() as client:
        plain = client.get_table(database, "orders")
        plain.tableName, plain.parameters = "plain", {}
        client.create_table(plain)
    with pytest.raises(error):
        hive.load(parse_name(f"{database}.{name}"))


@contextmanager
def locked(metastore: HiveMetastore, name: TableName) -> Iterator[None]:
    """Another writer holds the table's lock."""
    database, table = str(name).split(".")
    part = LockComponent(LockType.EXCLUSIVE, LockLevel.TABLE, database, table, isTransactional=True)
    request = LockRequest([part], user="others", hostname="elsewhere")
    with metastore.client() as client:
        lock = client.lock(request)
        assert lock.state == LockState.ACQUIRED
        try:
            yield
        finally:
            client.unlock(UnlockRequest(lock.lockid))
