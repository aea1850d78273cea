"""Why a Hive-compatible table cannot be compacted: what Hive's readers would read otherwise, or not at all.

Called by `stores`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lithify.files.types import Field
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.properties import is_true
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import PartitionSpec, spec_of
from lithify.formats.mixed.hive_locations import ROOT

if TYPE_CHECKING:
    from lithify.formats.mixed.hive_metastore import HiveTable

_SYNCED = "base.hive.auto-sync-data-write"
_FORMAT = "write.format.default"
_READ = frozenset(
    {"BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "DECIMAL", "VARCHAR", "VARBINARY"}
    | {"ROW", "ARRAY", "MAP"}
)
"""Types that Hive reads as they are written here. Timestamps depend on the time zone of who writes them."""
_PARTITIONED_BY = frozenset({"BOOLEAN", "INT", "BIGINT", "DECIMAL", "VARCHAR"})
"""Types of partition columns whose texts are the same for Hive and Amoro; of a date the latter has days."""


def hive_refusals(hive: HiveTable, metadata: TableMetadata, schema: Schema) -> Iterator[str]:
    """The reasons, for people; none if it can be compacted."""
    if not metadata.properties.get(ROOT):
        yield f"{ROOT} is missing: its base store does not say where Hive's files are"
    if is_true(metadata.properties, _SYNCED, "false"):
        yield f"{_SYNCED} = true: readers replace files of base by what they find in Hive"
    if not hive.is_parquet or metadata.properties.get(_FORMAT, "parquet").lower() != "parquet":
        yield "Hive reads other files than Parquet"
    spec = spec_of(metadata, metadata.spec_id)
    yield from _of_partitions(hive, spec, schema)
    for column in schema.columns:
        for unread in _unread(column):
            yield f"column {unread.name}: Hive reads the type {unread.type.root} otherwise than it is written"


def _of_partitions(hive: HiveTable, spec: PartitionSpec, schema: Schema) -> Iterator[str]:
    names = tuple(each.name.lower() for each in spec.fields)
    if names != tuple(name.lower() for name in hive.partition_columns):
        yield f"it is partitioned by {_listed(names)}, and in Hive by {_listed(hive.partition_columns)}"
    for each in spec.fields:
        column = schema.find(each.source)
        if each.transform != "identity":
            yield f"partition field {each.name}: Hive knows no transform {each.transform}"
        elif column is None or column.type.root not in _PARTITIONED_BY:
            yield f"partition field {each.name}: Hive and Amoro have different texts for its values"


def _unread(column: Field) -> Iterator[Field]:
    """The parts of a column that Hive does not read."""
    if column.type.root not in _READ:
        yield column
    for part in column.type.fields:
        yield from _unread(part)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
