"""Keys of rows as columns that are equal exactly if Iceberg says that the keys are.

Called by `anti_join`; `engine.rewrite.key_tables` compares them. Null equals null; a NaN equals a NaN, and
0.0 is not -0.0, as in Java. Structs become their fields and whether they are null. Every value is an integer,
a boolean, a text or bytes, whatever its type was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.formats.iceberg.deletes.equality.scopes import KeyColumn


def key_table(rows: pa.RecordBatch, columns: Sequence[KeyColumn]) -> pa.Table:
    """The keys of rows in which these columns come in their order."""
    arrays = [
        part
        for number, column in enumerate(columns)
        for part in _parts(_inner(rows.column(number), column.depth))
    ]
    return pa.table(arrays, [f"k{number}" for number in range(len(arrays))])


def _inner(values: pa.Array, depth: int) -> pa.Array:
    """The part in that many structs with one field each; null where one of them is."""
    for _ in range(depth):
        values = pc.struct_field(values, [0])
    return values


def _parts(values: pa.Array) -> Iterator[pa.Array]:
    kind = values.type
    if pa.types.is_struct(kind):
        yield values.is_valid()
        for number in range(kind.num_fields):
            yield from _parts(pc.struct_field(values, [number]))
    else:
        yield _plain(values)


def _plain(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _plain(values.dictionary_decode())
    if pa.types.is_floating(kind):
        return _bits(values)
    if pa.types.is_decimal(kind):
        return values.view(pa.binary(kind.byte_width)).cast(pa.large_binary())
    if pa.types.is_fixed_size_binary(kind):
        return values.cast(pa.binary()).cast(pa.large_binary())
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return values.cast(pa.large_string() if pa.types.is_string(kind) else pa.large_binary())
    if pa.types.is_temporal(kind):
        return values.view(pa.int64() if kind.bit_width == 64 else pa.int32())
    return values


def _bits(values: pa.Array) -> pa.Array:
    """The bits of floats, those of all NaNs the same."""
    nans = pc.is_nan(values)
    whole = pc.if_else(nans, pa.scalar(np.nan, values.type), values)
    return whole.view(pa.int64() if values.type.bit_width == 64 else pa.int32())
