"""Puffin files: the deletion vectors in them, read by the places that manifests have, and written.

Called by `positions` and by tasks that write vectors. Of a file only the blobs are read; the footer is
written for other readers. Follows Iceberg's Puffin specification.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify import __version__
from lithify.errors import CorruptTable
from lithify.files.reading import reading
from lithify.formats.iceberg.deletes.bitmaps import decode, encode
from lithify.formats.iceberg.model import DeleteFile
from lithify.io.storage import Storage, reporting

if TYPE_CHECKING:
    from pyroaring import BitMap64

_MAGIC = b"PFA1"
_TYPE = "deletion-vector-v1"
_POSITION_ID = 2147483645
"""Field id of the reserved column of row positions, the only one that a vector's blob is about."""
_MOST_BYTES = 1 << 30
"""Bytes of the largest vector that is read: one of two thousand million rows has less."""


@dataclass(frozen=True, slots=True)
class WrittenVector:
    """Where a vector lies in a written Puffin file: its first byte, and its number of bytes and positions."""

    offset: int
    length: int
    positions: int


def read_vector(storage: Storage, file: DeleteFile) -> BitMap64:
    """The positions of a deletion vector.

    Raises:
        MissingFile: the file does not exist.
        CorruptTable: it is damaged.
    """
    offset, length = file.offset or 0, file.length or 0
    if not 0 < length <= _MOST_BYTES:
        raise CorruptTable(file.path, f"a deletion vector of {length} bytes")
    with reading(file.path, "Puffin"), closing(storage.open(file.path, file.size or None)) as source:
        blob = source.read_at(length, offset)
    return decode(blob, file.path, file.rows)


def write_vectors(storage: Storage, path: str, vectors: Mapping[str, BitMap64]) -> dict[str, WrittenVector]:
    """Writes the vectors of data files into a new Puffin file; returns where each of them lies.

    Args:
        storage: access to the file.
        path: the new file.
        vectors: deleted positions by the paths of data files.

    Raises:
        StorageError: it cannot be written.
    """
    new = storage.create(path)
    written: dict[str, WrittenVector] = {}
    with reporting(path), closing(new.sink) as sink:
        sink.write(_MAGIC)
        for data_file, positions in vectors.items():
            blob, offset = encode(positions), int(sink.tell())
            sink.write(blob)
            written[data_file] = WrittenVector(offset, len(blob), len(positions))
        sink.write(_footer(written))
    return written


def _footer(written: Mapping[str, WrittenVector]) -> bytes:
    """The footer: magic bytes, JSON, its length, flags of which none is set, magic bytes."""
    blobs = [
        {
            "type": _TYPE,
            "fields": [_POSITION_ID],
            "snapshot-id": -1,
            "sequence-number": -1,
            "offset": place.offset,
            "length": place.length,
            "properties": {"referenced-data-file": path, "cardinality": str(place.positions)},
        }
        for path, place in written.items()
    ]
    described = {"blobs": blobs, "properties": {"created-by": f"lithify version {__version__}"}}
    payload = json.dumps(described).encode()
    return b"".join((_MAGIC, payload, len(payload).to_bytes(4, "little"), bytes(4), _MAGIC))
