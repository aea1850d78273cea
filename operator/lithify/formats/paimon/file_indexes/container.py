"""The format that holds all indexes of one data file (Java's `FileIndexFormat`).

Used by `building`. Pure. A head names each column and its indexes with their positions and lengths; the
indexes follow. All numbers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

_MAGIC = 1493475289347502
_VERSION = 1
_START = struct.Struct(">qiii")
"""Magic number, version, length of the head, number of columns."""
_NUMBER = struct.Struct(">i")
_PLACE = struct.Struct(">ii")


def encode(indexes: Mapping[str, Mapping[str, bytes]]) -> bytes:
    """The indexes of a file as bytes.

    Args:
        indexes: by column the indexes by kind. Their order is free: readers find them by name.
    """
    names = [*indexes, *(kind for of_column in indexes.values() for kind in of_column)]
    places = sum(map(len, indexes.values())) * _PLACE.size
    numbers = (len(indexes) + 1) * _NUMBER.size  # of each column's indexes, and of bytes kept free
    start = _START.size + sum(len(_utf(name)) for name in names) + places + numbers
    bodies = (body for of_column in indexes.values() for body in of_column.values())
    return b"".join([*_head(indexes, start), *bodies])


def _head(indexes: Mapping[str, Mapping[str, bytes]], start: int) -> Iterator[bytes]:
    """The head, for indexes that begin at `start`."""
    yield _START.pack(_MAGIC, _VERSION, start, len(indexes))
    at = start
    for column, of_column in indexes.items():
        yield _utf(column)
        yield _NUMBER.pack(len(of_column))
        for kind, body in of_column.items():
            yield _utf(kind)
            yield _PLACE.pack(at, len(body))
            at += len(body)
    yield _NUMBER.pack(0)


def _utf(text: str) -> bytes:
    """A text as `DataOutput.writeUTF` writes it: its length, then each UTF-16 unit, zero as two bytes."""
    units = text.encode("utf-16-be", "surrogatepass")
    numbers = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    encoded = b"".join(
        chr(unit).encode("utf-8", "surrogatepass") if unit else b"\xc0\x80" for unit in numbers
    )
    return struct.pack(">H", len(encoded)) + encoded
