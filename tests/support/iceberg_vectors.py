"""Deletion vectors of Iceberg's tables as other writers write them: Lithify only reads and removes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyroaring import BitMap64

from lithify.columns.bitmaps import framed
from lithify.files.puffin import Blob, puffin_file
from lithify.io.storage import Storage

_MAGIC = b"\xd1\xd3\x39\x64"
_POSITION_ID = 2147483645


@dataclass(frozen=True, slots=True)
class WrittenVector:
    """Where a vector lies in a written Puffin file: its first byte, and its number of bytes and positions."""

    offset: int
    length: int
    positions: int


def encode(positions: BitMap64) -> bytes:
    """The blob of a bitmap."""
    positions.run_optimize()
    return framed(_MAGIC + positions.serialize())


def write_vectors(storage: Storage, path: str, vectors: Mapping[str, BitMap64]) -> dict[str, WrittenVector]:
    """Writes the vectors of data files into a new Puffin file; returns where each of them lies."""
    file = puffin_file([(_blob(*each), encode(each[1])) for each in vectors.items()])
    sink = storage.create(path).sink
    sink.write(file.data)
    sink.close()
    return {
        data_file: WrittenVector(blob.offset, blob.length, len(positions))
        for (data_file, positions), blob in zip(vectors.items(), file.blobs, strict=True)
    }


def _blob(data_file: str, positions: BitMap64) -> Blob:
    properties = {"referenced-data-file": data_file, "cardinality": str(len(positions))}
    return Blob("deletion-vector-v1", (_POSITION_ID,), properties=properties)
