"""A task reads what Spark wrote, whatever deletes, schemas and specs there are, and Spark reads it after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from infrastructure.iceberg import tables
from infrastructure.iceberg.model import ContentFile, ScanTask
from infrastructure.iceberg.tables import SparkTable
from lithify.clock import SystemClock
from lithify.engine.rewrite.budget import Budget
from lithify.formats.iceberg.data_files.schema import LINEAGE, Schema, parse_schema
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, NewDataFile, Partition
from lithify.formats.iceberg.rewriting.options import parse_write_options
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.iceberg.table.data_locations import DataLocations
from lithify.formats.iceberg.table.partition_paths import PartitionField, PartitionSpec
from lithify.formats.protocol.results import TaskOutputs
from lithify.io.local_storage import local_storage

CONTENTS = {"POSITION_DELETES": Content.POSITION_DELETES, "EQUALITY_DELETES": Content.EQUALITY_DELETES}


def _data_file(task: ScanTask) -> DataFile:
    file = task.file
    return DataFile(
        *(file.path, file.size, file.record_count, file.format.lower(), file.data_sequence_number or 0),
        partition=_partition(file),
        first_row_id=file.first_row_id,
        deletes=tuple(map(_delete_file, task.deletes)),
    )


def _delete_file(file: ContentFile) -> DeleteFile:
    return DeleteFile(
        *(file.path, file.size, file.record_count, CONTENTS[file.content], file.format.lower()),
        *(file.data_sequence_number or 0, _partition(file), tuple(file.equality_ids or ())),
        referenced=file.referenced_data_file,
        offset=file.content_offset,
        length=file.content_size,
    )


def _partition(file: ContentFile) -> Partition:
    return Partition(file.spec_id, tuple(file.partition.values()))


def _schema(metadata: Mapping[str, Any]) -> Schema:
    by_id = {each["schema-id"]: each for each in metadata["schemas"]}
    current = by_id.pop(metadata["current-schema-id"])
    return parse_schema(current, [*by_id.values()])


def _specs(metadata: Mapping[str, Any]) -> dict[int, PartitionSpec]:
    return {
        spec["spec-id"]: PartitionSpec(
            spec["spec-id"],
            tuple(
                PartitionField(each["source-id"], each["name"], each["transform"]) for each in spec["fields"]
            ),
        )
        for spec in metadata["partition-specs"]
    }


def _rewrite(table: SparkTable, files: Sequence[DataFile], **changes: Any) -> TaskOutputs:
    metadata = table.spark.state(table.name).metadata
    specs = _specs(metadata)
    folder = f"{metadata['location']}/data"
    target = WriteTarget(
        DataLocations(folder),
        _schema(metadata),
        specs[metadata["default-spec-id"]],
        parse_write_options(metadata.get("properties", {})),
        has_lineage=metadata["format-version"] > 2,
        **changes,
    )
    storage = local_storage([metadata["location"]])
    task = RewriteTask(
        prefix="run",
        files=tuple(files),
        target=target,
        storage=storage,
        budget=Budget(),
        specs=tuple(specs.values()),
    )
    result = task.run(SystemClock())
    if result.failure is not None:
        raise result.failure.as_error()
    return result.outputs


def _rows(files: Sequence[NewDataFile], columns: Sequence[str]) -> pa.Table:
    found = [pq.ParquetFile(unquote(urlparse(file.path).path)).read() for file in files]
    return pa.concat_tables(found).select(list(columns)).sort_by("id")


MAKERS: dict[str, Callable[[SparkTable], SparkTable]] = {
    "positions": lambda table: tables.with_deletes(table, 2),
    "vectors": lambda table: tables.with_deletes(table, 3),
    "equality deletes": tables.with_equality_deletes,
    "equality deletes of version 3": lambda table: tables.with_equality_deletes(table, 3),
    "evolved schema": tables.with_evolved_schema,
    "evolved specs": tables.with_evolved_partitions,
    "evolved specs of version 3": lambda table: tables.with_evolved_partitions(table, 3),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MAKERS)
def test_rows_are_those_that_spark_reads(sql_table: SparkTable, name: str) -> None:
    table = MAKERS[name](sql_table)
    metadata = table.spark.state(table.name).metadata
    lineage = [field.name for field in LINEAGE] if metadata["format-version"] > 2 else []
    columns = [*(field.name for field in _schema(metadata).columns), *lineage]
    expected = table.read(*columns)

    written = _rewrite(table, [*map(_data_file, table.spark.scan(table.name))]).data

    found = _rows(written, columns)
    if "equality" in name:  # files of Iceberg 1.11 inherit the file sequence number instead (#17039)
        lineage = lineage[:1]
    kept = [*(name for name in columns if name not in {each.name for each in LINEAGE}), *lineage]
    assert found.select(kept).to_pylist() == expected.select(kept).to_pylist()


def test_files_of_spark_are_copied(sql_table: SparkTable) -> None:
    table = sql_table.create(2)
    table.run(
        f"INSERT INTO {table.name} SELECT id, DATE '2024-01-01', uuid(), "
        "CAST(rand() * 1000000 AS DECIMAL(10, 2)) FROM range(0, 700000, 1, 1)"
    )
    (task,) = table.spark.scan(table.name)
    assert task.file.size > 10 << 20

    outputs = _rewrite(table, [_data_file(task)])

    assert outputs.copied_bytes > 0.9 * task.file.size
    rows = _rows(outputs.data, ["id"])
    assert rows.num_rows == 700_000
    assert pc.sum(rows.column(0)).as_py() == sum(range(700_000))


def test_pages_of_files_of_spark_are_joined(sql_table: SparkTable) -> None:
    table = sql_table.create(2)
    for first in range(0, 200_000, 50_000):
        table.run(
            f"INSERT INTO {table.name} SELECT id, DATE '2024-01-01', uuid(), "
            f"CAST(rand() * 1000000 AS DECIMAL(10, 2)) FROM range({first}, {first + 50_000}, 1, 1)"
        )
    expected = table.read("id", "kind", "amount")

    outputs = _rewrite(table, [*map(_data_file, table.spark.scan(table.name))])

    assert outputs.copied_bytes > 0
    assert _rows(outputs.data, ["id", "kind", "amount"]).to_pylist() == expected.to_pylist()


def test_spark_reads_files_of_a_task(sql_table: SparkTable) -> None:
    table = tables.with_evolved_schema(sql_table, 2)
    expected = table.read("id", "n", "new", "place")
    (new,) = _rewrite(table, [*map(_data_file, table.spark.scan(table.name))]).data
    table.run(f"DELETE FROM {table.name}")

    table.spark.append_files(table.name, [new.path])

    assert table.read("id", "n", "new", "place").to_pylist() == expected.to_pylist()
