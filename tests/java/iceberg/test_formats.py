"""Tables of ORC and Avro files: Spark reads the same rows after a run, from files like its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import FixedType, LongType, NestedField, StringType, UUIDType

from infrastructure.iceberg import tables
from infrastructure.iceberg.catalogs import CatalogAddress, fresh_name
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from lithify.files.avro.container import read_header
from lithify.files.orc.footers import OrcFooters
from lithify.io.local_storage import local_storage
from support.cases import case
from support.iceberg_runs import run

Maker = Callable[[SparkTable], SparkTable]

FORMATS = ["orc", "avro"]
COLUMNS = (
    "id BIGINT, b BOOLEAN, i INT, f FLOAT, d DOUBLE, small DECIMAL(10, 2), wide DECIMAL(30, 5), day DATE, "
    "z TIMESTAMP, t TIMESTAMP_NTZ, s STRING, bytes BINARY, l ARRAY<INT>, m MAP<STRING, INT>, "
    "n MAP<INT, STRUCT<x: DECIMAL(10, 2), y: STRING>>, r STRUCT<a: INT, `b c`: ARRAY<STRING>>, "
    "`odd-name 1` INT, `a.b` INT"
)
VALUES = """id, IF(id % 5 = 0, NULL, id % 2 = 0), CAST(id AS INT), CAST(id * 0.5 AS FLOAT), id * 0.25D,
    CAST(id * 1.25 AS DECIMAL(10, 2)), CAST(id * -1.25 AS DECIMAL(30, 5)),
    date_add(DATE '1969-12-28', CAST(id AS INT)), timestamp_micros(id * 500000 + {start}),
    CAST(timestamp_micros(id * 500001 + {start}) AS TIMESTAMP_NTZ), IF(id % 3 = 0, NULL, concat('s', id)),
    CAST('x' AS BINARY), IF(id % 4 = 0, NULL, array(1, NULL, CAST(id AS INT))), map('k', CAST(id AS INT)),
    map(CAST(id AS INT), named_struct('x', CAST(1.5 AS DECIMAL(10, 2)), 'y', NULL)),
    named_struct('a', 1, 'b c', array('q', NULL)), 7, 8"""


def formats(table: SparkTable) -> set[str]:
    """The formats of the table's data files."""
    files = table.metadata_table("data_files").to_pylist()
    return {file["file_format"].lower() for file in files}


def paths(table: SparkTable) -> list[Path]:
    """The table's data files."""
    files = table.metadata_table("data_files").to_pylist()
    return [Path(unquote(urlparse(file["file_path"]).path)) for file in files]


def with_all_types(table: SparkTable, version: int = 2, start: int = 0) -> SparkTable:
    """Columns of every type that Spark has, and odd names."""
    table.create(version, columns=COLUMNS)
    for first in (0, 20):
        values = VALUES.format(start=start)
        table.run(f"INSERT INTO {table.name} SELECT {values} FROM range({first}, {first + 20}, 1, 1)")
    table.delete("id % 10 = 3")
    return table


def with_promotions(table: SparkTable, version: int = 2) -> SparkTable:
    """Columns and fields of a struct promoted, renamed and added between commits."""
    columns = "id BIGINT, f FLOAT, d DECIMAL(5, 2), r STRUCT<a: INT, b: STRING>, l ARRAY<INT>"
    table.create(version, columns=columns)
    given = "id, CAST(id * 0.1 AS FLOAT), CAST(id * 1.5 AS DECIMAL(5, 2)), {}, array(NULL, CAST(id AS {}))"
    old = given.format("IF(id % 3 = 0, NULL, named_struct('a', CAST(id AS INT), 'b', 'x'))", "INT")
    table.run(f"INSERT INTO {table.name} SELECT {old} FROM range(0, 20, 1, 1)")
    table.alter("ALTER COLUMN f TYPE DOUBLE")
    table.alter("ALTER COLUMN d TYPE DECIMAL(20, 2)")
    table.alter("ALTER COLUMN r.a TYPE BIGINT")
    table.alter("ALTER COLUMN l.element TYPE BIGINT")
    table.alter("RENAME COLUMN r.b TO c")
    table.alter("ADD COLUMN r.n DATE")
    new = given.format("named_struct('a', id + 5000000000, 'c', NULL, 'n', DATE '2024-01-01')", "BIGINT")
    table.run(f"INSERT INTO {table.name} SELECT {new} FROM range(20, 40, 1, 1)")
    return table


