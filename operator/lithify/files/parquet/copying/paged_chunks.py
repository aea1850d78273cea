"""Column chunks that consist of the pages of smaller ones, which are neither decoded nor decompressed.

Called by `small_files`; columns that cannot be joined like this are encoded again. A page stays as it is;
the metadata, the statistics and the page index of the new chunk are those of all its pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.files.parquet.copying.bounds import BoundsReading, bounds_reading, joined_statistics
from lithify.files.parquet.copying.footers import (
    CODEC,
    COMPRESSED,
    DATA_PAGE,
    DICTIONARY_PAGE,
    ENCODING_STATS,
    ENCODINGS,
    METADATA,
    PATH,
    SIZE_STATISTICS,
    STATISTICS,
    TYPE,
    UNCOMPRESSED,
    VALUES,
    ByteRange,
    ColumnChunk,
)
from lithify.files.parquet.copying.page_index import PageIndex, joined_index
from lithify.files.parquet.copying.pages import (
    DATA_PAGE_V1,
    PLAIN,
    RLE,
    Page,
    data_pages,
)
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.sound_statistics import is_flat
from lithify.files.parquet.structs import (
    Malformed,
    Value,
    i32,
    i64,
    integer_of,
    list_of_i32,
    struct,
    structs,
)

_TYPES = ("BOOLEAN", "INT32", "INT64", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
"""Types of columns that can be joined: not of floats, which have to be read, nor INT96."""

_KNOWN = {TYPE, ENCODINGS, PATH, CODEC, VALUES, UNCOMPRESSED, COMPRESSED, DATA_PAGE, DICTIONARY_PAGE}
_REBUILT = {STATISTICS, ENCODING_STATS, SIZE_STATISTICS}


@dataclass(frozen=True, slots=True)
class PagedChunk:
    """A column chunk of a flat column, whose pages can be appended to those of another chunk.

    Attributes:
        chunk: what its footer says of it.
        data: its bytes.
        pages: its pages.
        index: its page index.
    """

    chunk: ColumnChunk
    data: pa.Buffer
    pages: tuple[Page, ...]
    index: PageIndex


@dataclass(frozen=True, slots=True)
class PagedColumn:
    """A flat column whose pages can be joined.

    Attributes:
        number: its number among the leaves of the schema.
        schema: its schema.
        reading: how its statistics are compared.
    """

    number: int
    schema: pq.ColumnSchema
    reading: BoundsReading


def paged_columns(metadata: pq.FileMetaData) -> list[PagedColumn]:
    """The columns of a schema whose pages can be joined, as far as their types are concerned."""
    columns = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    found = []
    for number, column in enumerate(columns):
        reading = bounds_reading(column) if is_flat(column) and column.physical_type in _TYPES else None
        if reading is not None:
            found.append(PagedColumn(number, column, reading))
    return found


def paged_chunk(source: RowGroupSource, chunk: ColumnChunk, column: PagedColumn) -> PagedChunk | None:
    """A column chunk whose pages can be joined with others; None if it has to be decoded.

    Whatever is unusual has to be decoded: dictionaries, pages of version 2, other encodings than PLAIN,
    missing statistics or page indexes, and pages that contradict them.
    """
    try:
        index = source.index_of(chunk)
        if index is None or not index.bounds or not _may_be_paged(chunk):
            return None
        data = source.bytes_of(chunk)
        pages = tuple(data_pages(memoryview(data), has_nulls=column.schema.max_definition_level > 0))
        if sum(page.values for page in pages) != chunk.values or not _fits(index, pages, chunk):
            return None
    except (Malformed, LookupError, OverflowError, RecursionError):
        return None
    return PagedChunk(chunk, data, pages, index)


def _may_be_paged(chunk: ColumnChunk) -> bool:
    """Whether a column chunk may have nothing but plain pages, by its footer."""
    has_dictionary = integer_of(chunk.metadata, DICTIONARY_PAGE, 0) != 0
    return not has_dictionary and chunk.metadata.keys() <= _KNOWN | _REBUILT


def _fits(index: PageIndex, pages: Sequence[Page], chunk: ColumnChunk) -> bool:
    """Whether a page index names exactly these pages."""
    starts = accumulate((page.size for page in pages), initial=chunk.pages.start)
    firsts = accumulate((page.values for page in pages), initial=0)
    expected = [(start, page.size, first) for page, start, first in zip(pages, starts, firsts, strict=False)]
    return expected == index.places


class JoinedChunk:
    """A column chunk made of others; a `ChunkSource` of the copier.

    Args:
        parts: the others, with one codec.
        column: their column.

    Raises:
        Malformed: their statistics are not exact, or their page indexes cannot be joined.
    """

    def __init__(self, parts: Sequence[PagedChunk], column: PagedColumn) -> None:
        self._parts = parts
        metadata = _metadata(parts, column)
        size = integer_of(metadata, COMPRESSED)
        self.chunk = ColumnChunk({METADATA: struct(metadata)}, metadata, ByteRange(0, size), None, None, None)
        pages = [*chain.from_iterable(part.pages for part in parts)]
        self._index = joined_index([part.index for part in parts], pages)

    @property
    def uncompressed(self) -> int:
        """Bytes of the pages before compression."""
        return integer_of(self.chunk.metadata, UNCOMPRESSED)

    def index_of(self, chunk: ColumnChunk) -> PageIndex:
        """The page index of the chunk."""
        del chunk
        return self._index

    def pages_of(self, chunk: ColumnChunk) -> Iterator[pa.Buffer]:
        """The bytes of the chunk, in pieces."""
        del chunk
        return (part.data for part in self._parts)

    def filter_of(self, chunk: ColumnChunk) -> None:
        """Joined chunks have no bloom filter."""


def _metadata(parts: Sequence[PagedChunk], column: PagedColumn) -> dict[int, Value]:
    first, count = parts[0].chunk.metadata, sum(len(part.pages) for part in parts)
    found = {number: first[number] for number in (TYPE, PATH, CODEC)}
    for number in (VALUES, UNCOMPRESSED, COMPRESSED):
        found[number] = i64(sum(integer_of(part.chunk.metadata, number) for part in parts))
    statistics = joined_statistics([part.chunk for part in parts], column.schema, column.reading)
    if statistics is None:
        raise Malformed(f"no exact statistics of {column.schema.path}")
    return {
        **found,
        ENCODINGS: list_of_i32([PLAIN, RLE]),
        DATA_PAGE: i64(0),
        ENCODING_STATS: structs([{1: i32(DATA_PAGE_V1), 2: i32(PLAIN), 3: i32(count)}]),
        STATISTICS: struct(statistics),
    }
