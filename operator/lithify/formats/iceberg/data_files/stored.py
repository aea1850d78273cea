"""Columns as a file has them, with their field ids: from the file itself, a name mapping, or their positions.

Called by the reader. Ids come from the file if it has any; else from a name mapping; else, in Parquet, its
columns are numbered from 1, as the writers of such files assume. Columns of ORC and Avro files are then found
by their current names, which callers pass as the mapping, because Java does so. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from lithify.files.field_ids import id_of_any
from lithify.files.types import Field

NO_ID = -1


@dataclass(frozen=True, slots=True)
class Stored:
    """A column of a file, or a part of one.

    Attributes:
        name: its name in the file.
        id: its field id, -1 without one.
        parts: fields of a struct, the element of a list, key and value of a map.
        is_required: whether the file's schema rules out nulls, whatever that of the table does.
        is_instant: whether it is a timestamp of UTC (true) or of no time zone (false); None for other types.
    """

    name: str
    id: int
    parts: tuple[Stored, ...] = ()
    is_required: bool = False
    is_instant: bool | None = None

    def part(self, number: int) -> tuple[int, Stored] | None:
        """Place and description of the part with an id, None if there is none."""
        found = ((place, part) for place, part in enumerate(self.parts) if part.id == number)
        return next(found, None)


@dataclass(frozen=True, slots=True)
class MappedName:
    """Ids of columns by their names: an entry of a name mapping.

    Attributes:
        id: the field id.
        fields: entries of the parts, by name.
    """

    id: int
    fields: Mapping[str, MappedName]


NameMapping = Mapping[str, MappedName]


def parse_name_mapping(text: str | None) -> NameMapping | None:
    """Reads the table property `schema.name-mapping.default`."""
    return None if text is None else _mapped(json.loads(text))


def names_of(columns: Sequence[Field]) -> NameMapping:
    """The mapping that a table has whose columns never had other names."""
    return {column.name: MappedName(column.id, names_of(column.type.fields)) for column in columns}


def _mapped(entries: Sequence[Mapping[str, Any]]) -> dict[str, MappedName]:
    return {
        name: MappedName(entry.get("field-id", NO_ID), _mapped(entry.get("fields", ())))
        for entry in entries
        for name in entry["names"]
    }


def stored_columns(schema: pa.Schema, mapping: NameMapping | None = None) -> tuple[Stored, ...]:
    """The columns of a file with this Arrow schema."""
    found = tuple(map(_stored, schema))
    if any(part.id != NO_ID for column in found for part in _all_parts(column)):
        return found
    if mapping is not None:
        return tuple(_named(column, mapping) for column in found)
    return tuple(replace(column, id=place) for place, column in enumerate(found, 1))


def required_ids(columns: Sequence[Stored]) -> frozenset[int]:
    """The field ids of all parts of a file's columns that have no nulls by the file's schema."""
    parts = (part for column in columns for part in _all_parts(column))
    return frozenset(part.id for part in parts if part.is_required and part.id != NO_ID)


def zone_mismatches(column: Stored, field: Field) -> Iterator[str]:
    """The names of timestamps that have a time zone in either the file or the table.

    Java refuses these in ORC files: writers other than Iceberg's store local times of their time zone.
    """
    root = field.type.root
    is_timestamp = column.is_instant is not None and root.startswith("TIMESTAMP")
    if is_timestamp and column.is_instant != root.startswith("TIMESTAMP_LTZ"):
        yield field.name
    if root == "ROW":
        found = ((column.part(part.id), part) for part in field.type.fields)
        pairs = [(place[1], part) for place, part in found if place is not None]
    else:
        pairs = [*zip(column.parts, field.type.fields, strict=False)]
    for inner, part in pairs:
        yield from zone_mismatches(inner, part)


def _stored(field: pa.Field) -> Stored:
    parts = tuple(map(_stored, _parts_of(field.type)))
    is_instant = field.type.tz is not None if pa.types.is_timestamp(field.type) else None
    number = id_of_any(field, NO_ID)
    return Stored(field.name, number, parts, is_required=not field.nullable, is_instant=is_instant)


def _parts_of(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [kind.value_field]
    return []


_PART_NAMES = {"key": "key", "value": "value", "item": "element", "element": "element", "array": "element"}


def _named(column: Stored, names: NameMapping) -> Stored:
    entry = names.get(column.name) or names.get(_PART_NAMES.get(column.name, column.name))
    if entry is None:
        return Stored(column.name, NO_ID)
    parts = tuple(_named(part, entry.fields) for part in column.parts)
    return replace(column, id=entry.id, parts=parts)


def _all_parts(column: Stored) -> Iterator[Stored]:
    yield column
    for part in column.parts:
        yield from _all_parts(part)
