"""Deletion vectors: their bytes are those of the specification, and damage is found."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.columns.bitmaps import framed
from lithify.errors import CorruptTable, MissingFile
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of, decode
from lithify.formats.iceberg.deletes.puffin import read_vector
from lithify.formats.iceberg.deletes.vectors import encode
from lithify.formats.iceberg.model import DataFile
from support.iceberg_files import NOWHERE, Files, schema_of

POSITIONS = st.sets(st.integers(0, 200_000) | st.integers(0, 1 << 40), max_size=50)


@given(positions=POSITIONS)
def test_decoded_blobs_have_the_encoded_positions(positions: set[int]) -> None:
    blob = encode(bitmap_of(positions))

    assert set(decode(blob, "x", len(positions))) == positions


def test_blob_of_the_specification_is_decoded() -> None:
    """Written by hand: two 32-bit bitmaps of array containers, as the format specification of roaring
    says."""
    one = struct.pack("<IIHHIHHH", 12346, 1, 0, 2, 16, 1, 5, 9)
    other = struct.pack("<IIHHIH", 12346, 1, 0, 0, 16, 7)
    bitmap = struct.pack("<Q", 2) + struct.pack("<I", 0) + one + struct.pack("<I", 3) + other
    content = b"\xd1\xd3\x39\x64" + bitmap
    blob = struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))

    assert list(decode(blob, "x", 4)) == [1, 5, 9, 3 * (1 << 32) + 7]


@pytest.mark.parametrize("content", [b"", b"\xd1\xd3\x39\x64", b"\xd1\xd3\x39\x64" + bytes(7), bytes(16)])
def test_frames_around_something_else_are_corrupt(content: bytes) -> None:
    with pytest.raises(CorruptTable):
        decode(framed(content), "x")


@pytest.mark.parametrize("at", [0, 3, 4, 7, 8, 20, -1, -4])
def test_each_damaged_byte_is_found(tmp_path: Path, at: int) -> None:
    files = Files(tmp_path, schema_of(("id", "long")))
    vector = files.vector(_file(), [1, 2, 3])
    path = Path(vector.path)
    data = bytearray(path.read_bytes())
    start, stop = vector.offset or 0, (vector.offset or 0) + (vector.length or 0)
    data[start + at if at >= 0 else stop + at] ^= 1
    path.write_bytes(data)

    with pytest.raises(CorruptTable) as failure:
        read_vector(files.storage, vector)

    assert failure.value.path == vector.path


def test_other_number_of_positions_than_the_manifest_says_is_corrupt(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("id", "long")))
    vector = files.vector(_file(), [1, 2, 3])

    with pytest.raises(CorruptTable):
        read_vector(files.storage, replace(vector, rows=2))


@pytest.mark.parametrize(("offset", "length"), [(4, 0), (4, 10), (1000, 30), (4, -1), (4, 1 << 40)])
def test_places_outside_of_the_file_are_corrupt(tmp_path: Path, offset: int, length: int) -> None:
    files = Files(tmp_path, schema_of(("id", "long")))
    vector = replace(files.vector(_file(), [1]), offset=offset, length=length)

    with pytest.raises(CorruptTable):
        read_vector(files.storage, vector)


def test_missing_file_is_told_by_name(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("id", "long")))
    vector = files.vector(_file(), [1])
    Path(vector.path).unlink()

    with pytest.raises(MissingFile):
        read_vector(files.storage, vector)


def _file() -> DataFile:
    return DataFile("file:///data", 1, 10, "parquet", 1, NOWHERE)
