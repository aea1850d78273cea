"""Nulls of nested Arrow columns: children declared NOT NULL have none, not even beneath a null parent.

Used by `offsets`, where merges create nulls, and by formats whose files represent nulls differently.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_UNCHECKED = pc.TakeOptions(boundscheck=False)


def gather(column: pa.Array, places: npt.NDArray[np.int64] | npt.NDArray[np.int32] | pa.Array) -> pa.Array:
    """Takes the values of a column at some positions; faster for a few values than `pyarrow.compute.take`."""
    chosen = places if isinstance(places, pa.Array) else pa.array(places)
    return pc.call_function("array_take", [column, chosen], _UNCHECKED)


def take_or_null(
    column: pa.Array, places: npt.NDArray[np.int64] | npt.NDArray[np.int32] | pa.Array
) -> pa.Array:
    """Takes the values of a column at some positions, null for position -1 or a null position."""
    taken = gather(column, places if isinstance(places, pa.Array) else null_at_negative(places))
    if not taken.null_count:
        return taken
    if pa.types.is_dictionary(taken.type):
        # Arrow counts null as a referenced dictionary value, so the bounds that it writes to Parquet
        # may include values that no row refers to any more.
        return taken.dictionary_decode().dictionary_encode()
    return _declared(taken) if pa.types.is_struct(taken.type) else taken


def null_at_negative(places: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> pa.Array:
    """Positions as an Arrow array, with nulls instead of -1."""
    negative = places < 0
    return pa.array(places, mask=negative) if negative.any() else pa.array(places)


def _declared(values: pa.StructArray) -> pa.StructArray:
    """Removes nulls from the children of a struct that are declared NOT NULL."""
    parts = []
    for number, field in enumerate(values.type):
        part = values.field(number)
        if pa.types.is_struct(field.type):
            part = _declared(part)
        parts.append(unmarked(part) if part.null_count and not field.nullable else part)
    marks = values.is_valid().buffers()[1] if values.null_count else None
    return pa.Array.from_buffers(values.type, len(values), [marks], children=parts)


def unmarked(values: pa.Array) -> pa.Array:
    """The values without a validity bitmap: nulls become zeros, empty texts or empty lists.

    Libraries leave arbitrary memory in null slots, which may be no valid value of the type.
    """
    kind, buffers = values.type, values.buffers()
    if pa.types.is_struct(kind):
        parts = [values.field(number) for number in range(kind.num_fields)]
        return pa.Array.from_buffers(kind, len(values), [None], children=parts)
    if pa.types.is_map(kind):
        children = [map_entries(kind, values.keys, values.items)]
    elif pa.types.is_list(kind):
        children = [values.values]
    elif (zero := _zero(kind)) is not None:
        return values.fill_null(zero)
    else:
        return pa.Array.from_buffers(kind, len(values), [None, *buffers[1:]], offset=values.offset)
    return pa.Array.from_buffers(
        kind, len(values), [None, buffers[1]], offset=values.offset, children=children
    )


def _zero(kind: pa.DataType) -> pa.Scalar | None:
    """The value whose bytes are all zero, None for types without a fixed length."""
    try:
        size = max(1, kind.bit_width // 8)
    except ValueError:
        return None
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(bytes(size))])[0]


def map_entries(kind: pa.MapType, keys: pa.Array, items: pa.Array) -> pa.Array:
    """The entries of a map column as a struct array of keys and values."""
    fields = [pa.field("key", kind.key_type, nullable=False), kind.item_field]
    return pa.StructArray.from_arrays([keys, items], fields=fields)
