"""Columns of schemas as table metadata has them."""

from __future__ import annotations

from lithify.formats.iceberg.table.schema_columns import SchemaColumn, schema_columns
from support.iceberg_schemas import SCHEMA


def test_columns_are_primitive_also_within_structs() -> None:
    assert [*schema_columns(SCHEMA).values()] == [
        SchemaColumn(1, "is_new", "boolean", is_required=True),
        SchemaColumn(2, "price", "decimal(9,2)", is_required=False),
        SchemaColumn(4, "point.x", "double", is_required=False),
        SchemaColumn(6, "at", "timestamptz", is_required=True),
        SchemaColumn(7, "shape", "geometry", is_required=False),
    ]