MADE = [
    case(with_promotions, id="v2, promotions"),
    case(with_all_types, id="v2, all types"),
    case(lambda table: with_all_types(table, 3), id="v3, all types"),
    case(lambda table: tables.with_deletes(table, 2), id="v2, position deletes"),
    case(lambda table: tables.with_deletes(table, 2, "identity"), id="v2, position deletes in partitions"),
    case(lambda table: tables.with_deletes(table, 3), id="v3, vectors"),
    case(lambda table: tables.with_equality_deletes(table, 2), id="v2, equality deletes"),
    case(
        lambda table: tables.with_equality_deletes(table, 3, "bucket"), id="v3, equality deletes in buckets"
    ),
    case(lambda table: tables.with_evolved_schema(table, 2), id="v2, evolved schema"),
    case(lambda table: tables.with_evolved_partitions(table, 2), id="v2, evolved partitions"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("make", MADE)
def test_rows_and_their_lineage_stay(sql_table: SparkTable, make: Maker, form: str) -> None:
    table = make(replace(sql_table, properties={"write.format.default": form}))
    wanted = ("*", *LINEAGE) if table.load().metadata.format_version > 2 else ("*",)
    before = table.read(*wanted).combine_chunks()
    files = table.metadata_table("files").num_rows

    assert run(table).status == "Compacted"

    assert table.read(*wanted).combine_chunks() == before
    assert table.metadata_table("files").num_rows < files
    assert formats(table) == {form}
    table.run(f"DELETE FROM {table.name} WHERE id % 2 = 0")
    assert table.read("id").column(0).to_pylist() == [
        each for each in before.column("id").to_pylist() if each % 2
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_files_on_an_object_store(spark_iceberg: SparkIceberg, rest_on_s3: CatalogAddress, form: str) -> None:
    name = f"{fresh_name('db')}.t"
    table = SparkTable(spark_iceberg, rest_on_s3, name, {"write.format.default": form})
    tables.with_deletes(table, 2, "bucket")
    before = table.read().combine_chunks()

    assert run(table).status == "Compacted"

    assert table.read().combine_chunks() == before
    assert formats(table) == {form}


def test_pyiceberg_reads_orc_files_of_a_run(sql_table: SparkTable) -> None:
    table = tables.with_deletes(replace(sql_table, properties={"write.format.default": "orc"}), 2)
    expected = table.read().combine_chunks()

    assert run(table).status == "Compacted"

    found = table.load().scan().to_arrow().select(expected.column_names).cast(expected.schema)
    assert found.sort_by("id").combine_chunks() == expected


@pytest.mark.parametrize("form", FORMATS)
def test_lineage_that_files_store_is_read_again(sql_table: SparkTable, form: str) -> None:
    table = tables.with_deletes(replace(sql_table, properties={"write.format.default": form}), 3)
    assert run(table).status == "Compacted"
    table.append_many(3, 20, first=200)
    table.delete("id % 10 = 7")
    before = table.read("*", *LINEAGE).combine_chunks()

    assert run(table).status == "Compacted"

    assert table.read("*", *LINEAGE).combine_chunks() == before


def test_avro_files_without_a_defaulted_column_have_its_default(sql_table: SparkTable) -> None:
    table = tables.with_evolved_schema(replace(sql_table, properties={"write.format.default": "avro"}), 3)
    before = table.read("*", *LINEAGE).combine_chunks()

    assert run(table).status == "Compacted"

    assert table.read("*", *LINEAGE).combine_chunks() == before


@pytest.mark.parametrize("form", FORMATS)
def test_files_are_described_as_those_of_java(sql_table: SparkTable, form: str) -> None:
    table = with_all_types(replace(sql_table, properties={"write.format.default": form}))
    (old, *_), metrics = paths(table), table.metadata_table("data_files").to_pylist()[0]

    run(table)

    (new,) = paths(table)
    if form == "avro":
        with pa.OSFile(str(old)) as before, pa.OSFile(str(new)) as after:
            found, expected = read_header(after), read_header(before)
        assert (found.schema, found.codec) == (expected.schema, expected.codec)
        return
    footers = OrcFooters(local_storage([str(old.parent)]))
    assert footers.of(str(new)).fields == footers.of(str(old)).fields
    (told,) = table.metadata_table("data_files").to_pylist()
    assert told["split_offsets"] == metrics["split_offsets"]
    counts = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
    for name in (*counts, "lower_bounds", "upper_bounds"):
        assert dict(told[name]).keys() == dict(metrics[name]).keys(), name


@pytest.mark.parametrize("form", FORMATS)
def test_moments_before_1970_stay(sql_table: SparkTable, form: str) -> None:
    table = with_all_types(replace(sql_table, properties={"write.format.default": form}), start=-1_500_000)
    before = table.read().combine_chunks()

    assert run(table).status == "Compacted"

    assert table.read().combine_chunks() == before
    assert formats(table) == {"parquet" if form == "orc" else form}  # PyArrow's ORC has no such fractions


@pytest.mark.parametrize("form", FORMATS)
def test_uuids_and_fixed_bytes_stay(sql_table: SparkTable, form: str) -> None:
    sql_table.run(f"CREATE NAMESPACE IF NOT EXISTS {sql_table.name.rpartition('.')[0]}")
    schema = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "u", UUIDType(), required=False),
        NestedField(3, "f", FixedType(4), required=False),
        NestedField(4, "s", StringType(), required=False),
    )
    properties = {"write.format.default": form, "format-version": "2"}
    sql_table.catalog.open().create_table(sql_table.identifier, schema, properties=properties)
    for first in (0, 10):
        sql_table.run(
            f"INSERT INTO {sql_table.name} SELECT id, IF(id % 4 = 0, NULL, uuid()), "
            f"CAST('abcd' AS BINARY), 'x' FROM range({first}, {first + 10}, 1, 1)"
        )
    before = sql_table.read().combine_chunks()

    assert run(sql_table).status == "Compacted"

    assert sql_table.read().combine_chunks() == before
    assert formats(sql_table) == {form}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", ["orc", "avro", "parquet"])
def test_files_of_all_formats_are_compacted_together(sql_table: SparkTable, form: str) -> None:
    table = sql_table.create(2)
    for number, each in enumerate(("parquet", "orc", "avro") * 2):
        table.alter(f"SET TBLPROPERTIES ('write.format.default' = '{each}')")
        table.append(number * 20, 20)
        table.delete(f"id = {number * 20 + 3}")
    table.alter(f"SET TBLPROPERTIES ('write.format.default' = '{form}')")
    before = table.read().combine_chunks()

    assert run(table).status == "Compacted"

    assert table.read().combine_chunks() == before
    assert formats(table) == {form}


def _write_foreign(table: SparkTable, folder: str, columns: str, number: int) -> None:
    """Spark's own writer of ORC makes a file of ten rows, without field ids."""
    first = number * 10
    table.run(
        f"INSERT OVERWRITE DIRECTORY '{folder}' USING orc "
        f"SELECT {columns} FROM range({first}, {first + 10}, 1, 1)"
    )


def test_files_without_ids_are_found_by_the_name_mapping(sql_table: SparkTable) -> None:
    properties = {"write.format.default": "orc"}
    table = sql_table.create(2, "none", properties, "id BIGINT, kind STRING, place STRUCT<x: INT, y: STRING>")
    location = table.spark.state(table.name).metadata["location"]
    for number in range(2):
        folder = f"{location}/data/foreign-{number}"
        _write_foreign(
            table, folder, "named_struct('y', 'a', 'x', 5) AS place, concat('k', id) AS kind, id", number
        )
        table.procedure("add_files", f"source_table => '`orc`.`{folder}`'")
    table.alter("RENAME COLUMN kind TO sort")
    before = table.read().combine_chunks()
    assert before.column("sort").to_pylist() == [f"k{number}" for number in range(20)]

    assert run(table).status == "Compacted"

    assert table.read().combine_chunks() == before
    assert formats(table) == {"orc"}


def test_identity_partitions_that_files_lack_are_kept(sql_table: SparkTable) -> None:
    properties = {"write.format.default": "orc"}
    table = sql_table.create(2, "identity", properties, "id BIGINT, kind STRING, n INT")
    location = table.spark.state(table.name).metadata["location"]
    for number in range(4):
        folder = f"{location}/data/foreign-{number // 2}/kind=k{number % 2}"
        _write_foreign(table, folder, "CAST(7 AS INT) AS n, id", number)
    for number in range(2):
        table.procedure("add_files", f"source_table => '`orc`.`{location}/data/foreign-{number}`'")
    before = table.read().combine_chunks()
    assert before.column("kind").to_pylist()[:11] == ["k0"] * 10 + ["k1"]

    assert run(table).status == "Compacted"

    assert table.read().combine_chunks() == before
    assert formats(table) == {"orc"}


def test_defaults_that_java_cannot_read_from_orc_are_written(sql_table: SparkTable) -> None:
    """Java fills in no defaults in ORC files; a compacted table has the values, as one of Avro files has."""
    twin = replace(sql_table, identifier="db.twin", properties={"write.format.default": "avro"})
    expected = tables.with_evolved_schema(twin, 3).read().combine_chunks()
    table = tables.with_evolved_schema(replace(sql_table, properties={"write.format.default": "orc"}), 3)

    assert run(table).status == "Compacted"

    assert table.read().combine_chunks() == expected
    assert formats(table) == {"orc"}
