"""Iceberg tables on each object store, compacted there; by Java's own access to it where that can be had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from infrastructure.iceberg import catalogs
from infrastructure.iceberg.catalogs import fresh_name
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import SparkTable
from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.gcs_server import GcsServer
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.iceberg_on_stores import SCHEMA, copies_of
from support.iceberg_runs import options_of


def compacted(warehouse: str, name: str, options: Mapping[str, str]) -> Report:
    address = TableAddress(warehouse, name, options, format="iceberg")
    return compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), SystemClock())


def test_table_of_a_sql_catalog_is_compacted_on_each_store(bucket: Bucket, tmp_path: Path) -> None:
    properties: dict[str, Any] = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": bucket.url}
    catalog = load_catalog("c", **properties, **copies_of(bucket))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    for number in range(6):
        table.append(pa.table({"id": [number], "name": [f"row {number}"]}))
    rows = table.scan().to_arrow().sort_by("id")
    bucket.publish()

    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "catalog-name": "c"}
    report = compacted(bucket.url, "db.t", {**options, **bucket.options()})

    assert report.status == "Compacted"
    bucket.fetch()
    after = catalog.load_table("db.t")
    assert after.scan().to_arrow().sort_by("id") == rows
    assert len(list(after.scan().plan_files())) == 1


@pytest.fixture
def gcs(tmp_path: Path) -> Iterator[GcsServer]:
    with GcsServer(tmp_path / "gcs") as server:
        yield server


def test_table_that_java_writes_to_google_cloud_storage_has_the_same_rows_for_java(
    spark_iceberg: SparkIceberg, gcs: GcsServer, tmp_path: Path
) -> None:
    url = gcs.create_bucket("lake")
    made = catalogs.sql(tmp_path / "catalog", warehouse=f"{url}/warehouse")
    io = {"io-impl": "org.apache.iceberg.gcp.gcs.GCSFileIO", "gcs.no-auth": "true", "gcs.project-id": "tests"}
    spark = {**made.spark, **io, "gcs.service.host": gcs.endpoint}
    catalog = spark_iceberg.add_catalog(catalogs.CatalogAddress(made.name, spark, made.pyiceberg))
    table = SparkTable(spark_iceberg, catalog, f"{fresh_name('db')}.t").create(2, "bucket")
    table.append_many(4, 40)
    table.delete("id % 10 = 3")
    before = table.read("*").combine_chunks()

    warehouse, options = options_of(catalog)
    report = compacted(warehouse, table.identifier, {**options, **gcs.options()})

    assert report.status == "Compacted"
    table.run(f"REFRESH TABLE {table.name}")
    assert table.read("*").combine_chunks() == before
