"""Files, deletes and plans of Iceberg tables are what Java's scans and planners say of tables from Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infrastructure.iceberg.model import ContentFile, EqualityDeletes
from infrastructure.iceberg.tables import (
    SparkTable,
    with_deletes,
    with_equality_deletes,
    with_evolved_partitions,
    with_evolved_schema,
)
from lithify.formats.iceberg.manifests.carrying import carried_entries
from lithify.formats.iceberg.manifests.delete_index import delete_index
from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.manifests.manifest_lists import ManifestFile
from lithify.formats.iceberg.manifests.manifest_writer import ManifestOwner, encode_manifest
from lithify.formats.iceberg.manifests.view import ManifestReader, live_entries
from lithify.formats.iceberg.model import DataFile, DeleteFile
from lithify.formats.iceberg.planning.columns import compared_columns, needed_statistics
from lithify.formats.iceberg.planning.figures import figures_of
from lithify.formats.iceberg.planning.options import planning_options
from lithify.formats.iceberg.planning.plan import plan_rewrites
from lithify.formats.iceberg.planning.units import RewriteUnit, units
from lithify.formats.iceberg.table.schema_columns import schema_columns

Make = Callable[[SparkTable], SparkTable]


def upgraded(table: SparkTable) -> SparkTable:
    """Files from before and after an upgrade to version 3."""
    with_deletes(table, 2).upgrade(3)
    return table.append(500, 20)


def zeros(table: SparkTable) -> SparkTable:
    """Partitions by a DOUBLE: both zeros, NaN and null, with equality deletes in them."""
    table.create(2, "identity", columns="id BIGINT, kind DOUBLE")
    texts = "VALUES (1, '0.0'), (2, '-0.0'), (3, 'NaN'), (4, NULL)"
    rows = f"SELECT CAST(col1 AS BIGINT) AS id, CAST(col2 AS DOUBLE) AS kind FROM {texts}"
    for _ in range(3):
        table.run(f"INSERT INTO {table.name} {rows}")
    table.spark.row_delta(table.name, append=rows, equality=[EqualityDeletes(["id", "kind"], rows)])
    return table


MADE: dict[str, Make] = {
    "zeros": zeros,
    "v1": lambda table: table.create(1, "days").append_many(3, 30),
    "v2 deletes": lambda table: with_deletes(table, 2),
    "v2 deletes in partitions": lambda table: with_deletes(table, 2, "identity"),
    "v3 vectors": lambda table: with_deletes(table, 3, "bucket"),
    "equality": with_equality_deletes,
    "equality in buckets": lambda table: with_equality_deletes(table, 2, "bucket"),
    "schemas": with_evolved_schema,
    "specs": with_evolved_partitions,
    "upgraded": upgraded,
}


class Local:
    """Files by their local paths."""

    def read_bytes(self, path: str, most: int) -> bytes:
        return Path(path.removeprefix("file:")).read_bytes()


class Ours:
    """The newest snapshot of a table as we see it."""

    def __init__(self, table: SparkTable) -> None:
        state = table.spark.state(table.name)
        self.metadata: Any = state.metadata
        self.snapshot = next(
            each for each in self.metadata["snapshots"] if each["snapshot-id"] == state.snapshot_id
        )
        reader = ManifestReader(Local())
        manifests = reader.manifests(self.snapshot["manifest-list"])
        schemas = {each["schema-id"]: each for each in self.metadata["schemas"]}
        columns = schema_columns(schemas[self.metadata["current-schema-id"]])
        compared = compared_columns(reader.view(manifests).deletes, columns)
        self.view = reader.view(manifests, needed_statistics((), compared))
        empty = {each["spec-id"] for each in self.metadata["partition-specs"] if not each["fields"]}
        self.index = delete_index(self.view.data, self.view.deletes, empty, compared)
        self.objects = FileObjects(self.view, self.index)

    def files(self) -> list[DataFile]:
        return self.objects.data_files(np.arange(len(self.view.data)))

    def plan(self, options: dict[str, str]) -> list[RewriteUnit]:
        spec_id = self.metadata["default-spec-id"]
        figures = figures_of(self.view, self.index, spec_id, {})
        plan = plan_rewrites(self.view.data, figures, planning_options(options, self.metadata["properties"]))
        return [*units(plan, self.objects)]


def as_java(file: DataFile | DeleteFile) -> tuple[Any, ...]:
    order = file.sort_order_id if isinstance(file, DataFile) else None
    first = file.first_row_id if isinstance(file, DataFile) else None
    return (file.path, file.format, file.rows, file.size, file.sequence, file.partition.spec_id, order, first)


def of_java(file: ContentFile) -> tuple[Any, ...]:
    is_data = file.content.lower() == "data"
    order = file.sort_order_id if is_data else None
    first = file.first_row_id if is_data else None
    sizes = (file.record_count, file.size, file.data_sequence_number, file.spec_id)
    return (file.path, file.format.lower(), *sizes, order, first)


def deletes_of(deletes: Any, named: Callable[[Any], tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """Deletes with what tells vectors of one file and equality deletes apart."""
    return {(*named(each), tuple(each.equality_ids or ())) for each in deletes}


@pytest.mark.parametrize("name", MADE)
def test_files_and_plans_are_those_of_java(sql_table: SparkTable, name: str) -> None:
    table = MADE[name](sql_table)
    ours, tasks = Ours(table), table.spark.scan(table.name)
    assert sorted(map(as_java, ours.files())) == sorted(of_java(task.file) for task in tasks)
    assert {file.path: deletes_of(file.deletes, as_java) for file in ours.files()} == {
        task.file.path: deletes_of(task.deletes, of_java) for task in tasks
    }
    blobs = {
        (each.path, each.offset, each.length, each.referenced)
        for file in ours.files()
        for each in file.deletes
        if each.is_vector
    }
    assert blobs == {
        (each.path, each.content_offset, each.content_size, each.referenced_data_file)
        for task in tasks
        for each in task.deletes
        if each.content_offset is not None
    }
    for options in (
        {},
        {"rewrite-all": "true"},
        {"min-input-files": "2", "max-file-group-input-files": "3"},
        {"min-input-files": "9", "delete-file-threshold": "1"},
        {"target-file-size-bytes": "2000", "delete-ratio-threshold": "0.05"},
    ):
        found = ours.plan(options)
        bins = [sorted(file.path for file in each.files) for each in found]
        groups = table.spark.plan_rewrite(table.name, options)
        if "max-file-group-input-files" in options:  # which files share a group is chance: Java's order is
            assert sorted(map(len, bins)) == sorted(len(group.files) for group in groups)
            continue
        assert sorted(bins) == sorted(sorted(group.files) for group in groups)
        expected = {(group.expected_output_files, group.input_split_size) for group in groups}
        parsed = planning_options(options, ours.metadata["properties"])
        counts = [parsed.expected_files(sum(file.size for file in each.files)) for each in found]
        assert set(zip(counts, [each.split_size for each in found], strict=True)) == expected


@pytest.mark.parametrize("name", MADE)
def test_entries_that_are_written_again_say_the_same(sql_table: SparkTable, name: str) -> None:
    """Every live entry, with its inherited values, in a manifest of another snapshot."""
    ours = Ours(MADE[name](sql_table))
    version = ours.metadata["format-version"]
    for manifest in ours.view.manifests:
        content = Local().read_bytes(manifest.path, 0)
        before = live_entries(manifest, content, needed_statistics((), {}))
        owner = ManifestOwner(
            version, 7, manifest.content, manifest.spec_id, before.partition_type, "[]", "{}"
        )
        kept = carried_entries(manifest, content, version, 7, np.empty(0, dtype=np.int64))
        written = encode_manifest([kept], owner, manifest.path)
        after = live_entries(relisted(written.file, manifest), written.content, needed_statistics((), {}))
        same = [each for each in before.rows.column_names if each not in ("status", "position")]
        # As texts, in which NaN is the same as NaN, and 0.0 is not -0.0.
        assert str(after.rows.select(same).to_pylist()) == str(before.rows.select(same).to_pylist())


def relisted(written: ManifestFile, before: ManifestFile) -> ManifestFile:
    """The manifest as a later list names it, with a first row id where the one before had one."""

    return replace(
        written,
        sequence=written.sequence if written.sequence == 0 else 99,
        min_sequence=written.min_sequence or 0,
        first_row_id=before.first_row_id,
    )
