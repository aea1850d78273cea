"""Roaring bitmaps in their portable format, as Java's RoaringBitmap writes them, and frames of vectors.

Used by deletion vectors and by file indexes. Other modules for positions of rows import pyroaring for types
only. This one does where a bitmap is made, because the operator's image does not have it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyroaring import BitMap

_WORD = 4
FRAME = 2 * _WORD
"""Bytes of a vector's frame: its length before, its checksum after."""


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


def framed(content: bytes) -> bytes:
    """The content of a deletion vector as Paimon and Iceberg store it: with its length and its CRC-32."""
    return len(content).to_bytes(_WORD, "big") + content + zlib.crc32(content).to_bytes(_WORD, "big")


def unframed(stored: bytes) -> bytes:
    """The content of a deletion vector that is stored with a frame; more bytes may follow.

    Raises:
        ValueError: it is cut off, or its checksum is wrong.
    """
    end = _WORD + int.from_bytes(stored[:_WORD], "big")
    if len(stored) < end + _WORD:
        raise ValueError("the file ends in a vector")
    content = stored[_WORD:end]
    if zlib.crc32(content) != int.from_bytes(stored[end : end + _WORD], "big"):
        raise ValueError("the checksum of a vector is wrong")
    return content
