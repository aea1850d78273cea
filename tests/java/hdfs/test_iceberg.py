"""Iceberg tables on HDFS: Spark writes and reads them by Java's own file system, beside our commits."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from infrastructure.hdfs.proxy import (
    Exchange,
    RpcProxy,
    Step,
    hang,
    lose_answer,
    lose_request,
)
from infrastructure.hdfs.server import HdfsCluster
from infrastructure.iceberg.catalogs import fresh_name
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import SparkTable, with_deletes, with_equality_deletes
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.formats.iceberg.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.io.object_storage import files_of
from lithify.io.objects.stores import settings_for
from support.cases import case
from support.crashes import SETTLED
from support.iceberg_on_hdfs import Warehouse
from support.orphan_files import ALL_GOES
from support.runs import ShiftedClock, ShippingRunner, start


@pytest.fixture
def lake(hdfs_cluster: HdfsCluster) -> Warehouse:
    return Warehouse.of(hdfs_cluster)


@pytest.fixture
def table(lake: Warehouse, spark_iceberg: SparkIceberg) -> SparkTable:
    """A table in a folder: four commits of 160 rows in all, and deletes on top of them."""
    made = SparkTable(spark_iceberg, lake.catalog(spark_iceberg), "db.t")
    return with_deletes(made, version=2)


@pytest.fixture
def proxy(hdfs_cluster: HdfsCluster) -> Iterator[RpcProxy]:
    with RpcProxy(hdfs_cluster.ports[0], is_commit) as started:
        yield started


def is_commit(frame: bytes) -> bool:
    """Whether a request gives a metadata file the name of a version."""
    return b"rename" in frame and re.search(rb"/metadata/v[0-9]+\.metadata", frame) is not None


def run(address: TableAddress, shift: timedelta = timedelta(), **request: Any) -> Report:
    given = Request(address, Selection(strategy=Strategy.FULL), **request)
    return compact(given, ShippingRunner(), ShiftedClock(shift))


def read(table: SparkTable) -> pa.Table:
    table.run(f"REFRESH TABLE {table.name}")
    return table.read("*").combine_chunks()


def names(lake: Warehouse) -> set[str]:
    """All files of the warehouse."""
    return set(files_of(settings_for(lake.url, lake.options())).names_below(lake.url))


def unnamed(lake: Warehouse, table: SparkTable) -> set[str]:
    """Files of the table that no snapshot has: what a run left, besides versions, lists and hints."""
    named = {
        path.rpartition("/")[2]
        for kind, column in (("all_files", "file_path"), ("all_manifests", "path"))
        for path in table.metadata_table(kind)[column].to_pylist()
    }
    lists = {
        path.rpartition("/")[2] for path in table.metadata_table("snapshots")["manifest_list"].to_pylist()
    }
    found = {name.rpartition("/")[2] for name in names(lake)}
    return {
        name for name in found - named - lists if not name.endswith((".metadata.json", "version-hint.text"))
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [2, 3])
def test_spark_reads_the_same_rows_after_each_of_our_runs_and_writes_on(
    lake: Warehouse, spark_iceberg: SparkIceberg, version: int
) -> None:
    catalog = lake.catalog(spark_iceberg)
    table = with_deletes(SparkTable(spark_iceberg, catalog, "db.t"), version, "bucket")
    for first in (1000, 2000):
        before = read(table)

        report = run(lake.address(table))

        assert report.status == "Compacted"
        assert read(table) == before
        assert len(table.metadata_table("files")) == len(table.metadata_table("partitions"))
        table.append(first, 20)
        table.delete(f"id = {first}")
    assert len(read(table)) == len(before) + 19
    assert unnamed(lake, table) == set()


def test_a_table_of_a_sql_catalog_keeps_its_rows_beside_equality_deletes(
    lake: Warehouse, spark_iceberg: SparkIceberg, tmp_path: Path
) -> None:
    database = f"jdbc:sqlite:file:{tmp_path}/catalog.db"
    kind = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": database,
        "jdbc.schema-version": "V1",
    }
    catalog = lake.catalog(spark_iceberg, kind)
    table = with_equality_deletes(SparkTable(spark_iceberg, catalog, f"{fresh_name('db')}.t"))
    before = read(table)
    ours = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", "catalog-name": catalog.name}

    report = run(TableAddress(lake.url, table.identifier, {**lake.options(), **ours}, format="iceberg"))

    assert report.status == "Compacted"
    assert read(table) == before
    assert len(table.metadata_table("files")) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("steps", "renames"),
    [
        case([lose_answer], 1, id="the answer is lost"),
        case([lose_request], 2, id="the request is lost"),
        case([lose_request, lose_answer], 2, id="first a request, then an answer"),
        case([hang], 2, id="it hangs"),
    ],
)
def test_what_became_of_a_rename_is_found_out(
    lake: Warehouse,
    table: SparkTable,
    proxy: RpcProxy,
    steps: list[Step],
    renames: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lithify.io.hdfs.cluster.RENAME_SECONDS", 2.0)
    before, snapshots = read(table), len(table.metadata_table("snapshots"))
    proxy.steps = list(steps)

    report = run(lake.address(table, proxy))

    assert (report.status, report.commit_tries, proxy.seen) == ("Compacted", 1, renames)
    assert read(table) == before
    assert len(table.metadata_table("snapshots")) == snapshots + 1
    assert unnamed(lake, table) == set()


def test_a_commit_that_spark_was_before_is_built_again(
    lake: Warehouse, table: SparkTable, proxy: RpcProxy
) -> None:
    """Rows that Spark deleted meanwhile stay deleted, also where our tasks have moved them."""

    def overtake(exchange: Exchange) -> None:
        table.append(1000, 10)
        table.delete("id % 16 = 1")
        exchange.forward()

    proxy.steps = [overtake]

    report = run(lake.address(table, proxy))

    assert (report.status, report.commit_tries, proxy.seen) == ("Compacted", 2, 2)
    ids = set(read(table)["id"].to_pylist())
    assert set(range(1000, 1010)) - ids == {1009}
    assert not [each for each in ids if each % 16 == 1]
    assert unnamed(lake, table) == set()


def test_a_version_that_we_took_is_refused_to_spark(
    lake: Warehouse, spark_iceberg: SparkIceberg, proxy: RpcProxy
) -> None:
    """Spark finds its name taken when it renames, and builds its commit on ours."""
    table = SparkTable(spark_iceberg, lake.catalog(spark_iceberg, proxy=proxy), "db.t")
    before, seen = read(with_deletes(table, version=2)), proxy.seen
    reports: list[Report] = []

    def overtake(exchange: Exchange) -> None:
        reports.append(run(lake.address(table)))
        exchange.forward()

    proxy.steps = [overtake]
    table.append(5000, 3)

    assert [(report.status, report.commit_tries) for report in reports] == [("Compacted", 1)]
    assert proxy.seen - seen == 2
    assert len(read(table)) == len(before) + 3
    assert table.metadata_table("snapshots")["operation"].to_pylist()[-2:] == ["replace", "append"]
    assert unnamed(lake, table) == set()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("point", "status"),
    [
        ("file-written", "Compacted"),
        ("manifests-written", "Compacted"),
        ("snapshot-written", "AlreadyCommitted"),
    ],
)
def test_a_killed_run_commits_once_and_leaves_nothing(
    lake: Warehouse, table: SparkTable, point: str, status: str
) -> None:
    before, snapshots = read(table), len(table.metadata_table("snapshots"))
    address = lake.address(table)

    ours = ("--format", "iceberg", "--catalog", json.dumps(dict(address.catalog_options)))
    killed = start(address, *ours, "--run", "run-a", faults={point: "kill"}).wait()

    assert killed.code == -signal.SIGKILL
    assert read(table) == before
    assert run(address, run="run-a").status == status
    for later in range(1, 4):
        run(address, shift=later * SETTLED)
    assert read(table) == before
    assert len(table.metadata_table("snapshots")) == snapshots + 1
    assert unnamed(lake, table) == set()


def test_orphans_go_and_with_them_versions_that_crashed_commits_have_left(
    lake: Warehouse, table: SparkTable
) -> None:
    before, rows = names(lake), read(table)
    cluster, key = files_of(settings_for(lake.url, lake.options())).bucket(f"{lake.url}/db/t")
    orphan = "0c1a2b3c-0000-4000-8000-00000000000a"
    for name in (
        f"data/00000-0-{orphan}.parquet",
        f"metadata/.lithify-v9.metadata.json.{orphan}",
        f"metadata/.lithify-version-hint.text.{orphan}",
    ):
        cluster.write(f"{key}/{name}", b"left")
    removal = OrphanRemoval(open_iceberg_table(lake.address(table)), ALL_GOES)

    done = removal.execute(removal.plan(ShiftedClock(timedelta(days=2))))

    assert (done.figures["dataFiles"], done.figures["metadataFiles"]) == (1, 2)
    assert names(lake) == before
    assert read(table) == rows
