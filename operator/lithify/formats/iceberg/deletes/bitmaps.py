"""Deletion vectors as bytes: Iceberg's `deletion-vector-v1`, the serialized form of a 64-bit roaring bitmap.

Called by `puffin`, `position_files` and `positions`. A blob frames magic bytes and the bitmap in the portable
64-bit form of roaring.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from lithify.columns.bitmaps import FRAME, unframed
from lithify.columns.order import IntPart
from lithify.errors import CorruptTable

if TYPE_CHECKING:
    from pyroaring import BitMap64

MAGIC = b"\xd1\xd3\x39\x64"
_LEAST = len(MAGIC) + 8
"""Bytes of magic and number of bitmaps."""


def bitmap_of(positions: IntPart | Iterable[int] = ()) -> BitMap64:
    """A bitmap with these positions."""
    from pyroaring import BitMap64

    if isinstance(positions, np.ndarray):
        # It takes an array's bytes as they are; of others it asks for one element after the other.
        return BitMap64(array("Q", positions.astype(np.uint64).tobytes()))
    return BitMap64(positions)


def decode(blob: bytes, path: str, rows: int | None = None) -> BitMap64:
    """The bitmap of a blob.

    Args:
        blob: all bytes of the blob.
        path: the Puffin file, for messages.
        rows: the number of positions that the manifest says; None if it does not.

    Raises:
        CorruptTable: it is damaged.
    """
    try:
        found = _bitmap_in(blob)
    except ValueError as error:
        raise CorruptTable(path, f"a deletion vector of {len(blob)} bytes is damaged: {error}") from error
    if rows is not None and len(found) != rows:
        problem = f"a deletion vector has {len(found)} positions, its manifest entry says {rows}"
        raise CorruptTable(path, problem)
    return found


def _bitmap_in(blob: bytes) -> BitMap64:
    from pyroaring import BitMap64

    content = unframed(blob)
    if len(blob) != len(content) + FRAME or not content.startswith(MAGIC) or len(content) < _LEAST:
        raise ValueError("it is no vector of Iceberg")
    return BitMap64.deserialize(content[len(MAGIC) :])
