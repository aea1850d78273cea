"""Parts of a column that is ordered in some direction, with nulls first or last; see `order` for parts.

Called by sort orders of adapters. The parts stay comparable between batches. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import Part, parts_of_column


def directed_parts(values: pa.Array, *, ascending: bool, nulls_first: bool) -> list[Part]:
    """The parts of a column: whether it is null, and its value."""
    valid, *parts = parts_of_column(values, nullable=True)
    is_valid = valid if nulls_first else 1 - np.asarray(valid, dtype=np.int64)
    return [is_valid, *(parts if ascending else map(_reversed, parts))]


def changes(parts: Sequence[Part]) -> list[int]:
    """Rows that differ from the one before in some parts, the first included; without parts, only that."""
    rows = len(parts[0]) if parts else 1
    differs = np.zeros(max(rows - 1, 0), dtype=bool)
    for part in parts:
        if isinstance(part, np.ndarray):
            differs |= part[1:] != part[:-1]
        elif rows > 1:
            differs |= pc.not_equal(part.slice(1), part.slice(0, rows - 1)).to_numpy(zero_copy_only=False)
    return [0, *(np.flatnonzero(differs) + 1).tolist()]


def _reversed(part: Part) -> Part:
    """Reverses the order of a part, so that it stays comparable between batches.

    Texts are inverted byte by byte. Before, each text gets two zero bytes at its end, and each zero byte in
    it a one behind it. So in the reversed order a text comes after the longer ones that begin with it.
    """
    if isinstance(part, np.ndarray):
        return ~part
    escaped = pc.replace_substring(part, pattern=b"\x00", replacement=b"\x00\x01")
    ended = pc.binary_join_element_wise(
        escaped, pa.scalar(b"\x00\x00", escaped.type), pa.scalar(b"", escaped.type)
    )
    wide = ended.cast(pa.large_binary())
    _, offsets, data = wide.buffers()
    inverted = ~np.frombuffer(data, np.uint8)
    return pa.Array.from_buffers(pa.large_binary(), len(wide), [None, offsets, pa.py_buffer(inverted)])
