"""Merged manifests of tables that Spark made: Spark and iceberg-go read the same, down to each entry."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from infrastructure.iceberg import second_reader as go
from infrastructure.iceberg import tables
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from lithify.engine.run.maintaining import MaintenanceReport, maintain
from lithify.formats.protocol.maintenance import MaintenanceKind, MaintenanceSettings
from support.cases import case
from support.iceberg_runs import CLOCK, address_of, run

Maker = Callable[[SparkTable], SparkTable]


def plain(version: int, partitions: str = "none") -> Maker:
    return lambda table: table.create(version, partitions).append_many(6, 20)


def after_a_compaction(table: SparkTable) -> SparkTable:
    """Position deletes whose data files are gone, and new ones."""
    tables.with_deletes(table, 2)
    table.procedure("rewrite_data_files", "options => map('rewrite-all', 'true')")
    table.append_many(5, 20, first=300)
    table.delete("id % 30 = 4")
    return table


MADE = [
    case(plain(1, "identity"), id="v1"),
    case(plain(2, "bucket"), id="v2, buckets"),
    case(plain(3, "days"), id="v3, days"),
    case(lambda table: tables.with_deletes(table, 2, "identity"), id="v2, position deletes in partitions"),
    case(lambda table: tables.with_deletes(table, 3, "truncate"), id="v3, vectors in partitions"),
    case(lambda table: tables.with_equality_deletes(table, 2), id="v2, equality deletes"),
    case(
        lambda table: tables.with_equality_deletes(table, 3, "bucket"), id="v3, equality deletes in buckets"
    ),
    case(
        lambda table: tables.with_evolved_partitions(table, 3).append_many(3, 9, 500),
        id="v3, evolved partitions",
    ),
    case(after_a_compaction, id="v2, deletes of files that are gone"),
]


def merge(table: SparkTable, *, is_dry_run: bool = False, **overrides: str) -> MaintenanceReport:
    address = replace(address_of(table), overrides=overrides)
    report = maintain(
        address,
        MaintenanceKind.MERGE_MANIFESTS,
        CLOCK,
        MaintenanceSettings(memory=2000),
        is_dry_run=is_dry_run,
    )
    table.run(f"REFRESH TABLE {table.name}")
    return report


def version_of(table: SparkTable) -> int:
    return table.load().metadata.format_version


def columns(table: SparkTable) -> tuple[str, ...]:
    return ("*", *LINEAGE) if version_of(table) > 2 else ("*",)


def entries(table: SparkTable) -> list[Any]:
    """Everything in the live entries but their status, in the order of files."""
    found = table.spark.sql(f"SELECT * FROM {table.name}.entries WHERE status < 2")
    rows = found.drop_columns(["status", "readable_metrics"]).to_pylist()
    return sorted(rows, key=lambda row: (row["data_file"]["file_path"], str(row)))


def scan(table: SparkTable) -> dict[str, set[str]]:
    """The delete files and vectors that Java applies to each data file."""
    return {
        task.file.path: {f"{each.path}@{each.content_offset}" for each in task.deletes}
        for task in table.spark.scan(table.name)
    }


def ordered(rows: pa.Table, like: pa.Table) -> pa.Table:
    return rows.select(like.column_names).cast(like.schema).sort_by("id").combine_chunks()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", MADE)
def test_entries_and_rows_stay(sql_table: SparkTable, second_reader: object, make: Maker) -> None:
    table = make(sql_table)
    wanted = columns(table)
    before, files, planned = table.read(*wanted).combine_chunks(), entries(table), scan(table)
    manifests = table.metadata_table("manifests").num_rows

    report = merge(table)

    assert report.status == "Done", report
    assert table.read(*wanted).combine_chunks() == before
    dropped = report.figures["danglingDeletes"]
    left = entries(table)
    assert [each for each in files if each in left] == left
    assert len(left) == len(files) - dropped
    assert scan(table) == planned
    assert table.metadata_table("manifests").num_rows < manifests
    assert ordered(
        go.read(table.metadata_location), before.select(table.read().column_names)
    ).num_rows == len(before)
    assert merge(table).status == "NothingToDo"
    table.append(1000, 5)
    table.delete("id = 1002")
    assert table.read("id").num_rows == before.num_rows + 4


def test_summary_is_that_of_sparks_procedure(sql_table: SparkTable) -> None:
    table = sql_table.create(2, "identity").append_many(6, 20)
    table.delete("id % 10 = 3")
    merge(table)
    table.append_many(5, 20, first=200)
    table.procedure("rewrite_manifests")

    ours, java = (
        dict(each.summary.additional_properties)
        for each in table.load().metadata.snapshots
        if each.summary is not None and each.summary.operation.value == "replace"
    )

    assert {name for name in ours if "lithify" not in name and "engine" not in name} == {
        name for name in java if name not in OF_SPARK and "engine" not in name
    }
    entries_now = table.load().inspect.entries().num_rows
    assert 0 < int(ours["entries-processed"]) < entries_now
    assert (ours["manifests-created"], ours["changed-partition-count"]) == ("1", "0")


OF_SPARK = ("spark.app.id", "app-id", "app-name", "iceberg-version", "engine-name", "engine-version")


def test_row_ids_stay_where_sparks_procedure_loses_them(sql_table: SparkTable) -> None:
    """See `test_rewrite_of_manifests_loses_first_row_ids`."""
    table = sql_table.create(3).append_many(6, 10)
    table.delete("id = 5")
    before = {task.file.path: task.file.first_row_id for task in table.spark.scan(table.name)}
    assert sorted(filter(None, before.values())) == [10, 20, 30, 40, 50]

    assert merge(table).status == "Done"

    assert {task.file.path: task.file.first_row_id for task in table.spark.scan(table.name)} == before
    table.append(100, 10)
    ids = table.read("_row_id")["_row_id"].to_pylist()
    assert len(set(ids)) == len(ids) == 69


def test_table_that_was_upgraded_gets_row_ids_as_from_spark(sql_table: SparkTable) -> None:
    """Manifests of version 2 have none; a commit of version 3 that lists them gives them ids."""
    table = sql_table.create(2).append_many(6, 10)
    table.upgrade(3)
    assert merge(table).status == "Done"
    ids = table.read("_row_id")["_row_id"].to_pylist()
    assert sorted(ids) == list(range(60))


@pytest.mark.thorough
def test_filter_on_a_partition_opens_fewer_manifests(sql_table: SparkTable) -> None:
    target = {"commit.manifest.target-size-bytes": "9000", "commit.manifest-merge.enabled": "false"}
    table = sql_table.create(2, "bucket16" if "bucket16" in tables.PARTITIONS else "days", properties=target)
    table.append_many(12, 20)

    assert merge(table).status == "Done"

    found = table.metadata_table("manifests")
    summaries = found["partition_summaries"].to_pylist()
    bounds = sorted((each[0]["lower_bound"], each[0]["upper_bound"]) for each in summaries)
    assert len(bounds) > 1
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(bounds))
    assert merge(table).status == "NothingToDo"


def test_dangling_equality_deletes_of_an_unpartitioned_table_go(sql_table: SparkTable) -> None:
    """A compaction with Spark leaves them; they apply to no file that is left."""
    table = tables.with_equality_deletes(sql_table)
    table.procedure(
        "rewrite_data_files", "options => map('rewrite-all', 'true', 'use-starting-sequence-number', 'false')"
    )
    rows = table.read().combine_chunks()
    assert table.metadata_table("delete_files").num_rows > 0

    report = merge(table)

    assert report.figures["danglingDeletes"] > 0
    assert table.read().combine_chunks() == rows
    assert table.metadata_table("delete_files").num_rows == 0
    summary = table.load().current_snapshot().summary.additional_properties
    assert summary["total-delete-files"] == "0"
    assert summary["removed-delete-files"] == summary["removed-equality-delete-files"]
    table.expire_snapshots()
    assert table.read().combine_chunks() == rows


@pytest.mark.thorough
def test_delete_that_still_applies_stays(sql_table: SparkTable) -> None:
    table = tables.with_equality_deletes(sql_table)
    deletes = table.metadata_table("delete_files").num_rows
    rows = table.read().combine_chunks()
    merge(table)
    assert table.metadata_table("delete_files").num_rows == deletes
    assert table.read().combine_chunks() == rows


@pytest.mark.thorough
def test_dry_run_writes_nothing(sql_table: SparkTable) -> None:
    table = sql_table.create(2).append_many(6, 10)
    before = table.metadata_location
    planned = merge(table, is_dry_run=True)
    assert planned.status == "Planned"
    assert table.metadata_location == before
    assert merge(table).figures == planned.figures


@pytest.mark.thorough
def test_compaction_continues_after_a_merge(sql_table: SparkTable) -> None:
    table = tables.with_deletes(sql_table, 3)
    rows = table.read("*", *LINEAGE).combine_chunks()
    merge(table)
    assert run(table).status == "Compacted"
    assert pc.all(pc.is_valid(rows["_row_id"])).as_py()
    assert table.read("*", *LINEAGE).combine_chunks() == rows
