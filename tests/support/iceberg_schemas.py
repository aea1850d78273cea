"""A schema of Iceberg's metadata as JSON, with flat and nested columns."""

from __future__ import annotations

from typing import Any

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
