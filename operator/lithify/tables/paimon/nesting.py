"""Nested Arrow columns taken apart and put together again with other parts.

Called where the parts of a nested column have to change: by formats, whose files may store them otherwise,
and by `casting`. Offsets and nulls are kept as they are; nothing is copied but the parts that change. Columns
that a file does not have are made here, too.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

Change = Callable[[pa.Array, pa.DataType], pa.Array]


def rebuilt(values: pa.Array, kind: pa.DataType, change: Change) -> pa.Array:
    """A nested column in another type of the same shape; `change` makes the parts.

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


def struct_of(values: pa.Array, kind: pa.DataType, parts: list[pa.Array]) -> pa.Array:
    """A struct column with the nulls of another and other fields, which begin where the column begins."""
    nulls = values.is_valid().buffers()[1] if values.null_count else None
    return pa.Array.from_buffers(kind, len(values), [nulls], children=parts)


def list_of(values: pa.Array, kind: pa.DataType, elements: pa.Array) -> pa.Array:
    """A list column with the nulls and offsets of another and other elements."""
    return pa.Array.from_buffers(
        kind, len(values), values.buffers()[:2], offset=values.offset, children=[elements]
    )


def map_of(values: pa.Array, kind: pa.DataType, keys: pa.Array, items: pa.Array) -> pa.Array:
    """A map column with the nulls and offsets of another, and other keys and values."""
    fields = [pa.field("key", kind.key_type, nullable=False), kind.item_field]
    entries = pa.StructArray.from_arrays([keys, items], fields=fields)
    return pa.Array.from_buffers(
        kind, len(values), values.buffers()[:2], offset=values.offset, children=[entries]
    )


def nulls(length: int, kind: pa.DataType) -> pa.Array:
    """A column of nulls, whose parts hold zeros and empty lists where they must not be null."""
    return _blank(length, kind, nullable=True)


def _blank(length: int, kind: pa.DataType, *, nullable: bool) -> pa.Array:
    column = pa.nulls(length, kind)
    validity = column.buffers()[0] if nullable else None
    if pa.types.is_struct(kind):
        parts = [_blank(length, field.type, nullable=field.nullable) for field in kind]
        return pa.Array.from_buffers(kind, length, [validity], children=parts)
    if nullable:
        return column
    if pa.types.is_map(kind):
        entries = [pa.field("key", kind.key_type, nullable=False), kind.item_field]
        nothing = pa.nulls(0, pa.struct(entries))
        return pa.Array.from_buffers(kind, length, [None, column.buffers()[1]], children=[nothing])
    if pa.types.is_list(kind):
        return pa.Array.from_buffers(kind, length, [None, column.buffers()[1]], children=[column.values])
    return pa.Array.from_buffers(kind, length, [None, *column.buffers()[1:]])
