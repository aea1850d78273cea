"""Bounds of columns as values that can be compared, decoded from Iceberg's single-value serialization.

Called by `delete_index` and by planning. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Numbers, flags, whole
from lithify.columns.octets import Octets, fixed_array, fixed_octets, ordered, widened

_LONGS = frozenset({"long", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"})
_WIDTHS: Mapping[str, tuple[str, ...]] = {
    "boolean": ("<u1",),
    "int": ("<i4",),
    "date": ("<i4",),
    "float": ("<f4",),
    "double": ("<f8", "<f4"),
    **dict.fromkeys(_LONGS, ("<i8", "<i4")),
}
"""How values of a type may be stored: bounds of older files keep the narrower type of their time."""
_BYTES = frozenset({"string", "binary", "uuid"})
_DECIMAL = re.compile(r"decimal\(\s*\d+\s*,\s*\d+\s*\)")
_WIDEST = 16


def is_comparable(kind: str) -> bool:
    """Whether bounds of a type can be compared here."""
    return kind in _WIDTHS or kind in _BYTES or kind.startswith("fixed[") or bool(_DECIMAL.fullmatch(kind))


def bound_values(column: pa.ChunkedArray | pa.Array, kind: str) -> pa.Array:
    """Bounds as numbers or bytes in the order of the type; null where a bound is missing or has another form.

    Args:
        column: the stored bounds.
        kind: Iceberg's name of the column's type, one that is comparable.
    """
    stored = whole(column)
    if _DECIMAL.fullmatch(kind):
        return _decimals(stored)
    if kind not in _WIDTHS:
        return stored.cast(pa.large_binary())
    lengths = pc.binary_length(stored).fill_null(0).to_numpy(zero_copy_only=False)
    is_floating = kind in ("float", "double")
    wide: npt.NDArray[Any] = np.zeros(len(stored), dtype=np.float64 if is_floating else np.int64)
    is_known = np.zeros(len(stored), dtype=bool)
    for code in _WIDTHS[kind]:
        rows = np.flatnonzero(lengths == np.dtype(code).itemsize)
        wide[rows] = _octets(stored, rows, np.dtype(code).itemsize).view(code).ravel()
        is_known[rows] = True
    if is_floating:
        is_known &= ~np.isnan(wide)
        wide += 0.0  # one zero
    return pa.array(wide, mask=~is_known)


def _octets(stored: pa.BinaryArray, rows: Numbers, width: int) -> Octets:
    """The bytes of some values, all of one length; shape (len(rows), width)."""
    return fixed_octets(stored.take(pa.array(rows)).cast(pa.binary(width)))


def _decimals(stored: pa.BinaryArray) -> pa.Array:
    """Big-endian numbers as bytes of one length whose order is theirs."""
    lengths = pc.binary_length(stored).fill_null(0).to_numpy(zero_copy_only=False)
    table = np.zeros((len(stored), _WIDEST), dtype=np.uint8)
    is_known = (lengths > 0) & (lengths <= _WIDEST)
    for width in np.unique(lengths[is_known]).tolist():
        rows = np.flatnonzero(lengths == width)
        table[rows] = ordered(widened(_octets(stored, rows, width), _WIDEST))
    return fixed_array(table, pa.array(is_known)).cast(pa.large_binary())


def ranks(columns: Sequence[pa.Array]) -> list[Numbers]:
    """Values of several columns of one type as numbers with the same order, comparable among these columns.

    Returns:
        The rank of each value, from 0; -1 for null.
    """
    joined = pa.concat_arrays(columns)
    if not len(joined):
        return [np.empty(0, dtype=np.int64) for _ in columns]
    found = _ranks_of_integers(joined) if pa.types.is_int64(joined.type) else _ranks(joined)
    found[flags(pc.is_null(joined))] = -1
    return np.split(found, np.cumsum([len(column) for column in columns])[:-1])


def _ranks(values: pa.Array) -> Numbers:
    ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
    return np.asarray(ranks.to_numpy().astype(np.int64) - 1)


def _ranks_of_integers(values: pa.Array) -> Numbers:
    """The same in a third of the time; nulls have the rank of the least number."""
    numbers = values.fill_null(pc.min(values).as_py() or 0).to_numpy()
    order = np.argsort(numbers)
    ascending = numbers[order]
    found = np.empty(len(numbers), dtype=np.int64)
    found[order] = np.cumsum(np.concatenate([[False], ascending[1:] != ascending[:-1]]))
    return found
