"""Writes deletion vectors into a Puffin file.

Called by commits that carry late deletes over to new files. The blobs of all data files of a commit share one
file, as those of a task of Spark's do; blob and footer follow Iceberg's Puffin specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify.columns.bitmaps import framed
from lithify.files.puffin import Blob, puffin_file
from lithify.formats.iceberg.deletes.bitmaps import MAGIC
from lithify.io.storage import Storage

if TYPE_CHECKING:
    from pyroaring import BitMap64

_TYPE = "deletion-vector-v1"
_POSITION_ID = 2147483645
"""Field id of the metadata column `_pos`, which vectors are about."""


@dataclass(frozen=True, slots=True)
class WrittenVector:
    """A vector in a written Puffin file.

    Attributes:
        offset: first byte of its blob.
        length: bytes of the blob.
        positions: number of deleted positions.
        file_size: bytes of the whole file.
    """

    offset: int
    length: int
    positions: int
    file_size: int


def encode(positions: BitMap64) -> bytes:
    """The blob of a bitmap; its containers become runs where these are smaller."""
    positions.run_optimize()
    return framed(MAGIC + positions.serialize())


def write_vectors(storage: Storage, path: str, vectors: Mapping[str, BitMap64]) -> dict[str, WrittenVector]:
    """Writes the vectors of data files into a new Puffin file.

    Args:
        storage: access to the file system.
        path: the new file.
        vectors: deleted positions by the location of the data file.

    Returns:
        Where each of them lies.

    Raises:
        StorageError: it cannot be written.
    """
    file = puffin_file([(_blob(*each), encode(each[1])) for each in vectors.items()])
    with closing(storage.create(path).sink) as sink:
        sink.write(file.data)
    return {
        data_file: WrittenVector(blob.offset, blob.length, len(positions), len(file.data))
        for (data_file, positions), blob in zip(vectors.items(), file.blobs, strict=True)
    }


def _blob(data_file: str, positions: BitMap64) -> Blob:
    properties = {"referenced-data-file": data_file, "cardinality": str(len(positions))}
    return Blob(_TYPE, (_POSITION_ID,), properties=properties)
