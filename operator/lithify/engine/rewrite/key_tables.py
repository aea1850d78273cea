"""Tables of keys whose columns are compared as they are: their hashes, their equality, the newest of each.

Used where deleted keys are looked up (`deleted_keys`). Adapters make the columns: integers, booleans, texts
or bytes, so that equal keys have equal values. Null equals null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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
