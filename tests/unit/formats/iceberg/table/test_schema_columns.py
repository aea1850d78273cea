"""Columns of schemas as table metadata has them."""

from __future__ import annotations

from typing import Any

from lithify.formats.iceberg.table.schema_columns import SchemaColumn, schema_columns

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
        {"id": 1, "name": "is_new", "required": True, "type": "boolean"},
        {"id": 2, "name": "price", "required": False, "type": "decimal(9, 2)"},
        {"id": 3, "name": "point", "required": False, "type": POINT},
        {"id": 6, "name": "at", "required": True, "type": "timestamptz"},
        {"id": 7, "name": "shape", "required": False, "type": "geometry"},
    ],
}


def test_columns_are_primitive_also_within_structs() -> None:
    assert [*schema_columns(SCHEMA).values()] == [
        SchemaColumn(1, "is_new", "boolean", is_required=True),
        SchemaColumn(2, "price", "decimal(9,2)", is_required=False),
        SchemaColumn(4, "point.x", "double", is_required=False),
        SchemaColumn(6, "at", "timestamptz", is_required=True),
        SchemaColumn(7, "shape", "geometry", is_required=False),
    ]
