"""Bounds of columns as values that can be compared, decoded from Iceberg's single-value serialization.

Called by `delete_index` and by planning. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Numbers, whole
from lithify.columns.octets import Octets, fixed_array, fixed_octets, ordered, widened

_TIMES = frozenset({"time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"})
_WIDTHS: Mapping[str, tuple[str, ...]] = {
    "boolean": ("<u1",),
    "int": ("<i4",),
    "date": ("<i4",),
    "float": ("<f4",),
    "double": ("<f8", "<f4"),
    "long": ("<i8", "<i4"),
    **dict.fromkeys(_TIMES, ("<i8",)),
}
"""How values of a type may be stored: bounds of older files keep the narrower type of their time.

Those of dates that became timestamps are days, so they are bounds of another form.
"""
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
