"""Deletion vectors as bytes: Iceberg's `deletion-vector-v1`, the serialized form of a 64-bit roaring bitmap.

Called by `puffin`, `position_files` and `positions`. A blob is the length of what follows but for the
checksum (big-endian), magic bytes, the bitmap in the portable 64-bit form of roaring, and a CRC-32 of magic
bytes and bitmap (big-endian).
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from lithify.columns.order import IntPart
from lithify.errors import CorruptTable

if TYPE_CHECKING:
    from pyroaring import BitMap64

_MAGIC = b"\xd1\xd3\x39\x64"
_LENGTH, _CHECKSUM = 4, 4
_LEAST = _LENGTH + len(_MAGIC) + 8 + _CHECKSUM


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
    from pyroaring import BitMap64

    if len(blob) < _LEAST or int.from_bytes(blob[:_LENGTH], "big") != len(blob) - _LENGTH - _CHECKSUM:
        raise CorruptTable(path, f"a deletion vector of {len(blob)} bytes has another length than it says")
    content = blob[_LENGTH:-_CHECKSUM]
    if not content.startswith(_MAGIC):
        raise CorruptTable(path, "a deletion vector does not begin with its magic bytes")
    if zlib.crc32(content) != int.from_bytes(blob[-_CHECKSUM:], "big"):
        raise CorruptTable(path, "the checksum of a deletion vector is wrong")
    try:
        found = BitMap64.deserialize(content[len(_MAGIC) :])
    except ValueError as error:
        raise CorruptTable(path, f"a deletion vector is no bitmap ({error})") from error
    if rows is not None and len(found) != rows:
        problem = f"a deletion vector has {len(found)} positions, its manifest entry says {rows}"
        raise CorruptTable(path, problem)
    return found


def encode(positions: BitMap64) -> bytes:
    """The blob of a bitmap."""
    positions.run_optimize()
    content = _MAGIC + positions.serialize()
    checksum = zlib.crc32(content).to_bytes(_CHECKSUM, "big")
    return len(content).to_bytes(_LENGTH, "big") + content + checksum
