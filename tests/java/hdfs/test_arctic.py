"""Keyed tables on HDFS, written and read by Arctic 0.4.1: in folders, and with a table of Hive over them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import KeyedTable
from infrastructure.hdfs.server import HdfsCluster
from infrastructure.hive.metastore import HiveMetastore
from lithify.clock import Clock, SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import Progress, TaskRunner
from lithify.formats.mixed.stores import PRIMARY_KEY
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Task
from lithify.io.object_storage import files_of
from lithify.io.objects.stores import settings_for
from support.cases import case
from support.hive_tables import AT_ONCE, HiveTables
from support.runs import ShippingRunner

COLUMNS = {"id": "long", "v": "string", "p": "string"}
Rows = list[list[Any]]


@pytest.fixture
def table(hdfs_cluster: HdfsCluster) -> KeyedTable:
    """Where a partitioned table may be made."""
    location = Path(f"/lake-{secrets.token_hex(4)}/db/t")
    return KeyedTable(location, COLUMNS, ["id"], ["p"], hdfs_cluster.url)


def fill(arctic: Arctic, table: KeyedTable) -> Rows:
    """Writes base files and changes, and returns the rows."""
    base = [[number, "old", "ab"[number % 2]] for number in range(20)]
    arctic.write_base(table, base, arctic.begin_transaction(table))
    arctic.write_change(table, [["DELETE", *base[3]], ["INSERT", 100, "new", "a"]])
    return read(arctic, table)


def read(arctic: Arctic, table: KeyedTable) -> Rows:
    return sorted(arctic.read(table))


def run(
    address: TableAddress, strategy: Strategy = Strategy.MINOR, runner: TaskRunner | None = None
) -> Report:
    given = Request(address, Selection(strategy=strategy))
    return compact(given, runner or ShippingRunner(), SystemClock())


def hidden_files(table: KeyedTable) -> list[str]:
    found = files_of(settings_for(table.url, {})).names_below(table.url)
    return [name for name in found if name.rpartition("/")[2].startswith(".")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("strategy", [case(each, id=each.value) for each in Strategy])
def test_arctic_reads_the_same_rows_of_a_table_in_folders(
    arctic: Arctic, table: KeyedTable, strategy: Strategy
) -> None:
    before = fill(arctic, arctic.create(table))
    warehouse = table.url.removesuffix("/db/t")
    overrides = {PRIMARY_KEY: "id", **AT_ONCE}

    report = run(TableAddress(warehouse, "db.t", overrides=overrides, format="mixed-iceberg"), strategy)

    assert report.status == "Compacted"
    assert read(arctic, table) == sorted(arctic.read_base(table)) == before
    assert hidden_files(table) == []


@pytest.fixture
def hive(hive_metastore: HiveMetastore) -> HiveTables:
    return HiveTables.fresh(hive_metastore)


def test_hive_and_arctic_read_the_same_rows(arctic: Arctic, hive: HiveTables, table: KeyedTable) -> None:
    before = fill(arctic, hive.make(arctic, table))

    assert run(hive.address_of(table, AT_ONCE)).status == "Compacted"

    assert sorted(hive.read(table)) == read(arctic, table) == before
    assert hidden_files(table) == []


class Looking(ShippingRunner):
    """Looks for hidden files of the table after its tasks."""

    def __init__(self, table: KeyedTable) -> None:
        self._table = table
        self.hidden: list[str] = []

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        found = super().run(tasks, clock, progress)
        self.hidden += hidden_files(self._table)
        return found


def test_files_of_keyless_tables_are_hidden_until_they_are_finished(
    arctic: Arctic, hive: HiveTables, table: KeyedTable
) -> None:
    hive.make(arctic, table, parameters={"arctic.table.primary-keys": ""})
    for number in (1, 2):
        arctic.write_base(table, [[number, "x", "a"]], plain_names=True)
    runner = Looking(table)

    report = run(hive.address_of(table, AT_ONCE), runner=runner)

    assert report.status == "Compacted"
    assert [name.rpartition(".")[2] for name in runner.hidden] == ["parquet"]
    assert hidden_files(table) == []
    assert sorted(arctic.read_base(table)) == [[1, "x", "a"], [2, "x", "a"]]
