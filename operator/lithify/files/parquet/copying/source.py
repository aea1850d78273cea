"""A file whose row groups are copied: its footer, page indexes, and the bytes of its column chunks.

Called by `copier`. Opening a file reads its footer and page indexes, so that whatever is wrong with them is
found before anything is copied.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from copy import copy
from functools import cached_property

import pyarrow as pa

from lithify.errors import UnsupportedTable
from lithify.files.parquet.copying.footers import (
    ByteRange,
    ColumnChunk,
    RowGroup,
    checking,
    read_footer,
)
from lithify.files.parquet.copying.joinable import obstacle, schema_fingerprint
from lithify.files.parquet.copying.page_index import PageIndex, page_index
from lithify.files.parquet.copying.pages import PageWalk
from lithify.files.parquet.structs import Malformed, integer_of, read_struct
from lithify.files.parquet.thrift import Thrift

READ_BYTES = 8 << 20
"""Bytes of a column chunk that are read and written at a time."""

_GAP = 64 << 10
"""Bytes between two indexes that are read rather than skipped with another request."""

_MOST_INDEX = 64 << 20
"""Bytes of all page indexes of a file that are held in memory."""

_FILTER_HEADER = 64
_MOST_FILTER = 128 << 20


class RowGroupSource:
    """An open Parquet file.

    Attributes:
        path: the file, for messages.
        footer: its footer.

    Args:
        source: the file, open for reading at any position; the caller closes it.
        path: the file, for messages.
        columns: numbers of the columns whose page indexes are read, None for all; others seem to have none.

    Raises:
        CorruptTable: the file is not Parquet, is cut off, or its footer or page indexes contradict it.
        UnsupportedTable: it is encrypted, or its footer or page indexes are too large to copy from it.
    """

    def __init__(self, source: pa.NativeFile, path: str, columns: Collection[int] | None = None) -> None:
        self._source = source
        self.path = path
        self.footer = read_footer(source, path)
        self._indexes = self._page_indexes(columns)

    def over(self, source: pa.NativeFile) -> RowGroupSource:
        """A source over the same file, opened again, which reuses the footer."""
        other = copy(self)
        other._source = source  # noqa: SLF001  # of the same class
        return other

    @cached_property
    def obstacle(self) -> str | None:
        """Why row groups of the file cannot be copied, None if they can."""
        with checking(self.path):
            return obstacle(self.footer)

    @cached_property
    def fingerprint(self) -> str:
        """Row groups can be joined if the fingerprints of their files are equal."""
        with checking(self.path):
            return schema_fingerprint(self.footer)

    def index_of(self, chunk: ColumnChunk) -> PageIndex | None:
        """The page index of a column chunk, if it has one."""
        return None if chunk.offset_index is None else self._indexes.get(chunk.offset_index.start)

    def pages_of(self, chunk: ColumnChunk) -> Iterator[pa.Buffer]:
        """The bytes of a column chunk, in pieces.

        Raises:
            CorruptTable: they are not whole pages with the chunk's number of values.
        """
        with checking(self.path):
            walk = PageWalk(chunk)
            for start in range(chunk.pages.start, chunk.pages.end, READ_BYTES):
                data = self._read(ByteRange(start, min(READ_BYTES, chunk.pages.end - start)))
                walk.feed(memoryview(data))
                yield data
            walk.end()

    def bytes_of(self, chunk: ColumnChunk) -> pa.Buffer:
        """All bytes of a column chunk at once."""
        with checking(self.path):
            return self._read(chunk.pages)

    def filter_of(self, chunk: ColumnChunk) -> pa.Buffer | None:
        """The bloom filter of a column chunk with its header, if it has one.

        Raises:
            CorruptTable: its header tells another length than the footer.
        """
        if chunk.filter is None:
            return None
        with checking(self.path):
            start = chunk.filter.start
            self._source.seek(start)
            walk = Thrift(self._source.read(_FILTER_HEADER))
            length = integer_of(read_struct(walk), 1) + walk.at
            if chunk.filter.length not in (None, length) or not 0 < length <= _MOST_FILTER:
                raise Malformed(f"a bloom filter of {length} bytes, its footer says {chunk.filter.length}")
            return self._read(ByteRange(start, length))

    def _read(self, place: ByteRange) -> pa.Buffer:
        self._source.seek(place.start)
        data = self._source.read_buffer(place.length)
        if data.size != place.length:
            raise EOFError(f"{data.size} of {place.length} bytes at byte {place.start}")
        return data

    def _page_indexes(self, columns: Collection[int] | None) -> dict[int, PageIndex]:
        """The page indexes of some columns, by the position of the offset index."""
        found: dict[int, PageIndex] = {}
        with checking(self.path):
            places = [*_index_places(self.footer.row_groups)]
            size = sum(place.length or 0 for place in places)
            if size > _MOST_INDEX:
                raise UnsupportedTable(self.path, (f"its page indexes take {size} bytes of memory",))
            get = self._reader_of(places)
            for group in self.footer.row_groups:
                for number, chunk in enumerate(group.chunks):
                    if chunk.offset_index is not None and (columns is None or number in columns):
                        bounds = b"" if chunk.column_index is None else get(chunk.column_index)
                        index = page_index(bounds, get(chunk.offset_index), chunk, group.rows)
                        found[chunk.offset_index.start] = index
        return found

    def _reader_of(self, places: Iterable[ByteRange]) -> Callable[[ByteRange], bytes]:
        """Reads neighbouring places with one request; returns how to get each of them."""
        blocks: list[tuple[int, int]] = []
        for place in sorted(places, key=lambda place: place.start):
            if blocks and place.start <= blocks[-1][1] + _GAP:
                blocks[-1] = (blocks[-1][0], max(blocks[-1][1], place.end))
            else:
                blocks.append((place.start, place.end))
        starts = [start for start, _ in blocks]
        data = [memoryview(self._read(ByteRange(start, end - start))) for start, end in blocks]

        def get(place: ByteRange) -> bytes:
            number = bisect_right(starts, place.start) - 1
            return bytes(data[number][place.start - starts[number] : place.end - starts[number]])

        return get


def _index_places(groups: Iterable[RowGroup]) -> Iterator[ByteRange]:
    for group in groups:
        for chunk in group.chunks:
            if chunk.offset_index is not None:
                yield chunk.offset_index
                if chunk.column_index is not None:
                    yield chunk.column_index
