"""Minor runs on tables that Spark made: Spark and iceberg-go read the same rows of the same data files."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow.compute as pc
import pytest

from infrastructure.iceberg import second_reader as go
from infrastructure.iceberg import tables
from infrastructure.iceberg.model import EqualityDeletes
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from infrastructure.jvm.process import OracleError
from java.iceberg.test_keeping import Beside
from java.iceberg.test_late_deletes import strays
from java.iceberg.test_runs import ordered
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.faults import CARRYING_POINTS
from lithify.formats.iceberg.manifests.delete_index import is_shared
from lithify.formats.iceberg.model import Content
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection
from support.cases import case
from support.iceberg_checks import assert_whole
from support.iceberg_commits import view_of
from support.iceberg_runs import CLOCK, address_of
from support.runs import Held, ShiftedClock, start

Maker = Callable[[SparkTable, int], SparkTable]
KEEPING = {
    "min-file-size-bytes": "0",
    "delete-ratio-threshold": "1",
    "lithify.equality-delete-file-threshold": "1",
    "lithify.shared-position-delete-file-threshold": "1",
}
"""No file is rewritten; one equality delete file is enough, or one shared position delete file."""


def with_positions(table: SparkTable, version: int) -> SparkTable:
    tables.with_deletes(table, version)
    table.upsert(30, 20)
    table.delete("id % 9 = 4")
    table.upsert(35, 40)
    return table


def with_promoted_key(table: SparkTable, version: int) -> SparkTable:
    table.create(version, columns="id INT, name STRING")
    table.run(f"INSERT INTO {table.name} SELECT CAST(id AS INT), 'a' FROM range(0, 30, 1, 1)")
    table.alter("ALTER COLUMN id TYPE BIGINT")
    table.run(f"INSERT INTO {table.name} SELECT id, 'b' FROM range(30, 60, 1, 1)")
    gone = "SELECT id FROM range(5, 40, 7, 1)"
    table.spark.row_delta(table.name, equality=[EqualityDeletes(["id"], gone)])
    return table


def upgraded(table: SparkTable, version: int) -> SparkTable:
    with_positions(table, 2).upgrade(version)
    table.delete("id % 31 = 2")  # rows get their ids with the first commit
    return table


MADE = [
    case(tables.with_equality_deletes, id="several scopes"),
    case(lambda table, version: tables.with_equality_deletes(table, version, "bucket"), id="buckets"),
    case(with_positions, id="position deletes, too"),
    case(with_promoted_key, id="a promoted key"),
    case(upgraded, id="an upgraded table"),
]


def columns(table: SparkTable) -> tuple[str, ...]:
    return ("*", *LINEAGE) if table.load().metadata.format_version > 2 else ("*",)


def files(table: SparkTable, content: Content) -> list[str]:
    found = table.metadata_table("files").filter(pc.field("content") == content.value)
    return sorted(found["file_path"].to_pylist())


def minor(table: SparkTable, act: Callable[[], object] = lambda: None, **overrides: str) -> Report:
    """A minor run; others act when its tasks are done."""
    options = {**KEEPING, **overrides}
    request = Request(replace(address_of(table), overrides=options), Selection(), max_rounds=3)
    report = compact(request, Beside(act), CLOCK)
    table.run(f"REFRESH TABLE {table.name}")
    return report


@pytest.mark.sampled(2)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("make", MADE)
def test_minor_runs_change_no_rows_and_no_data_files(
    sql_table: SparkTable, second_reader: object, make: Maker, version: int
) -> None:
    table = make(sql_table, version)
    before, data = table.read(*columns(table)).combine_chunks(), files(table, Content.DATA)
    plain = table.read().combine_chunks()
    assert files(table, Content.EQUALITY_DELETES)

    assert minor(table).status == "Compacted"

    assert ordered(table.read(*columns(table)), before) == before
    assert files(table, Content.DATA) == data
    assert files(table, Content.EQUALITY_DELETES) == []
    assert_whole(table, "main")
    assert ordered(go.read(table.metadata_location), plain) == plain


def shared(table: SparkTable) -> int:
    """Number of position delete files about several data files."""
    opened = open_iceberg_table(address_of(table))
    return int(is_shared(view_of(opened).deletes).sum())


def with_shared_positions(table: SparkTable, version: int, partitions: str = "none") -> SparkTable:
    """Position delete files about several data files, which Spark writes in version 2 only."""
    granularity = {"write.delete.granularity": "partition"}
    table.create(2, partitions, granularity).append_many(3, 20)
    table.delete("id % 9 = 4")
    table.append(60, 20)
    table.delete("id % 6 = 5")
    if version > 2:
        table.upgrade(version)
    return table


@pytest.mark.sampled(2)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("partitions", ["none", "bucket"])
def test_position_delete_files_about_several_data_files_become_one_for_each(
    sql_table: SparkTable, second_reader: object, partitions: str, version: int
) -> None:
    table = with_shared_positions(sql_table, version, partitions)
    before, data = table.read().combine_chunks(), files(table, Content.DATA)
    assert shared(table) > 1

    report = minor(table)

    assert {group.trigger for group in report.groups} == {"SharedPositionFiles"}
    assert ordered(table.read(), before) == before
    assert files(table, Content.DATA) == data
    assert shared(table) == 0
    assert_whole(table, "main")
    assert ordered(go.read(table.metadata_location), before) == before


def test_vectors_move_out_of_puffin_files_of_spark_that_are_half_dead(
    sql_table: SparkTable, second_reader: object
) -> None:
    table, every = sql_table.create(3).append_many(6, 20), {"lithify.dead-vector-bytes-threshold": "1"}
    table.delete("id % 10 = 3")
    assert minor(table, **every).status == "NothingToDo", "all vectors are live"
    table.delete("id >= 20 AND id % 10 = 4")
    before = table.read(*columns(table)).combine_chunks()
    puffins = set(files(table, Content.POSITION_DELETES))
    assert len(puffins) == 2

    report = minor(table, lambda: table.delete("id = 119"), **every)

    expected = before.filter(pc.not_equal(before["id"], 119)).combine_chunks()
    assert {group.trigger for group in report.groups} == {"DeadVectors"}
    assert ordered(table.read(*columns(table)), expected) == expected
    assert len(puffins & set(files(table, Content.POSITION_DELETES))) == 1
    assert minor(table, **every).status == "NothingToDo"
    assert_whole(table, "main")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "act",
    [
        case(lambda table: table.delete("id % 10 = 7"), id="a delete"),
        case(lambda table: table.update("id % 10 = 7"), id="an update"),
        case(lambda table: table.upsert(0, 30), id="an upsert"),
        case(lambda table: table.procedure("rewrite_data_files"), id="a rewrite"),
    ],
)
def test_what_spark_commits_beside_a_minor_run_stays(
    sql_table: SparkTable, act: Callable[[SparkTable], object], version: int
) -> None:
    table = tables.with_equality_deletes(sql_table, version)
    twin = SparkTable(table.spark, table.catalog, f"{table.identifier}_twin")
    act(tables.with_equality_deletes(twin, version))
    expected = twin.read().combine_chunks()

    minor(table, lambda: act(table))

    assert ordered(table.read(), expected) == expected
    assert_whole(table, "main")


@pytest.mark.parametrize("version", [2, 3])
def test_a_rewrite_that_began_before_an_equality_delete_brings_no_row_back(
    sql_table: SparkTable, version: int
) -> None:
    """It relies on the sequence number of the delete, which is gone: only the kind of snapshot stops it."""
    table = sql_table.create(version).append(0, 20)
    start, data = table.snapshot_id, files(table, Content.DATA)
    table.upsert(5, 5)
    before = table.read().combine_chunks()
    minor(table)

    with pytest.raises(OracleError, match="found new position delete for replaced data file"):
        table.spark.rewrite_files(table.name, data, tables.rows(0, 20), start)
    assert table.read().combine_chunks() == before


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("point", [*CARRYING_POINTS[1:], "manifests-written", "prepared", "snapshot-written"])
def test_a_minor_run_that_is_killed_leaves_nothing(
    sql_table: SparkTable, tmp_path: Path, point: str, version: int
) -> None:
    """Others delete rows of a file that it keeps, so that in version 3 it unites two vectors."""
    table, held = with_positions(sql_table, version), Held(tmp_path)
    address = replace(address_of(table), overrides=KEEPING)
    catalog, options = json.dumps(dict(address.catalog_options)), json.dumps(KEEPING)
    arguments = ("--minor", "--format", "iceberg", "--catalog", catalog, "--options", options, "--run", "a")
    killed = start(address, *arguments, faults={"tasks-done": held.action, point: "kill"})
    held.reached()
    table.delete("id = 33 OR id = 1")
    held.release()
    is_reached = version > 2 or point != "late-deletes-written"
    assert killed.wait().code == (-signal.SIGKILL if is_reached else 0)
    table.run(f"REFRESH TABLE {table.name}")
    rows = table.read(*columns(table)).combine_chunks()

    report = compact(Request(address, Selection(), run="a"), InlineRunner(), CLOCK)
    for hours in (24.1, 25.2):
        compact(Request(address), InlineRunner(), ShiftedClock(timedelta(hours=hours)))
    table.run(f"REFRESH TABLE {table.name}")

    is_committed = point == "snapshot-written" or not is_reached
    assert report.status == ("AlreadyCommitted" if is_committed else "Compacted")
    assert table.read(*columns(table)).combine_chunks() == rows
    assert files(table, Content.EQUALITY_DELETES) == []
    assert strays(table) == set()
    assert_whole(table, "main")
