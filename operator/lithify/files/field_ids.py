"""Field ids in Parquet files, of columns and of the parts of nested ones; ids survive renames.

Used by adapters for the schemas of files and by `variants`. Fields of a ROW have ids of their own. For other
parts (elements, keys, values) formats have different rules, which they pass in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa

from lithify.files.types import (
    LISTS,
    RECORDS,
    ColumnType,
    Field,
    arrow_type,
)

_ID = b"PARQUET:field_id"

PartIds: TypeAlias = Callable[[Field, int, int], int]
"""The id of an element, key or value, from that part, the id of its column and its depth there, from 1."""


def own_ids(part: Field, _number: int, _depth: int) -> int:
    """The id that the part has of its own."""
    return part.id


def field_with_ids(
    name: str, column: ColumnType, number: int, part_ids: PartIds = own_ids, depth: int = 0
) -> pa.Field:
    """A field of a file with ids in all parts.

    Args:
        name: name of the field.
        column: its type.
        number: its id, or that of the column in which it lies, if it is no field of a ROW.
        part_ids: the ids of parts other than fields of a ROW.
        depth: how deep it lies in a column.
    """

    def part_of(part: Field) -> pa.Field:
        inner = field_with_ids(part.name, part.type, number, part_ids, depth + 1)
        return with_id(inner, part_ids(part, number, depth + 1))

    if column.root in RECORDS:
        kind = pa.struct([field_with_ids(each.name, each.type, each.id, part_ids) for each in column.fields])
    elif column.root in LISTS:
        kind = pa.list_(part_of(column.fields[0]))
    elif column.is_nested:
        kind = pa.map_(*map(part_of, column.fields))
    else:
        kind = arrow_type(column)
    return with_id(pa.field(name, kind, column.nullable), number)


def schema_with_ids(columns: Sequence[Field]) -> pa.Schema:
    """A schema with these columns, and ids in all parts."""
    return pa.schema([field_with_ids(each.name, each.type, each.id) for each in columns])


def uuid_ids(fields: Iterable[pa.Field], types: Mapping[str, ColumnType]) -> frozenset[int]:
    """The ids of the parts that are UUIDs, which Arrow has as fixed bytes.

    Args:
        fields: columns with ids.
        types: their types, by name.
    """
    columns = [Field(each.name, types[each.name], id_of(each)) for each in fields]
    return frozenset(_uuids(columns))


def _uuids(fields: Iterable[Field]) -> Iterator[int]:
    for field in fields:
        if field.type.root == "UUID":
            yield field.id
        yield from _uuids(field.type.fields)


def with_id(field: pa.Field, number: int) -> pa.Field:
    """The field with an id."""
    return field.with_metadata({_ID: str(number).encode()})


def id_of(field: pa.Field) -> int:
    """The id of a field of a file."""
    return int(field.metadata[_ID])


def id_of_any(field: pa.Field, missing: int) -> int:
    """The id of a field of any file; `missing` if it has none."""
    return int((field.metadata or {}).get(_ID, missing))
