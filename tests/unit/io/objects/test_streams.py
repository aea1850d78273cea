"""Objects as files: whatever is asked for comes, in few requests, and little is kept."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.io.objects.bucket import Tail
from lithify.io.objects.streams import TAIL_BYTES, BlockReader

DATA = bytes(number * 31 % 251 for number in range(100_000))


class Objects:
    """A bucket with one object, that counts what is asked of it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []

    def read_range(self, key: str, start: int, end: int) -> bytes:
        self.asked.append((start, end))
        return self.data[start:end]

    def read_tail(self, key: str, most: int) -> Tail:
        self.asked.append((max(0, len(self.data) - most), len(self.data)))
        return Tail(len(self.data), self.data[-most:])


def reader(objects: Objects, size: int | None, block: int, kept: int = 0) -> BlockReader:
    return BlockReader(objects, "key", size, block, kept)  # type: ignore[arg-type]


places = st.tuples(st.integers(0, len(DATA) + 10), st.integers(0, 40_000))


@given(st.lists(places, max_size=30), st.integers(1, 150_000), st.integers(0, 200_000), st.booleans())
def test_any_reads_are_those_of_a_file(
    reads: list[tuple[int, int]], block: int, kept: int, is_known: bool
) -> None:
    objects, file = Objects(DATA), io.BytesIO(DATA)
    source = reader(objects, len(DATA) if is_known else None, block, kept)

    for place, length in reads:
        source.seek(place)
        file.seek(place)
        assert source.read(length) == file.read(length)
        assert source.tell() == max(place, file.tell())
        held = sum(len(each.data) for each in source._blocks.values())
        assert held <= max(block + kept, 40_000, TAIL_BYTES)


@pytest.mark.parametrize("columns", [1, 7, 40])
def test_columns_that_are_read_side_by_side_are_fetched_once(columns: int) -> None:
    """As PyArrow does: a little of each column, over and over."""
    objects, block, sip = Objects(DATA), 2048, 512
    width = len(DATA) // columns
    kept = columns * min(width, block)
    source = pa.PythonFile(reader(objects, len(DATA), block, kept), mode="r")
    read = bytearray(len(DATA))

    for offset in range(0, width, sip):
        for column in range(columns):
            start = column * width + offset
            length = min(sip, width - offset)
            source.seek(start)
            read[start : start + length] = source.read(length)

    assert bytes(read[: columns * width]) == DATA[: columns * width]
    assert len(objects.asked) <= columns * -(-width // block) + columns


def test_a_small_file_is_fetched_at_once() -> None:
    objects = Objects(DATA)
    source = reader(objects, len(DATA), len(DATA))

    source.seek(90_000)
    source.read(10)
    source.seek(5)
    source.read(10)

    assert objects.asked == [(0, len(DATA))]


def test_an_object_that_is_shorter_than_it_should_be_is_noticed() -> None:
    source = reader(Objects(DATA), len(DATA) + 100, 1000)
    source.seek(len(DATA) - 10)

    with pytest.raises(EOFError):
        source.read(20)
