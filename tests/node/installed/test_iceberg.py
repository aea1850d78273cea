"""An Iceberg table in a REST catalog on S3, on a real node, from `kubectl apply` to `Compacted`."""

from __future__ import annotations

from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from infrastructure.oracle.client import Table
from lithify.resources.compaction import Reason
from node.installed.lake import LakeCatalog
from node.installed.site import Site
from support.operators.scene import status_of

DUE = {"triggers": {"partitionFiles": {"minInputFiles": 3, "deleteRatioPercent": 5}}}


def test_a_table_of_a_rest_catalog_is_compacted_and_spark_reads_the_same_rows(
    spark_iceberg: SparkIceberg, lake_catalog: LakeCatalog, site: Site
) -> None:
    clients = lake_catalog.clients
    table = SparkTable(spark_iceberg, spark_iceberg.add_catalog(clients), "sales.eu.orders")
    spark_iceberg.run(f"CREATE NAMESPACE {clients.name}.sales")
    table.create(3, "bucket").append_many(4, 60)
    table.delete("id % 10 = 3")
    rows = table.read("*", *LINEAGE).combine_chunks()
    files = table.metadata_table("data_files").num_rows

    care = site.care_for(Table("lake", table.identifier), of=lake_catalog.spec_of("Iceberg"), under=DUE)
    run = site.first_run(care)
    done = site.ended(run)

    site.stands(run, Reason.COMPACTED)
    table.run(f"REFRESH TABLE {table.name}")
    assert table.read("*", *LINEAGE).combine_chunks() == rows
    assert table.metadata_table("data_files").num_rows < files
    assert table.metadata_table("delete_files").num_rows == 0
    assert done["status"]["committedSnapshotId"] == str(table.snapshot_id)
    assert status_of(done).attempts == 1
    site.table_says(care, "CompactionNeeded", "False", "NotDue")
    shown = site.kubectl("get", "laketables", "-o", "wide")
    assert "sales.eu.orders" in shown

    searched = site.run(care, "orphans", strategy="Minor", kind="RemoveOrphans")
    site.ended(searched)
    site.stands(searched, Reason.NOTHING_TO_DO)
    site.until_clean()
