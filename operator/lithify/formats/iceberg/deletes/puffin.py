"""Deletion vectors in Puffin files, read by the places that manifests have, and written.

Called by `positions` and by tasks that write vectors. Of a file only the blobs are read; the footer is
written for other readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify.errors import CorruptTable
from lithify.files.puffin import MAGIC, Blob, footer
from lithify.files.reading import reading
from lithify.formats.iceberg.deletes.bitmaps import decode, encode
from lithify.formats.iceberg.model import DeleteFile
from lithify.io.storage import Storage, reporting

if TYPE_CHECKING:
    from pyroaring import BitMap64

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
        sink.write(MAGIC)
        for data_file, positions in vectors.items():
            blob, offset = encode(positions), int(sink.tell())
            sink.write(blob)
            written[data_file] = WrittenVector(offset, len(blob), len(positions))
        sink.write(footer([_blob(*each) for each in written.items()]))
    return written


def _blob(path: str, place: WrittenVector) -> Blob:
    properties = {"referenced-data-file": path, "cardinality": str(place.positions)}
    return Blob(_TYPE, (_POSITION_ID,), offset=place.offset, length=place.length, properties=properties)
