"""Deletion vectors as bytes, in the two forms of Paimon: 32-bit and 64-bit.

Used by `index_files`, and by merges, which collect positions. Pure. A vector is a Roaring bitmap of row
positions in its data file. The form decides how it is framed: both have a length, a magic number, the bitmap
and a checksum, with different byte orders (Paimon's `BitmapDeletionVector`, `Bitmap64DeletionVector`).
Positions of 2^32 and more are not supported in either form: no data file has as many rows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify.columns.bitmaps import FRAME, bitmap_of, deserialize, framed, serialize, unframed

if TYPE_CHECKING:
    from pyroaring import BitMap

_MAGIC = struct.pack(">i", 1581511376)
_MAGIC_64 = 1681511377
_HEAD_64 = struct.Struct("<iq")
"""Magic number and number of bitmaps of the 64-bit form; a key precedes each bitmap."""
_KEY = struct.Struct("<i")
MOST_BYTES = (1 << 29) + (1 << 20)
"""Upper bound of a vector's bytes: a bit for each of 2^32 rows, and its framing."""


@dataclass(frozen=True, slots=True)
class DeletionVector:
    """The deleted rows of one data file.

    Attributes:
        positions: row positions in the file, from 0. Never changed.
        is_wide: whether it is stored in the 64-bit form.
    """

    positions: BitMap
    is_wide: bool

    def __len__(self) -> int:
        return len(self.positions)

    def with_positions(self, positions: BitMap) -> DeletionVector:
        """The vector with more positions."""
        return DeletionVector(self.positions | positions, self.is_wide)


def encode(vector: DeletionVector) -> tuple[bytes, int]:
    """A vector as it is stored, and the length that the manifest gives for it.

    The length of the 32-bit form omits the bytes of the length itself and of the checksum.
    """
    content = serialize(vector.positions)
    if vector.is_wide:
        bitmaps = _KEY.pack(0) + content if vector.positions else b""
        data = _HEAD_64.pack(_MAGIC_64, 1 if vector.positions else 0) + bitmaps
        return framed(data), len(data) + FRAME
    data = _MAGIC + content
    return framed(data), len(data)


def stored_length(length: int, *, is_wide: bool) -> int:
    """Bytes of a stored vector, from the length in the manifest."""
    return length if is_wide else length + FRAME


def decode(stored: bytes, length: int) -> DeletionVector:
    """Reads a vector.

    Args:
        stored: the bytes from its offset on, at least `length` + 8 of them unless the file ends before.
        length: its length in the manifest.

    Raises:
        ValueError: it is damaged, or has positions of 2^32 and more.
    """
    data = unframed(stored)
    if len(data) < _KEY.size:
        raise ValueError("the file ends in a vector")
    is_wide = data[: _KEY.size] == _KEY.pack(_MAGIC_64)
    if not is_wide and data[: _KEY.size] != _MAGIC:
        raise ValueError(f"a vector begins with the unknown bytes {data[: _KEY.size].hex()}")
    if stored_length(length, is_wide=is_wide) != len(data) + FRAME:
        raise ValueError(f"a vector of length {len(data)} has length {length} in the manifest")
    return DeletionVector(_wide(data) if is_wide else deserialize(data[_KEY.size :]), is_wide)


def _wide(data: bytes) -> BitMap:
    if len(data) < _HEAD_64.size:
        raise ValueError("the file ends in a vector")
    _, count = _HEAD_64.unpack_from(data)
    if count == 0:
        return bitmap_of()
    if count != 1 or data[_HEAD_64.size : _HEAD_64.size + _KEY.size] != _KEY.pack(0):
        raise ValueError("a vector has positions of 2^32 and more")
    return deserialize(data[_HEAD_64.size + _KEY.size :])
