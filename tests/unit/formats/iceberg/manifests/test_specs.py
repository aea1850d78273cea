"""Partition fields have the types that Iceberg gives to the results of transforms."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.formats.iceberg.manifests.partition_types import PartitionField
from lithify.formats.iceberg.manifests.specs import (
    SchemaColumn,
    is_unpartitioned,
    partition_type,
    schema_columns,
)

POINT = {
    "type": "struct",
    "fields": [
        {"id": 4, "name": "x", "required": True, "type": "double"},
        {"id": 5, "name": "tags", "required": True, "type": {"type": "list", "element": "string"}},
    ],
}
SCHEMA: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "price", "required": False, "type": "decimal(9, 2)"},
        {"id": 3, "name": "point", "required": False, "type": POINT},
        {"id": 6, "name": "at", "required": True, "type": "timestamptz"},
    ],
}
COLUMNS = schema_columns(SCHEMA)


def test_columns_are_primitive_also_within_structs() -> None:
    assert schema_columns(SCHEMA) == {
        1: SchemaColumn(1, "id", "long", True),
        2: SchemaColumn(2, "price", "decimal(9,2)", False),
        4: SchemaColumn(4, "point.x", "double", False),
        6: SchemaColumn(6, "at", "timestamptz", True),
    }


@pytest.mark.parametrize(
    ("transform", "source", "expected"),
    [
        ("identity", 1, "long"),
        ("identity", 2, "decimal(9,2)"),
        ("bucket[16]", 1, "int"),
        ("truncate[4]", 2, "decimal(9,2)"),
        ("year", 6, "int"),
        ("month", 6, "int"),
        ("day", 6, "date"),
        ("hour", 6, "int"),
        ("void", 2, "decimal(9,2)"),
        ("bucket[4]", 99, "int"),
    ],
)
def test_type_follows_from_transform_and_column(transform: str, source: int, expected: str) -> None:
    field = {"field-id": 1003, "name": "p", "transform": transform, "source-id": source}
    assert partition_type([field], COLUMNS) == (PartitionField(1003, "p", expected),)


def test_type_of_a_dropped_column_is_that_of_its_manifests() -> None:
    field = {"field-id": 1000, "name": "p", "transform": "identity", "source-id": 99}
    known = (PartitionField(1000, "p", "string"),)
    assert partition_type([field], COLUMNS, known) == known
    with pytest.raises(ValueError, match="p has a type"):
        partition_type([field], COLUMNS)


def test_fields_without_ids_are_numbered() -> None:
    fields = [{"name": name, "transform": "identity", "source-id": 1} for name in "ab"]
    assert [field.id for field in partition_type(fields, COLUMNS)] == [1000, 1001]


def test_spec_with_void_fields_only_is_unpartitioned() -> None:
    assert is_unpartitioned([])
    assert is_unpartitioned([{"transform": "void"}])
    assert not is_unpartitioned([{"transform": "void"}, {"transform": "day"}])
