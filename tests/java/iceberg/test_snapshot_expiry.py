"""Snapshots of tables that Spark made expire: the same snapshots and files go as with Java."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from infrastructure.iceberg import proxy
from infrastructure.iceberg.catalogs import CatalogAddress, fresh_name
from infrastructure.iceberg.proxy import RestProxy
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import SparkTable
from lithify.errors import StalePlan
from lithify.formats.iceberg.table.opening import open_iceberg_table
from support.cases import case
from support.iceberg_expiry import (
    answers,
    expire,
    expire_both,
    files_of,
    metadata_of,
    plain,
    space_out,
    told,
)
from support.iceberg_runs import address_of

ALL_BUT_ONE = {"history.expire.max-snapshot-age-ms": "1"}


def kept(table: SparkTable) -> set[str]:
    return {name for name in answers(table) if name.startswith("snapshot")}


@pytest.mark.parametrize("version", [1, 3])
def test_old_snapshots_go_with_their_files(sql_table: SparkTable, version: int) -> None:
    table = sql_table.create(version, properties=ALL_BUT_ONE).append_many(3, 20)
    if version > 1:
        table.delete("id % 10 = 3")
    table.spark.rewrite(table.name, {"rewrite-all": "true"})
    space_out(table)
    before = answers(table)

    both = expire_both(table)

    assert both.by_short_cut <= both.gone == both.by_java
    assert both.done.figures["snapshots"] == len(before) - 2
    after = answers(table)
    assert after == {name: before[name] for name in after}


def test_puffin_file_with_a_live_vector_stays(sql_table: SparkTable) -> None:
    """Java's short cut deletes it: the next scan of the table fails."""
    table = sql_table.create(3, properties=ALL_BUT_ONE).append_many(2, 20)
    table.delete("id % 10 = 3")  # one file with a vector for each data file
    table.delete("id = 5")  # the first vector is replaced, the second one stays
    table.append(40, 20)
    space_out(table)
    before = answers(table)["main"]
    vectors = {plain(each) for each in table.metadata_table("delete_files")["file_path"].to_pylist()}

    both = expire_both(table)

    assert both.gone == both.by_java
    assert not both.gone & vectors
    assert both.by_short_cut & vectors, "Java is right by now: tell it in the docs"
    assert answers(table)["main"] == before


def test_branches_and_tags_keep_and_expire_as_with_java(sql_table: SparkTable) -> None:
    table = sql_table.create(2, "bucket", ALL_BUT_ONE).append_many(3, 20)
    table.alter("CREATE TAG kept")
    table.alter("CREATE TAG short RETAIN 1 MINUTES")
    table.alter("CREATE BRANCH side WITH SNAPSHOT RETENTION 2 SNAPSHOTS")
    table.append(100, 20, branch="side")
    table.delete("id < 10", branch="side")
    table.delete("id % 10 = 3")
    table.append(60, 20)
    space_out(table)
    before = answers(table)

    both = expire_both(table)

    after = answers(table)
    assert both.gone == both.by_java
    assert both.done.figures["references"] == 1
    assert {name for name in after if not name.startswith("snapshot")} == {"main", "kept", "side"}
    assert after == {name: before[name] for name in after}


def test_server_removes_the_same(rest_table: SparkTable) -> None:
    table = rest_table.create(3, properties=ALL_BUT_ONE).append_many(3, 20)
    table.procedure("compute_table_stats")
    table.append(60, 20)
    table.alter("CREATE TAG kept")
    table.delete("id % 10 = 3")
    table.spark.rewrite(table.name, {"rewrite-all": "true"})
    before = answers(table)["main"]
    java = table.spark.plan_expiry(table.name, may_be_incremental=False)
    files = files_of(table)

    done = expire(table)

    assert told(metadata_of(table)) == told(java.metadata)
    assert files - files_of(table) == {plain(path) for path in java.deleted}
    assert (done.figures["statisticsFiles"], done.figures["references"]) == (1, 0)
    assert answers(table)["main"] == before


@pytest.mark.parametrize(
    "step",
    [
        case(proxy.lose_answer, id="committed, and no answer"),
        case(proxy.send_twice, id="carried out twice"),
    ],
)
def test_what_a_network_does_to_the_commit_is_found_out(
    rest_table: SparkTable, rest_proxy: RestProxy, step: proxy.Step
) -> None:
    table = rest_table.create(2, properties=ALL_BUT_ONE).append_many(3, 20)
    table.spark.rewrite(table.name, {"rewrite-all": "true"})
    before = answers(table)["main"]
    java = table.spark.plan_expiry(table.name, may_be_incremental=False)
    files = files_of(table)
    rest_proxy.steps.append(step)

    expire(table, replace(address_of(table), catalog_options={"metastore": "rest", "uri": rest_proxy.url}))

    assert rest_proxy.steps == []
    assert told(metadata_of(table)) == told(java.metadata)
    assert files - files_of(table) == {plain(path) for path in java.deleted}
    assert answers(table)["main"] == before


def test_tables_in_folders_expire(spark_iceberg: SparkIceberg, folder_catalog: CatalogAddress) -> None:
    table = SparkTable(spark_iceberg, folder_catalog, "db.t")
    table.create(2, properties=ALL_BUT_ONE).append_many(3, 20)
    table.spark.rewrite(table.name, {"rewrite-all": "true"})
    space_out(table)
    before = answers(table)["main"]
    assert expire_both(table).done.figures["dataFiles"] == 3
    assert answers(table)["main"] == before
    table.append(60, 20)
    assert table.read().num_rows == 80


def test_java_commits_beside_expiries_that_never_pause(sql_table: SparkTable) -> None:
    commits = 12
    table = sql_table.create(2, properties={**ALL_BUT_ONE, "commit.manifest.min-count-to-merge": "3"})
    table.append(0, 10)
    writer = threading.Thread(target=lambda: table.append_many(commits, 10, first=10))
    writer.start()
    expired, outrun = 0, 0
    while writer.is_alive():
        try:
            expired += expire(table).figures["snapshots"]
        except StalePlan:
            outrun += 1
    expired += expire(table).figures["snapshots"]

    assert expired == commits, outrun
    assert table.read("id")["id"].to_pylist() == list(range(10 * (commits + 1)))
    live = {plain(each) for each in table.metadata_table("files")["file_path"].to_pylist()}
    assert {path for path in files_of(table) if path.endswith(".parquet")} == live
    assert not any("/lithify/" in path for path in files_of(table))


def test_tables_on_s3_expire(spark_iceberg: SparkIceberg, rest_on_s3: CatalogAddress) -> None:
    table = SparkTable(spark_iceberg, rest_on_s3, f"{fresh_name('db')}.t")
    table.create(2, properties=ALL_BUT_ONE).append_many(3, 20)
    table.delete("id % 10 = 3")
    table.spark.rewrite(table.name, {"rewrite-all": "true"})
    before = answers(table)["main"]
    java = table.spark.plan_expiry(table.name, may_be_incremental=False)
    storage = open_iceberg_table(address_of(table)).storage
    folder = str(metadata_of(table)["location"])
    files = set(storage.files_below(folder))

    done = expire(table)

    left = set(storage.files_below(folder))
    assert {path for path in files - left if ".metadata.json" not in path} == {*java.deleted}
    assert {path for path in left - files if ".metadata.json" not in path} == set(), "no journal is left"
    assert done.figures["dataFiles"] == 3
    assert told(metadata_of(table)) == told(java.metadata)
    assert answers(table)["main"] == before
