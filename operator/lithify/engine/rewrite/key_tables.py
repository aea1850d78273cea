"""Tables of keys whose columns are compared as they are: their hashes, their equality, the newest of each.

Used where deleted keys are looked up (`deleted_keys`). Adapters make the tables, of `comparable_parts`: every
value is an integer, a boolean, a text or bytes, whatever its type was. Null equals null; a NaN equals a NaN,
and 0.0 is not -0.0, as in Java. Structs become their fields and whether they are null.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import polars as pl

Hashes = npt.NDArray[np.uint64]
SEQUENCE = "sequence"
"""Column of the sequence number of a delete."""
PLACE = "place"
"""Column of the place of a row: number of its file, and position in it (`row_positions`)."""
_SEEDS = (0x9E37, 0x79B9, 0x7F4A, 0x7C15)


def key_names(table: pa.Table) -> list[str]:
    """Names of the columns of the key in a table that may have others."""
    return [name for name in table.column_names if name not in (SEQUENCE, PLACE)]


def frame_of(table: pa.Table) -> pl.DataFrame:
    """A table as Polars has it."""
    import polars as pl

    found = pl.from_arrow(table)
    if not isinstance(found, pl.DataFrame):
        raise TypeError("a table is a frame")
    return found


def hashes_of(table: pa.Table) -> Hashes:
    """The hashes of keys; equal for equal keys of one process."""
    first, second, third, fourth = _SEEDS
    keys = frame_of(table.select(key_names(table)))
    return keys.hash_rows(first, second, third, fourth).to_numpy()


def newest_of(table: pa.Table) -> pa.Table:
    """The deletes with the greatest sequence number of each key."""
    import polars as pl

    keys = key_names(table)
    return frame_of(table).group_by(keys).agg(pl.col(SEQUENCE).max()).to_arrow().cast(table.schema)


def same_keys(one: pa.Table, other: pa.Table) -> npt.NDArray[np.bool_]:
    """Whether the keys of two tables are equal, row by row."""
    names = key_names(one)
    left, right = frame_of(one.select(names)), frame_of(other.select(names))
    equal = np.ones(one.num_rows, dtype=bool)
    for name in names:
        equal &= left[name].eq_missing(right[name]).to_numpy()
    return equal


def comparable_parts(values: pa.Array) -> Iterator[pa.Array]:
    """The columns of a table of keys for a key column, nested in structs at most."""
    kind = values.type
    if pa.types.is_struct(kind):
        yield values.is_valid()
        for number in range(kind.num_fields):
            yield from comparable_parts(pc.struct_field(values, [number]))
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
