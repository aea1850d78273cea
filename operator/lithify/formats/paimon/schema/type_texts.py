"""Reads types as Paimon's schema files write them.

Called by `catalog.schema_files` and for options that contain types. Follows Paimon's `DataTypeJsonParser`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lithify.files.types import LISTS, UNBOUNDED, VARIANT, ColumnType, Field

_TYPE = re.compile(r"(?P<root>[A-Z_]+)(?:\((?P<arguments>[\d, ]+)\))?(?P<zoned> WITH LOCAL TIME ZONE)?")
_ALIASES = {
    "INTEGER": "INT",
    "STRING": "VARCHAR",
    "BYTES": "VARBINARY",
    "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
}
_DEFAULT_PRECISION = {
    "DECIMAL": 10,
    "TIMESTAMP": 6,
    "TIMESTAMP_LTZ": 6,
    "STRING": UNBOUNDED,
    "BYTES": UNBOUNDED,
    "CHAR": 1,
    "VARCHAR": 1,
    "BINARY": 1,
    "VARBINARY": 1,
}
_COUNT = ColumnType("INT", nullable=False)
"""Type of the count of an element in a MULTISET."""


def parse_type(written: str | Mapping[str, Any]) -> ColumnType:
    """Parses a type from Paimon's schema files: text, or an object for nested types.

    An unknown type gets its own name as root.
    """
    return _parse_text(written) if isinstance(written, str) else _parse_object(written)


def _parse_object(written: Mapping[str, Any]) -> ColumnType:
    text = str(written["type"]).upper()
    root, nullable = text.removesuffix(" NOT NULL").strip(), not text.endswith(" NOT NULL")
    if root == "ROW":
        fields = tuple(
            Field(each["name"], parse_type(each["type"]), each["id"]) for each in written["fields"]
        )
    elif root in LISTS:
        fields = (Field("element", parse_type(written["element"])),)
    elif root == "MAP":
        fields = (Field("key", _not_null(written["key"])), Field("value", parse_type(written["value"])))
    elif root == "MULTISET":
        fields = (Field("key", _not_null(written["element"])), Field("value", _COUNT))
    else:
        return ColumnType(f"{root} {dict(written)}", nullable=nullable)
    return ColumnType(root, int(written.get("length", 0)), nullable=nullable, fields=fields)


def _not_null(written: str | Mapping[str, Any]) -> ColumnType:
    """Map keys: neither Parquet nor Arrow can store null keys, whatever the schema says."""
    return replace(parse_type(written), nullable=False)


def _parse_text(text: str) -> ColumnType:
    stripped = text.strip().upper()
    nullable = not stripped.endswith(" NOT NULL")
    match = _TYPE.fullmatch(stripped.removesuffix(" NOT NULL").strip())
    if match is None:
        return ColumnType(stripped, nullable=nullable)
    root = _ALIASES.get(match["root"], match["root"])
    if match["zoned"] and root == "TIMESTAMP":
        root = "TIMESTAMP_LTZ"
    if root == "VARIANT":
        return ColumnType(root, nullable=nullable, fields=VARIANT.fields)
    numbers = [int(number) for number in (match["arguments"] or "").split(",") if number.strip()]
    default = _DEFAULT_PRECISION.get(match["root"], _DEFAULT_PRECISION.get(root, 0))
    precision = numbers[0] if numbers else default
    return ColumnType(root, precision, numbers[1] if len(numbers) > 1 else 0, nullable)
