"""Puffin files: others read what is written here, and damaged files are found."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.puffin import PuffinFile as OtherReader

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.puffin import MAGIC, Blob, parse_footer, puffin_file
from support.cases import case

VECTOR = Blob("deletion-vector-v1", (7,), 12, 3, properties={"referenced-data-file": "a"})
BLOBS = st.builds(
    Blob,
    st.sampled_from(["deletion-vector-v1", "other"]),
    st.lists(st.integers(0, 99), max_size=2).map(tuple),
    st.integers(-1, (1 << 63) - 1),
    st.integers(-1, 1 << 40),
    properties=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)


@given(st.lists(st.tuples(BLOBS, st.binary(max_size=20)), max_size=4))
def test_written_blobs_are_found_again(contents: list[tuple[Blob, bytes]]) -> None:
    written = puffin_file(contents)

    found = parse_footer(written.data, "x")

    assert found == written.blobs
    assert [written.data[blob.offset : blob.offset + blob.length] for blob in found] == [
        content for _, content in contents
    ]
    assert written.data[-written.footer_bytes :].startswith(MAGIC)


def test_pyiceberg_reads_the_footer() -> None:
    written = puffin_file([(VECTOR, b"abc")])

    (blob,) = OtherReader(written.data).footer.blobs

    assert (blob.type, blob.fields, blob.snapshot_id, blob.sequence_number) == (VECTOR.type, [7], 12, 3)
    assert written.data[blob.offset : blob.offset + blob.length] == b"abc"
    assert blob.properties == VECTOR.properties


def with_footer(described: Any, flags: int = 0, length: int | None = None) -> bytes:
    payload = json.dumps(described).encode()
    end = struct.pack("<ii", len(payload) if length is None else length, flags)
    return MAGIC + b"abc" + MAGIC + payload + end + MAGIC


def blob(**changed: Any) -> dict[str, Any]:
    usual = {"type": "x", "fields": [], "snapshot-id": 1, "sequence-number": 1, "offset": 4, "length": 3}
    return {"blobs": [{**usual, **changed}]}


@pytest.mark.parametrize(
    "data",
    [
        case(b"", id="empty"),
        case(MAGIC, id="only the beginning"),
        case(MAGIC * 3, id="only magic bytes"),
        case(with_footer(blob())[1:], id="other first bytes"),
        case(with_footer(blob())[:-1], id="cut off"),
        case(with_footer(blob(), length=1), id="length too small"),
        case(with_footer(blob(), length=10_000), id="length too large"),
        case(with_footer(blob(), length=-5), id="negative length"),
        case(with_footer([]), id="no object"),
        case(with_footer({}), id="no blobs"),
        case(with_footer({"blobs": [7]}), id="no blob"),
        case(with_footer(blob(offset=None)), id="no offset"),
        case(with_footer(blob(offset=math.inf)), id="infinite offset"),
        case(with_footer(blob(offset=3)), id="blob before the first byte"),
        case(with_footer(blob(length=4)), id="blob in the footer"),
        case(with_footer(blob(length=-1)), id="negative blob"),
    ],
)
def test_damaged_files_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptTable) as failure:
        parse_footer(data, "the-file")

    assert failure.value.path == "the-file"


@pytest.mark.parametrize(
    "data",
    [
        case(with_footer(blob(), flags=1), id="footer"),
        case(with_footer(blob(**{"compression-codec": "zstd"})), id="blob"),
    ],
)
def test_compressed_files_are_refused(data: bytes) -> None:
    with pytest.raises(UnsupportedTable):
        parse_footer(data, "the-file")
