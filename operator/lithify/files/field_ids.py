"""Field ids in Parquet files, of columns and of the parts of nested ones; ids survive renames.

Used by adapters for the schemas of files and by `variants`. Parts without an id of their own (elements, keys,
values) get Paimon's: computed from the column's id and their depth in it.
"""

from __future__ import annotations

import pyarrow as pa

from lithify.files.types import (
    LISTS,
    RECORDS,
    ColumnType,
    Field,
    arrow_type,
)

_ID = b"PARQUET:field_id"
_PART_ID, _DEPTHS = 536870911, 1024
"""From Paimon's `SpecialFields`: base of the ids of array elements and of map keys and values."""


def field_with_ids(name: str, column: ColumnType, number: int, depth: int = 0) -> pa.Field:
    """A field of a file with ids in all parts, computed as in Java from the column's id and the depth."""
    if column.root in RECORDS:
        kind = pa.struct([field_with_ids(part.name, part.type, part.id) for part in column.fields])
    elif column.root in LISTS:
        kind = pa.list_(_part_with_ids(column.fields[0], number, depth + 1))
    elif column.is_nested:
        kind = pa.map_(*(_part_with_ids(part, number, depth + 1) for part in column.fields))
    else:
        kind = arrow_type(column)
    return with_id(pa.field(name, kind, column.nullable), number)


def _part_with_ids(part: Field, number: int, depth: int) -> pa.Field:
    offset = number * _DEPTHS + depth
    inner = field_with_ids(part.name, part.type, number, depth)
    return with_id(inner, _PART_ID - offset if part.name == "key" else _PART_ID + offset)


def with_id(field: pa.Field, number: int) -> pa.Field:
    """The field with an id."""
    return field.with_metadata({_ID: str(number).encode()})


def id_of(field: pa.Field) -> int:
    """The id of a field of a file."""
    return int(field.metadata[_ID])
