"""Schemas of Iceberg tables: read from their JSON, and their form in Arrow, with field ids.

Made on the driver from table metadata; travels to executors with tasks. Pure; needs no Iceberg library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from lithify.errors import UnsupportedTable
from lithify.files.field_ids import field_with_ids
from lithify.files.types import UNBOUNDED, ColumnType, Field, arrow_type

ROW_ID, LAST_UPDATED = 2147483540, 2147483539
"""Field ids of the lineage columns of version 3."""
LINEAGE = (
    Field("_row_id", ColumnType("BIGINT"), ROW_ID),
    Field("_last_updated_sequence_number", ColumnType("BIGINT"), LAST_UPDATED),
)

_PRIMITIVES = {
    "boolean": ("BOOLEAN", 0),
    "int": ("INT", 0),
    "long": ("BIGINT", 0),
    "float": ("FLOAT", 0),
    "double": ("DOUBLE", 0),
    "date": ("DATE", 0),
    "time": ("TIME_MICROS", 0),
    "timestamp": ("TIMESTAMP", 6),
    "timestamptz": ("TIMESTAMP_LTZ", 6),
    "timestamp_ns": ("TIMESTAMP_NANOS", 9),
    "timestamptz_ns": ("TIMESTAMP_LTZ_NANOS", 9),
    "string": ("VARCHAR", UNBOUNDED),
    "uuid": ("UUID", 16),
    "binary": ("VARBINARY", UNBOUNDED),
    "unknown": ("UNKNOWN", 0),
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[(\d+)\]")
_INSTANT_BYTES = 12


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema of a table.

    Attributes:
        id: its id.
        columns: its columns, with ids in all parts; the defaults are initial defaults.
        older: columns of earlier schemas that it lacks, which equality deletes may still name.
    """

    id: int
    columns: tuple[Field, ...]
    older: tuple[Field, ...] = ()

    def rows_schema(self, more: Sequence[Field] = ()) -> pa.Schema:
        """The Arrow schema of rows, without columns that are in no file; `more` columns come last."""
        return pa.schema(
            [pa.field(each.name, arrow_type(each.type), each.type.nullable) for each in self.stored(more)]
        )

    def file_schema(self, more: Sequence[Field] = ()) -> pa.Schema:
        """The Arrow schema of files, with field ids in all parts."""
        return pa.schema([field_with_ids(each.name, each.type, each.id) for each in self.stored(more)])

    def stored(self, more: Sequence[Field] = ()) -> tuple[Field, ...]:
        """The columns that files have: those of type unknown are nowhere."""
        return tuple(each for each in (*self.columns, *more) if each.type.root != "UNKNOWN")

    def narrowed(self, required: Collection[int]) -> Schema:
        """The same schema, with these fields required as well."""
        return replace(self, columns=tuple(_narrowed(column, required) for column in self.columns))

    def find(self, number: int) -> Field | None:
        """A column by its id, at any depth of structs, also among older ones."""
        return next((field for field, _ in self.paths() if field.id == number), None)

    def path_of(self, number: int) -> tuple[str, ...] | None:
        """The names that lead to a field, through structs; None if there is none with this id."""
        return next((path for field, path in self.paths() if field.id == number), None)

    def paths(self) -> Iterator[tuple[Field, tuple[str, ...]]]:
        """All fields that are not in lists or maps, with their paths; older columns last."""
        for field in (*self.columns, *self.older):
            yield from _paths(field, ())


def _narrowed(field: Field, required: Collection[int]) -> Field:
    parts = tuple(_narrowed(part, required) for part in field.type.fields)
    kind = replace(field.type, nullable=field.type.nullable and field.id not in required, fields=parts)
    return replace(field, type=kind)


def _paths(field: Field, above: tuple[str, ...]) -> Iterator[tuple[Field, tuple[str, ...]]]:
    path = (*above, field.name)
    yield field, path
    if field.type.root == "ROW":
        for part in field.type.fields:
            yield from _paths(part, path)


def parse_schema(text: str | Mapping[str, Any], older: Sequence[str | Mapping[str, Any]] = ()) -> Schema:
    """Reads a schema from its JSON, as table metadata has it.

    Args:
        text: the current schema.
        older: the table's other schemas; columns that are no more are taken from the last that has them.

    Raises:
        UnsupportedTable: it has a type that this release cannot read.
    """
    current = json.loads(text) if isinstance(text, str) else text
    columns = _fields(current["fields"])
    known = {field.id for field in columns}
    gone: dict[int, Field] = {}
    for each in older:
        fields = json.loads(each)["fields"] if isinstance(each, str) else each["fields"]
        gone |= {field.id: field for field in _fields(fields) if field.id not in known}
    return Schema(current.get("schema-id", 0), columns, tuple(gone.values()))


def _fields(fields: Sequence[Mapping[str, Any]]) -> tuple[Field, ...]:
    return tuple(
        Field(
            each["name"],
            parse_type(each["type"], each["name"], nullable=not each["required"]),
            each["id"],
            each.get("initial-default"),
        )
        for each in fields
    )


def parse_type(kind: Any, name: str = "", *, nullable: bool = True) -> ColumnType:
    """Reads a type from its JSON; `name` is that of its column, for messages.

    Raises:
        UnsupportedTable: this release cannot read it.
    """
    if isinstance(kind, str):
        return _primitive(kind, name, nullable=nullable)
    if kind["type"] == "struct":
        fields = _fields(kind["fields"])
        if any(field.type.root == "UNKNOWN" for field in fields):
            raise UnsupportedTable("a table", (f"column {name}: a field of type unknown",))
        return ColumnType("ROW", nullable=nullable, fields=fields)
    if kind["type"] == "list":
        return ColumnType("ARRAY", nullable=nullable, fields=(_part(kind, "element", name),))
    key = Field("key", parse_type(kind["key"], name, nullable=False), kind["key-id"])
    return ColumnType("MAP", nullable=nullable, fields=(key, _part(kind, "value", name)))


def _part(kind: Mapping[str, Any], part: str, name: str) -> Field:
    inner = parse_type(kind[part], name, nullable=not kind[f"{part}-required"])
    return Field(part, inner, kind[f"{part}-id"])


def _primitive(kind: str, name: str, *, nullable: bool) -> ColumnType:
    if kind in _PRIMITIVES:
        root, precision = _PRIMITIVES[kind]
        return ColumnType(root, precision, nullable=nullable)
    if match := _DECIMAL.fullmatch(kind):
        return ColumnType("DECIMAL", int(match[1]), int(match[2]), nullable)
    match = _FIXED.fullmatch(kind)
    if match and int(match[1]) != _INSTANT_BYTES:  # 12 bytes are an instant to the rooms that read and write
        return ColumnType("FIXED", int(match[1]), nullable=nullable)
    raise UnsupportedTable("a table", (f"column {name}: type {kind}",))
