"""Rebuilds nested Arrow columns with other parts.

Called wherever the parts of a nested column change: by formats, whose files may store them differently, and
by `casting`. Offsets and nulls are kept; only the changed parts are copied. Columns that a file does not have
are created here, too.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.nulls import map_entries, unmarked

Change = Callable[[pa.Array, pa.DataType], pa.Array]


def rebuilt(values: pa.Array, kind: pa.DataType, change: Change) -> pa.Array:
    """A nested column in another type of the same shape; `change` converts the parts.

    Raises:
        pa.ArrowInvalid: the types differ in shape.
    """
    if pa.types.is_struct(kind) and pa.types.is_struct(values.type):
        if {field.name for field in kind} == {field.name for field in values.type}:
            parts = [change(values.field(field.name), field.type) for field in kind]
            return struct_of(values, kind, parts)
    elif pa.types.is_map(kind) and pa.types.is_map(values.type):
        return map_of(values, kind, change(values.keys, kind.key_type), change(values.items, kind.item_type))
    elif pa.types.is_list(kind) and pa.types.is_list(values.type):
        return list_of(values, kind, change(values.values, kind.value_type))
    raise pa.ArrowInvalid(f"{values.type} instead of {kind}")


def renamed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column in a type of the same shape, whose parts have other names."""
    if pa.types.is_struct(kind):
        parts = [renamed(values.field(place), field.type) for place, field in enumerate(kind)]
        return struct_of(values, kind, parts)
    if pa.types.is_map(kind):
        return map_of(
            values, kind, renamed(values.keys, kind.key_type), renamed(values.items, kind.item_type)
        )
    if pa.types.is_list(kind):
        return list_of(values, kind, renamed(values.values, kind.value_type))
    return values if values.type == kind else values.cast(kind)


def struct_of(values: pa.Array, kind: pa.DataType, parts: list[pa.Array]) -> pa.Array:
    """A struct column with the nulls of another and new fields, which must cover exactly its rows."""
    nulls = values.is_valid().buffers()[1] if values.null_count else None
    return pa.Array.from_buffers(kind, len(values), [nulls], children=parts)


def list_of(values: pa.Array, kind: pa.DataType, elements: pa.Array) -> pa.Array:
    """A list column with the nulls and offsets of another and new elements."""
    return pa.Array.from_buffers(
        kind, len(values), values.buffers()[:2], offset=values.offset, children=[elements]
    )


def map_of(values: pa.Array, kind: pa.DataType, keys: pa.Array, items: pa.Array) -> pa.Array:
    """A map column with the nulls and offsets of another, and new keys and values."""
    return pa.Array.from_buffers(
        kind,
        len(values),
        values.buffers()[:2],
        offset=values.offset,
        children=[map_entries(kind, keys, items)],
    )


def with_fields(kind: pa.DataType, change: Callable[[pa.Field], pa.Field]) -> pa.DataType:
    """A type with its parts changed; a type without parts is returned unchanged."""
    if pa.types.is_struct(kind):
        return pa.struct([change(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(change(kind.key_field).with_nullable(False), change(kind.item_field))
    return pa.list_(change(kind.value_field)) if pa.types.is_list(kind) else kind


def nulls(length: int, kind: pa.DataType) -> pa.Array:
    """A column of nulls; parts that are NOT NULL hold zeros and empty lists."""
    column = pa.nulls(length, kind)
    if not pa.types.is_struct(kind):
        return column
    return declared_struct(column, kind, [nulls(length, field.type) for field in kind])


def declared_struct(values: pa.Array, kind: pa.DataType, parts: list[pa.Array]) -> pa.Array:
    """Like `struct_of`; NOT NULL parts lose the nulls that only repeat those of the struct.

    Raises:
        pa.ArrowInvalid: such a part has other nulls.
    """
    pairs = zip(parts, kind, strict=True)
    return struct_of(
        values, kind, [part if field.nullable else _without_nulls(part, values) for part, field in pairs]
    )


def _without_nulls(values: pa.Array, around: pa.Array) -> pa.Array:
    if not values.null_count:
        return values
    if pc.any(pc.and_(values.is_null(), around.is_valid())).as_py():
        raise pa.ArrowInvalid("there is a null in a part that is declared NOT NULL")
    return unmarked(values)
