"""Joins Parquet files by copying the encoded column chunks of their row groups, with a new footer.

Called by adapters and by the tasks of compactions. Nothing is decoded: bytes of pages stay as they are, and
the footer, the page indexes and the offsets of bloom filters are new. Memory is a piece of a column
chunk, plus the page indexes and the footer of the new file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from lithify import __version__
from lithify.files.parquet.copying.footers import (
    CHUNK_OFFSET,
    COLUMN_INDEX,
    COLUMN_ORDERS,
    COLUMNS,
    COMPRESSED,
    CREATED_BY,
    DATA_PAGE,
    DICTIONARY_PAGE,
    FILTER,
    GROUP_BYTES,
    GROUP_COMPRESSED,
    GROUP_OFFSET,
    GROUP_ROWS,
    KEY_VALUES,
    MAGIC,
    METADATA,
    OFFSET_INDEX,
    ORDINAL,
    ROW_GROUPS,
    ROWS,
    SCHEMA,
    UNCOMPRESSED,
    VERSION,
    ColumnChunk,
    ParquetFooter,
    check_column,
)
from lithify.files.parquet.copying.page_index import PageIndex
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.structs import (
    Struct,
    Value,
    binary,
    encode_struct,
    i16,
    i32,
    i64,
    integer_of,
    struct,
    structs,
)

_MOST_ORDINAL = 2**15 - 1
_CREATED_BY = f"lithify version {__version__}"
"""The writer of a file whose row groups have several writers."""


class ChunkSource(Protocol):
    """Where the bytes of a column chunk are; see `RowGroupSource`."""

    def index_of(self, chunk: ColumnChunk) -> PageIndex | None:
        """The page index of a column chunk, if it has one."""
        ...

    def pages_of(self, chunk: ColumnChunk) -> Iterator[pa.Buffer]:
        """The bytes of a column chunk, in pieces."""
        ...

    def filter_of(self, chunk: ColumnChunk) -> pa.Buffer | None:
        """The bloom filter of a column chunk with its header, if it has one."""
        ...


@dataclass(slots=True)
class _CopiedChunk:
    """A column chunk of the new file, whose page index is written at the end."""

    fields: dict[int, Value]
    index: PageIndex | None
    shift: int


@dataclass(frozen=True, slots=True)
class _CopiedGroup:
    fields: Struct
    chunks: list[_CopiedChunk]
    start: int


class RowGroupCopier:
    """Writes one Parquet file out of row groups of others.

    Attributes:
        rows: rows copied so far.

    Args:
        sink: an output stream at its beginning; the caller closes it.
        like: a file with the schema of the new one, usually the first that is copied.
        key_values: additional key-value metadata; wins over that of the files.
    """

    def __init__(
        self, sink: pa.NativeFile, like: RowGroupSource, key_values: Mapping[bytes, bytes] | None = None
    ) -> None:
        self._sink = sink
        self._like = like
        self._added = dict(key_values or {})
        self._kept: dict[bytes, Value | None] | None = None
        self._writers: set[str] = set()
        self._version = 0
        self._groups: list[_CopiedGroup] = []
        self._end = b""
        self.rows = 0
        sink.write(MAGIC)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return int(self._sink.tell())

    def append(self, source: RowGroupSource, row_groups: Iterable[int] | None = None) -> None:
        """Copies row groups of a file, in this order, by default all; those without rows are left out.

        Raises:
            ValueError: they cannot be copied, or not into this file (see `obstacle` and `fingerprint`).
            CorruptTable: the file contradicts its footer; the new file must then be discarded.
        """
        problem = source.obstacle
        if problem is None and source.fingerprint != self._like.fingerprint:
            problem = f"its schema is not that of {self._like.path}"
        if problem is not None:
            raise ValueError(f"{source.path} cannot be copied: {problem}")
        numbers = range(len(source.footer.row_groups)) if row_groups is None else row_groups
        for number in numbers:
            if source.footer.row_groups[number].rows:
                self._copy(source, number)
        self._remember(source.footer)

    def finish(self) -> int:
        """Writes the page indexes and the footer; returns the size of the file."""
        chunks = [chunk for group in self._groups for chunk in group.chunks]
        for chunk in chunks:
            if chunk.index is not None and chunk.index.bounds:
                self._place(chunk, COLUMN_INDEX, chunk.index.bounds)
        for chunk in chunks:
            if chunk.index is not None:
                self._place(chunk, OFFSET_INDEX, chunk.index.shifted(chunk.shift))
        footer = encode_struct(self._footer())
        self._end = footer + len(footer).to_bytes(4, "little") + MAGIC
        self._sink.write(self._end)
        return self.size

    @property
    def metadata(self) -> pq.FileMetaData:
        """The footer of the finished file."""
        return pq.read_metadata(pa.BufferReader(MAGIC + self._end))

    def append_columns(
        self, rows: int, columns: Sequence[tuple[ChunkSource, ColumnChunk]], footers: Iterable[ParquetFooter]
    ) -> None:
        """Adds a row group whose column chunks come from several sources, in the order of the schema.

        Args:
            rows: its rows; each source is known to have as many.
            columns: its column chunks, and where their bytes are.
            footers: of the files that the rows come from.

        Raises:
            ValueError: they are not the columns of the schema, or not of this number of rows.
            CorruptTable: a file contradicts its footer; the new file must then be discarded.
        """
        schema = self._like.footer.metadata.schema
        for number, (_, chunk) in zip(range(len(schema)), columns, strict=True):
            check_column(chunk, schema.column(number), rows)
        self._write({GROUP_ROWS: i64(rows)}, rows, columns)
        for footer in footers:
            self._remember(footer)

    def _copy(self, source: RowGroupSource, number: int) -> None:
        """Copies a row group: its column chunks in the order of their bytes."""
        group = source.footer.row_groups[number]
        in_order = sorted(range(len(group.chunks)), key=lambda column: group.chunks[column].pages.start)
        self._write(group.fields, group.rows, [(source, chunk) for chunk in group.chunks], in_order)

    def _write(
        self,
        fields: Struct,
        rows: int,
        columns: Sequence[tuple[ChunkSource, ColumnChunk]],
        in_order: Sequence[int] | None = None,
    ) -> None:
        """Writes the column chunks of a row group in some order, then its filters."""
        start, written = self.size, {}
        for number in range(len(columns)) if in_order is None else in_order:
            source, chunk = columns[number]
            shift = self.size - chunk.pages.start
            for piece in source.pages_of(chunk):
                self._sink.write(piece)
            written[number] = (source, chunk, shift)
        chunks = [self._with_filter(*written[number]) for number in range(len(columns))]
        self._groups.append(_CopiedGroup({**fields, **_sizes(columns)}, chunks, start))
        self.rows += rows

    def _with_filter(self, source: ChunkSource, chunk: ColumnChunk, shift: int) -> _CopiedChunk:
        """Copies the filter of a column chunk; returns the chunk's fields for the footer."""
        metadata = {**chunk.metadata, DATA_PAGE: i64(integer_of(chunk.metadata, DATA_PAGE) + shift)}
        if DICTIONARY_PAGE in metadata:
            position = integer_of(metadata, DICTIONARY_PAGE)
            metadata[DICTIONARY_PAGE] = i64(position + shift if position else 0)
        encoded = source.filter_of(chunk)
        for field in FILTER:
            metadata.pop(field, None)
        if encoded is not None:
            metadata |= {FILTER[0]: i64(self.size), FILTER[1]: i32(encoded.size)}
            self._sink.write(encoded)
        left_out = (*COLUMN_INDEX, *OFFSET_INDEX)
        fields = {number: value for number, value in chunk.fields.items() if number not in left_out}
        fields |= {METADATA: struct(metadata), CHUNK_OFFSET: i64(0)}
        return _CopiedChunk(fields, source.index_of(chunk), shift)

    def _place(self, chunk: _CopiedChunk, numbers: tuple[int, int], data: bytes) -> None:
        """Writes a part of a page index and notes where it is."""
        chunk.fields |= {numbers[0]: i64(self.size), numbers[1]: i32(len(data))}
        self._sink.write(data)

    def _remember(self, footer: ParquetFooter) -> None:
        """Keeps the key-value metadata that all files have; others may be true of one file only."""
        found = footer.key_values
        kept = found if self._kept is None else self._kept
        self._kept = {key: value for key, value in kept.items() if key in found and found[key] == value}
        self._writers.add(footer.created_by)
        self._version = max(self._version, integer_of(footer.fields, VERSION))

    def _footer(self) -> Struct:
        like = self._like.footer
        if self._kept is None:
            self._remember(like)
        key_values = {**(self._kept or {}), **{key: binary(value) for key, value in self._added.items()}}
        fields = {
            VERSION: i32(self._version),
            SCHEMA: like.fields[SCHEMA],
            ROWS: i64(self.rows),
            ROW_GROUPS: structs(_encodable(group, number) for number, group in enumerate(self._groups)),
            CREATED_BY: binary((self._writers.pop() if len(self._writers) == 1 else _CREATED_BY).encode()),
        }
        if key_values:
            fields[KEY_VALUES] = structs(_entry(*each) for each in key_values.items())
        if COLUMN_ORDERS in like.fields:
            fields[COLUMN_ORDERS] = like.fields[COLUMN_ORDERS]
        return fields


def _sizes(columns: Sequence[tuple[ChunkSource, ColumnChunk]]) -> Struct:
    """The sizes of a row group. Readers that divide a file find its middle by them: a wrong one loses it."""
    return {
        number: i64(sum(integer_of(chunk.metadata, of_chunk) for _, chunk in columns))
        for number, of_chunk in ((GROUP_BYTES, UNCOMPRESSED), (GROUP_COMPRESSED, COMPRESSED))
    }


def _encodable(group: _CopiedGroup, number: int) -> Struct:
    """A row group as the footer has it."""
    fields = {**group.fields, COLUMNS: structs(chunk.fields for chunk in group.chunks)}
    fields[GROUP_OFFSET] = i64(group.start)
    fields.pop(ORDINAL, None)
    return {**fields, ORDINAL: i16(number)} if number <= _MOST_ORDINAL else fields


def _entry(key: bytes, value: Value | None) -> Struct:
    return {1: binary(key)} if value is None else {1: binary(key), 2: value}
