"""Spark, pyiceberg and iceberg-go read the same rows of the same tables, through each kind of catalog."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from infrastructure.iceberg import second_reader as go
from infrastructure.iceberg import tables
from infrastructure.iceberg.catalogs import CatalogAddress
from infrastructure.iceberg.fixtures import s3_properties
from infrastructure.iceberg.rest_server import RestCatalogServer
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from infrastructure.objectstore.server import S3Server

Maker = Callable[[SparkTable, int], SparkTable]
MADE = [
    pytest.param(tables.with_deletes, 2, id="position deletes"),
    pytest.param(tables.with_deletes, 3, id="vectors"),
    pytest.param(tables.with_evolved_schema, 2, id="evolved schema"),
    pytest.param(tables.with_evolved_partitions, 2, id="evolved partitions v2"),
    pytest.param(tables.with_evolved_partitions, 3, id="evolved partitions v3"),
]


def ordered(rows: pa.Table, like: pa.Table) -> pa.Table:
    """Rows by their ids, with the types of other rows."""
    return rows.select(like.column_names).cast(like.schema).sort_by("id").combine_chunks()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("make", "version"), MADE)
def test_three_readers_see_the_same_rows(
    sql_table: SparkTable, second_reader: object, make: Maker, version: int
) -> None:
    table = make(sql_table, version)
    expected = table.read().combine_chunks()
    assert expected.num_rows > 0
    assert ordered(table.load().scan().to_arrow(), expected) == expected
    assert ordered(go.read(table.metadata_location), expected) == expected


def test_version_1_is_read_by_all(sql_table: SparkTable, second_reader: object) -> None:
    table = sql_table.create(1, "identity").append_many(3, 20)
    expected = table.read().combine_chunks()
    assert expected.num_rows == 60
    assert ordered(table.load().scan().to_arrow(), expected) == expected
    assert ordered(go.read(table.metadata_location), expected) == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("partitions", ["none", "identity", "bucket", "truncate", "days"])
def test_partitioned_deletes_are_read_by_all(
    sql_table: SparkTable, second_reader: object, partitions: str
) -> None:
    table = tables.with_deletes(sql_table, 2, partitions)
    expected = table.read().combine_chunks()
    assert expected.num_rows == 160 - 16
    assert ordered(table.load().scan().to_arrow(), expected) == expected
    assert ordered(go.read(table.metadata_location), expected) == expected


@pytest.mark.parametrize("version", [2, 3])
def test_equality_deletes_are_read_by_spark_and_go(
    sql_table: SparkTable, second_reader: object, version: int
) -> None:
    table = tables.with_equality_deletes(sql_table, version)
    expected = table.read().combine_chunks()
    kinds = expected.select(["kind", "day"]).to_pylist()
    assert expected.num_rows < 100
    assert None in {row["kind"] for row in kinds}
    assert ordered(go.read(table.metadata_location), expected) == expected
    with pytest.raises(ValueError, match="equality deletes"):
        table.load().scan().to_arrow()


def test_lineage_is_the_same_in_spark_and_go(sql_table: SparkTable, second_reader: object) -> None:
    table = sql_table.create(3).append_many(3, 20)
    table.delete("id % 10 = 3")
    expected = table.read("*", *LINEAGE).combine_chunks()
    assert expected["_row_id"].null_count == 0
    found = ordered(go.read(table.metadata_location, lineage=True), expected)
    assert found == expected


def test_defaults_are_read_from_old_files(sql_table: SparkTable, second_reader: object) -> None:
    table = tables.with_evolved_schema(sql_table, 3)
    expected = table.read().combine_chunks()
    assert expected["level"].slice(0, 20).unique().to_pylist() == ["low"]
    assert ordered(
        go.read(table.metadata_location).drop_columns("place"), expected.drop_columns("place")
    ) == (expected.drop_columns("place"))


def test_branches_and_tags_are_read(sql_table: SparkTable, second_reader: object) -> None:
    table = tables.with_branches(sql_table)
    for ref, count in (("first", 20), ("side", 50), (None, 60)):
        expected = table.read(at="" if ref is None else f"VERSION AS OF '{ref}'").combine_chunks()
        assert expected.num_rows == count
        assert ordered(go.read(table.metadata_location, ref=ref), expected) == expected


def test_rest_catalog_serves_all_three(
    rest_table: SparkTable, rest_catalog_server: RestCatalogServer, second_reader: object
) -> None:
    table = tables.with_deletes(rest_table, 3, "bucket")
    expected = table.read().combine_chunks()
    assert ordered(table.load().scan().to_arrow(), expected) == expected
    found = go.read_from_catalog(rest_catalog_server.url, table.identifier)
    assert ordered(found, expected) == expected


def test_tables_on_s3_are_read_by_all(
    spark_iceberg: SparkIceberg, rest_on_s3: CatalogAddress, s3_server: S3Server, second_reader: object
) -> None:
    table = tables.with_deletes(SparkTable(spark_iceberg, rest_on_s3, "db.t"), 2)
    assert table.metadata_location.startswith("s3://")
    expected = table.read().combine_chunks()
    assert ordered(table.load().scan().to_arrow(), expected) == expected
    found = go.read_from_catalog(rest_on_s3.spark["uri"], "db.t", s3_properties(s3_server))
    assert ordered(found, expected) == expected


def test_folders_of_tables_are_read_by_their_metadata(
    spark_iceberg: SparkIceberg, folder_catalog: CatalogAddress, second_reader: object
) -> None:
    table = tables.with_deletes(SparkTable(spark_iceberg, folder_catalog, "db.t"), 2)
    expected = table.read().combine_chunks()
    assert ordered(go.read(table.metadata_location), expected) == expected


def test_go_compacts_a_table_of_the_rest_catalog(
    rest_table: SparkTable, rest_catalog_server: RestCatalogServer, second_reader: object
) -> None:
    table = tables.with_deletes(rest_table, 2, commits=8)
    expected = table.read().combine_chunks()
    counted = go.compact(rest_catalog_server.url, table.identifier)
    assert counted["removed_files"] > counted["added_files"] == 1
    assert table.read().combine_chunks() == expected
