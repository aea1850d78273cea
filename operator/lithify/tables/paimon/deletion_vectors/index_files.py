"""Index files of deletion vectors: one for each bucket, with the vectors of its data files one after another.

Called by `table`, which lists them, by readers of data files, and by `writing`. The format is that of
Paimon's `DeletionVectorsIndexFile`: a version byte, then the vectors; where each of them lies is in the index
manifest only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.errors import CorruptTable, MissingFile, StorageError
from lithify.tables.files.model import InputFile, VectorLocation
from lithify.tables.io.storage import Storage, reporting
from lithify.tables.paimon.deletion_vectors.bitmaps import MOST_BYTES, DeletionVector, decode, encode

DELETION_VECTORS = "DELETION_VECTORS"
"""The type of these index files in index manifests."""
_VERSION = b"\x01"
_FRAME = 8


@dataclass(frozen=True, slots=True)
class VectorRange:
    """Where the vector of a data file lies in an index file.

    Attributes:
        offset: first byte.
        length: its length, as Paimon counts it (`bitmaps.encode`).
        cardinality: number of deleted rows; None where the writer did not count them.
    """

    offset: int
    length: int
    cardinality: int | None


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index file of deletion vectors.

    Attributes:
        name: its name.
        size: bytes.
        ranges: the vectors, by the names of their data files.
        external_path: its path if it lies outside the table's folder.
    """

    name: str
    size: int
    ranges: Mapping[str, VectorRange]
    external_path: str | None = None


def located(folder: str, index: VectorIndex, file: str) -> VectorLocation:
    """Where the vector of a data file is, for its reader."""
    found = index.ranges[file]
    return VectorLocation(f"{folder}/{index.name}", found.offset, found.length)


def read_vector(storage: Storage, location: VectorLocation, file: InputFile | None = None) -> DeletionVector:
    """Reads one vector.

    Args:
        storage: access to the index file.
        location: where it is.
        file: its data file; its positions must be rows of it.

    Raises:
        MissingFile: the index file is gone.
        CorruptTable: it is damaged.
        StorageError: the file system refuses.
    """
    path = location.path
    if location.offset < 1 or not 0 < location.length <= MOST_BYTES:
        raise CorruptTable(path, f"the index manifest has a vector of {location.length} bytes in it")
    try:
        with reporting(path), storage.open(path) as source:
            source.seek(location.offset)
            vector = decode(source.read(location.length + _FRAME), location.length)
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except ValueError as error:
        raise CorruptTable(path, f"its deletion vectors cannot be read ({error})") from error
    if file is not None and vector.positions and vector.positions.max() >= file.rows:
        raise CorruptTable(path, f"a vector deletes rows that {file.path} does not have")
    return vector


def write_vectors(storage: Storage, path: str, vectors: Mapping[str, DeletionVector]) -> VectorIndex:
    """Writes an index file; its bytes are on disk when this returns.

    Raises:
        StorageError: the file cannot be written.
    """
    parts, ranges, offset = [_VERSION], {}, len(_VERSION)
    for name, vector in vectors.items():
        stored, length = encode(vector)
        ranges[name] = VectorRange(offset, length, len(vector))
        parts.append(stored)
        offset += len(stored)
    new = storage.create(path)
    try:
        with reporting(path):
            for part in parts:
                new.sink.write(part)
            new.sink.close()
        storage.persist([path])
    except (OSError, StorageError):
        new.give_up()
        raise
    return VectorIndex(path.rpartition("/")[2], offset, ranges)
