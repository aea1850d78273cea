"""Deletion vectors in Puffin files, read by the places that manifests have. Called by `positions`."""

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
    offset, length = file.offset or 0, file.length or 0
    if not 0 < length <= _MOST_BYTES:
        raise CorruptTable(file.path, f"a deletion vector of {length} bytes")
    with reading(file.path, "Puffin"), closing(storage.open(file.path, file.size or None)) as source:
        blob = source.read_at(length, offset)
    return decode(blob, file.path, file.rows)
