"""Index files of deletion vectors: each has the vectors of some data files of a bucket one after another.

Called by `table`, which lists them, by readers of data files, and by `maintaining` and `sharing`. A bucket
has one index file; tables without buckets may have several for each partition. The format is that of
Paimon's `DeletionVectorsIndexFile`: a version byte, then the vectors; where each of them lies is in the index
manifest only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lithify.errors import CorruptTable, MissingFile, StorageError
from lithify.files.model import InputFile, VectorLocation
from lithify.formats.paimon.deletion_vectors.bitmaps import (
    MOST_BYTES,
    DeletionVector,
    decode,
    encode,
)
from lithify.io.storage import Fetching, Storage, reporting

DELETION_VECTORS = "DELETION_VECTORS"
"""The type of these index files in index manifests."""
_VERSION = b"\x01"
_FRAME = 8
_AT_ONCE = 8 << 20
"""Bytes of an index file to fetch at a time where every read is a request."""


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


def locations(folder: str, indexes: Iterable[VectorIndex]) -> dict[str, VectorLocation]:
    """Where the vectors of some index files in a folder are, by the names of their data files."""
    return {name: located(folder, index, name) for index in indexes for name in index.ranges}


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
    (vector,) = _read(storage, path, [(location.offset, location.length)])
    if file is not None and vector.positions and vector.positions.max() >= file.rows:
        raise CorruptTable(path, f"a vector deletes rows that {file.path} does not have")
    return vector


def read_vectors(
    storage: Storage, folder: str, index: VectorIndex, files: Sequence[str]
) -> dict[str, DeletionVector]:
    """Reads the vectors of some data files from one index file; raises what `read_vector` does."""
    ranges = [index.ranges[name] for name in files]
    found = _read(storage, f"{folder}/{index.name}", [(each.offset, each.length) for each in ranges])
    return dict(zip(files, found, strict=True))


def _read(storage: Storage, path: str, ranges: Sequence[tuple[int, int]]) -> list[DeletionVector]:
    """Reads the vectors at some offsets, with their lengths."""
    if any(offset < 1 or not 0 < length <= MOST_BYTES for offset, length in ranges):
        raise CorruptTable(path, "the index manifest has a vector in it where none can be")
    block = max((length for _, length in ranges), default=0) + _FRAME
    fetching = Fetching(max(block, _AT_ONCE) if len(ranges) > 1 else block)
    try:
        with reporting(path), storage.open(path, fetching=fetching) as source:
            return [_read_at(source, *each) for each in ranges]
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except ValueError as error:
        raise CorruptTable(path, f"its deletion vectors cannot be read ({error})") from error


def _read_at(source: pa.NativeFile, offset: int, length: int) -> DeletionVector:
    source.seek(offset)
    return decode(source.read(length + _FRAME), length)


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
