"""Order keys of many key bounds at once.

Used by `table` for the files that are planned. Integer keys, dates and the like have fixed offsets in their
BinaryRows, so those of all files are converted to order keys with a few array operations; results equal those
of `binary_row.order_key`, which converts all other keys one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import listed
from lithify.columns.order import encode_key
from lithify.columns.order_key import OrderKey
from lithify.files.types import ColumnType

_ARITY_BYTES = 4
_SLOT_BYTES = 8
_STORED = {
    "BOOLEAN": "u1",
    "TINYINT": "i1",
    "SMALLINT": "<i2",
    "INT": "<i4",
    "DATE": "<i4",
    "TIME": "<i4",
    "BIGINT": "<i8",
    "DECIMAL": "<i8",
    "TIMESTAMP": "<i8",
    "TIMESTAMP_LTZ": "<i8",
}
"""The form of a value in its slot."""
_PART_BYTES = len(encode_key([0]))


def order_keys(
    rows: pa.Array, types: Sequence[ColumnType], one: Callable[[bytes], OrderKey]
) -> list[OrderKey]:
    """The order keys of key bounds.

    Args:
        rows: the bounds as BinaryRow bytes.
        types: types of the key columns.
        one: converts a single bound, and raises for one that has no order key.
    """
    if not types:
        return [OrderKey(b"")] * len(rows)
    width = _ARITY_BYTES + _null_bytes(len(types)) + _SLOT_BYTES * len(types)
    bounds: list[bytes] = listed(rows)
    if not all(map(_is_in_slot, types)) or {*map(len, bounds)} != {width}:
        return [one(bound) for bound in bounds]
    table = np.frombuffer(b"".join(bounds), dtype=np.uint8).reshape(-1, width)
    slots = table[:, -_SLOT_BYTES * len(types) :]
    head = len(types).to_bytes(_ARITY_BYTES, "big") + bytes(_null_bytes(len(types)))
    if (table[:, : len(head)] != np.frombuffer(head, dtype=np.uint8)).any():  # a key is null, or missing
        return [one(bound) for bound in bounds]
    keys = np.empty((len(table), len(types)), dtype=">i8")
    for number, column in enumerate(types):
        kind = np.dtype(_STORED[column.root])
        start = _SLOT_BYTES * number
        keys[:, number] = np.ascontiguousarray(slots[:, start : start + kind.itemsize]).view(kind)[:, 0]
    return _sliced(keys.view(">u8") ^ np.uint64(1 << 63), _PART_BYTES * len(types))


def _is_in_slot(column: ColumnType) -> bool:
    """Whether every value of the column is stored in its slot as an integer."""
    is_elsewhere = column.is_wide_decimal or (column.is_timestamp and column.precision > 3)
    return column.root in _STORED and not is_elsewhere


def _null_bytes(fields: int) -> int:
    return (fields + 63 + 8) // 64 * 8


def _sliced(keys: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], width: int) -> list[OrderKey]:
    data = keys.astype(">u8").tobytes()
    return [OrderKey(data[start : start + width]) for start in range(0, len(data), width)]
