"""Roaring bitmaps in their portable format, as Java's RoaringBitmap writes them after `runOptimize`.

Used by deletion vectors and by file indexes. Other modules for positions of rows import pyroaring for types
only. This one does where a bitmap is made, because the operator's image does not have it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyroaring import BitMap


def bitmap_of(positions: Iterable[int] = ()) -> BitMap:
    """A bitmap of some positions below 2^32."""
    from pyroaring import BitMap

    return BitMap(positions)


def serialize(bitmap: BitMap) -> bytes:
    """The bytes of a bitmap, with runs where they are smaller."""
    optimized = bitmap.copy()
    optimized.run_optimize()
    return bytes(optimized.serialize())


def deserialize(content: bytes) -> BitMap:
    """Reads a serialized bitmap.

    Raises:
        ValueError: it is no bitmap.
    """
    if not content:
        raise ValueError("it is empty")
    return type(bitmap_of()).deserialize(content)
