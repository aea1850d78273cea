"""Deletion vectors in Puffin files, read by the places that manifests have, or that maps of tasks have.

Called by `positions`, by `late` and by `rewriting.maps`.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from lithify.errors import CorruptTable
from lithify.files.reading import reading
from lithify.formats.iceberg.deletes.bitmaps import decode
from lithify.formats.iceberg.model import DeleteFile
from lithify.io.storage import Storage

if TYPE_CHECKING:
    from pyroaring import BitMap64

_MOST_BYTES = 1 << 30
"""Bytes of the largest vector that is read: one of two thousand million rows has less."""


def read_vector(storage: Storage, file: DeleteFile) -> BitMap64:
    """The positions of a deletion vector.

    Raises:
        MissingFile: the file does not exist.
        CorruptTable: it is damaged.
    """
    return read_blob(storage, file.path, file.size, (file.offset or 0, file.length or 0), file.rows)


def read_blob(storage: Storage, path: str, size: int, place: tuple[int, int], rows: int) -> BitMap64:
    """The positions of a blob.

    Args:
        storage: access to the file.
        path: the file.
        size: its bytes; 0 if that is not known.
        place: first byte and bytes of the blob.
        rows: the number of positions.

    Raises:
        MissingFile: the file does not exist.
        CorruptTable: it is damaged.
    """
    offset, length = place
    if not 0 < length <= _MOST_BYTES:
        raise CorruptTable(path, f"a deletion vector of {length} bytes")
    with reading(path, "Puffin"), closing(storage.open(path, size or None)) as source:
        blob = source.read_at(length, offset)
    return decode(blob, path, rows)


def read_vector_of(storage: Storage, file: DeleteFile, path: str, rows: int) -> BitMap64:
    """The positions of the deletion vector of a data file that has some number of rows.

    Raises:
        MissingFile: the vector's file does not exist.
        CorruptTable: it is damaged, or deletes rows that the data file does not have.
    """
    positions = read_vector(storage, file)
    if positions and positions.max() >= rows:
        raise CorruptTable(file.path, f"it deletes row {positions.max()} of {path}, which has {rows} rows")
    return positions
