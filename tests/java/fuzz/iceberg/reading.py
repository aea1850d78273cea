"""Reads of whole tables that must agree: with conditions, by which files are skipped, and by iceberg-go."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from infrastructure.building.once import NotBuilt
from infrastructure.iceberg import second_reader as go
from infrastructure.iceberg.programs import GO
from infrastructure.iceberg.tables import SparkTable

CONDITIONS = ("id >= 20", "id = 7", "kind IS NULL", "kind = 'a-0'", "day = DATE '2024-02-28'")


def assert_filters_agree(table: SparkTable, number: int) -> None:
    """Checks that a read by a condition finds what all rows have: bounds and partitions hide none."""
    condition = CONDITIONS[number % len(CONDITIONS)]
    (every,) = table.spark.sql(f"SELECT COUNT_IF({condition}) AS n FROM {table.name}").to_pylist()
    (found,) = table.spark.sql(f"SELECT COUNT(*) AS n FROM {table.name} WHERE {condition}").to_pylist()
    assert found == every, condition


def assert_go_agrees(table: SparkTable) -> None:
    """Checks that iceberg-go reads what Spark reads."""
    try:
        GO.built()
    except NotBuilt as error:
        print(f"not read by iceberg-go: {error}")
        return
    expected = table.spark.sql(f"SELECT * FROM {table.name}")
    found = go.read(table.metadata_location).select(expected.column_names).cast(expected.schema)
    assert _counted(found) == _counted(expected)


def _counted(rows: pa.Table) -> Counter[str]:
    """The rows but those with NaN: Java finds files of equality deletes by bounds, which have no NaN."""
    return Counter(text for text in map(repr, rows.to_pylist()) if "nan" not in text)
