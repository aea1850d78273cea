"""Whole runs on tables that Spark made: Spark and iceberg-go read the same rows after as before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infrastructure.iceberg import proxy, tables
from infrastructure.iceberg import second_reader as go
from infrastructure.iceberg.catalogs import CatalogAddress, fresh_name
from infrastructure.iceberg.proxy import RestProxy
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from infrastructure.jvm.process import OracleError
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CorruptTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.iceberg_runs import CLOCK, address_of, run

Maker = Callable[[SparkTable], SparkTable]


def plain(version: int, partitions: str = "none") -> Maker:
    return lambda table: table.create(version, partitions).append_many(6, 20)


MADE = [
    case(plain(1), id="v1"),
    case(plain(2, "bucket"), id="v2, buckets"),
    case(plain(3, "days"), id="v3, days"),
    case(lambda table: tables.with_deletes(table, 2), id="v2, position deletes"),
    case(lambda table: tables.with_deletes(table, 2, "identity"), id="v2, position deletes in partitions"),
    case(lambda table: tables.with_deletes(table, 3), id="v3, vectors"),
    case(lambda table: tables.with_deletes(table, 3, "truncate"), id="v3, vectors in partitions"),
    case(lambda table: tables.with_equality_deletes(table, 2), id="v2, equality deletes"),
    case(
        lambda table: tables.with_equality_deletes(table, 3, "bucket"), id="v3, equality deletes in buckets"
    ),
    case(lambda table: tables.with_evolved_schema(table, 2), id="v2, evolved schema"),
    case(lambda table: tables.with_evolved_schema(table, 3), id="v3, evolved schema with defaults"),
    case(lambda table: tables.with_evolved_partitions(table, 2), id="v2, evolved partitions"),
    case(lambda table: tables.with_evolved_partitions(table, 3), id="v3, evolved partitions"),
]


def version_of(table: SparkTable) -> int:
    return table.load().metadata.format_version


def columns(table: SparkTable) -> tuple[str, ...]:
    return ("*", *LINEAGE) if version_of(table) > 2 else ("*",)


def ordered(rows: pa.Table, like: pa.Table) -> pa.Table:
    return rows.select(like.column_names).cast(like.schema).sort_by("id").combine_chunks()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("make", MADE)
def test_rows_and_their_lineage_stay(sql_table: SparkTable, second_reader: object, make: Maker) -> None:
    table = make(sql_table)
    wanted = columns(table)
    before = table.read(*wanted).combine_chunks()
    files = table.metadata_table("files").num_rows

    report = run(table)

    assert report.status == "Compacted"
    assert table.read(*wanted).combine_chunks() == before
    assert table.metadata_table("files").num_rows < files
    plain_rows = table.read().combine_chunks()
    assert ordered(go.read(table.metadata_location), plain_rows) == plain_rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize("make", MADE[1:])  # version 1 has no merge-on-read deletes
def test_spark_goes_on_with_a_compacted_table(sql_table: SparkTable, make: Maker) -> None:
    table = make(sql_table)
    rows = {row["id"] for row in table.read("id").to_pylist()}
    run(table)
    table.delete("id % 6 = 1")
    table.run(f"INSERT INTO {table.name} SELECT * FROM {table.name} WHERE id = 2")
    table.procedure("rewrite_data_files", "options => map('rewrite-all', 'true')")
    run(table)
    found = sorted(row["id"] for row in table.read("id").to_pylist())
    kept = [each for each in rows if each % 6 != 1]
    assert found == sorted([*kept, *([2] if 2 in kept else [])])


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_rest_catalog_serves_as_well(rest_table: SparkTable, version: int) -> None:
    table = rest_table.create(version).append_many(6, 20)
    if version > 1:
        table.delete("id % 10 = 3")
    before = table.read().combine_chunks()
    assert run(table).status == "Compacted"
    assert table.read().combine_chunks() == before
    assert run(table).status == "NothingToDo"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "step",
    [
        case(proxy.lose_request, id="request lost"),
        case(proxy.lose_answer, id="answer lost"),
        case(proxy.send_twice, id="sent twice"),
        case(proxy.fail(500), id="failed"),
        case(proxy.fail_after(500), id="committed, then failed"),
        case(proxy.fail_after(504), id="committed, and timed out"),
        case(proxy.fail(503), id="overloaded"),
    ],
)
def test_what_a_network_does_to_a_commit_is_found_out(
    rest_table: SparkTable, rest_proxy: RestProxy, step: proxy.Step
) -> None:
    table = rest_table.create(3).append_many(4, 20)
    table.delete("id % 10 = 3")
    before, snapshots = table.read("*", *LINEAGE).combine_chunks(), table.metadata_table("snapshots").num_rows
    rest_proxy.steps.append(step)

    address = replace(address_of(table), catalog_options={"metastore": "rest", "uri": rest_proxy.url})
    report = compact(Request(address, Selection(strategy=Strategy.FULL)), InlineRunner(), CLOCK)
    table.run(f"REFRESH TABLE {table.name}")

    assert report.status == "Compacted"
    assert rest_proxy.steps == []
    assert table.read("*", *LINEAGE).combine_chunks() == before
    assert table.metadata_table("snapshots").num_rows == snapshots + 1


def test_a_rest_catalog_serves_tables_on_s3(spark_iceberg: SparkIceberg, rest_on_s3: CatalogAddress) -> None:
    table = SparkTable(spark_iceberg, rest_on_s3, f"{fresh_name('db')}.t")
    tables.with_deletes(table, 3)
    before = table.read("*", *LINEAGE).combine_chunks()
    assert run(table).status == "Compacted"
    assert table.read("*", *LINEAGE).combine_chunks() == before


def test_a_file_that_is_listed_twice_is_refused_by_name_until_its_rows_are_written_again(
    sql_table: SparkTable,
) -> None:
    table = sql_table.create(2, columns="id BIGINT, kind STRING")
    table.run(f"INSERT INTO {table.name} VALUES (1, 'a')")
    opened = table.load()
    path = f"{opened.location().removeprefix('file:')}/data/others.parquet"
    pq.write_table(pa.table({"id": pa.array([2], pa.int64()), "kind": ["b"]}), path)
    for _ in range(2):
        opened.add_files([path], check_duplicate_files=False)
    table.run(f"REFRESH TABLE {table.name}")
    before = table.read().combine_chunks()
    assert before["id"].to_pylist() == [1, 2, 2], "Java reads its rows twice"

    with pytest.raises(CorruptTable) as refused:
        run(table)
    assert refused.value.path == path
    with pytest.raises(OracleError, match="Invalid REPLACE operation"):
        table.procedure("rewrite_data_files", "options => map('rewrite-all', 'true')")
    table.run(f"INSERT OVERWRITE {table.name} SELECT * FROM {table.name}")
    table.run(f"INSERT INTO {table.name} VALUES (3, 'c')")
    assert run(table).status == "Compacted"
    assert table.read("id")["id"].to_pylist() == [1, 2, 2, 3]


def test_a_branch_is_compacted_alone(sql_table: SparkTable) -> None:
    table = tables.with_branches(sql_table)
    side = table.read(at="VERSION AS OF 'side'").combine_chunks()
    main, head = table.read().combine_chunks(), table.snapshot_id
    assert run(table, branch="side").status == "Compacted"
    assert table.read(at="VERSION AS OF 'side'").combine_chunks() == side
    assert (table.read().combine_chunks(), table.snapshot_id) == (main, head)
    assert table.read(at="VERSION AS OF 'first'").num_rows == 20
