"""Footers for copying: where the bytes of each column chunk are, and everything else as it is encoded.

Called by the modules beside this one. A footer that contradicts itself or its file is found here, before
anything is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.parquet.structs import (
    Malformed,
    Struct,
    Value,
    integer_of,
    read_struct,
)
from lithify.files.parquet.thrift import Thrift
from lithify.files.reading import reading

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_TAIL = 8
_TAIL_READ = 64 << 10
"""Bytes of the end that are read with the first request."""
_MOST_FOOTER = 32 << 20
"""Bytes of the largest footer that is read in Python, which takes many times its size."""

SCHEMA, ROWS, ROW_GROUPS, KEY_VALUES, CREATED_BY, COLUMN_ORDERS = 2, 3, 4, 5, 6, 7
VERSION = 1
"""Fields of FileMetaData in `parquet.thrift`."""
COLUMNS, GROUP_BYTES, GROUP_ROWS, SORTING, GROUP_OFFSET, GROUP_COMPRESSED, ORDINAL = 1, 2, 3, 4, 5, 6, 7
"""Fields of RowGroup."""
FILE_PATH, CHUNK_OFFSET, METADATA = 1, 2, 3
OFFSET_INDEX, COLUMN_INDEX = (4, 5), (6, 7)
"""Fields of ColumnChunk; of each index its offset and its length."""
TYPE, ENCODINGS, PATH, CODEC, VALUES, UNCOMPRESSED, COMPRESSED = 1, 2, 3, 4, 5, 6, 7
DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, STATISTICS, FILTER = 9, 10, 11, 12, (14, 15)
ENCODING_STATS, SIZE_STATISTICS = 13, 16
"""Fields of ColumnMetaData."""
_TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes of a file; `length` is None where the footer does not tell it."""

    start: int
    length: int | None = None

    @property
    def end(self) -> int:
        """The position behind the last byte."""
        return self.start + (self.length or 0)


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """A column chunk: its fields, those of its metadata, and the bytes that belong to it.

    Attributes:
        fields: fields of ColumnChunk.
        metadata: fields of its ColumnMetaData.
        pages: its pages, the dictionary page included.
        column_index: bounds of its pages, if the file has them.
        offset_index: positions of its pages, if the file has them.
        filter: its bloom filter, if it has one.
    """

    fields: Struct
    metadata: Struct
    pages: ByteRange
    column_index: ByteRange | None
    offset_index: ByteRange | None
    filter: ByteRange | None

    @property
    def values(self) -> int:
        """Number of values, nulls included."""
        return integer_of(self.metadata, VALUES)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: its fields, its column chunks in the order of the schema, and its rows."""

    fields: Struct
    chunks: tuple[ColumnChunk, ...]
    rows: int

    @property
    def bytes(self) -> int:
        """Bytes of all pages."""
        return sum(chunk.pages.length or 0 for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class ParquetFooter:
    """The footer of a file.

    Attributes:
        path: the file, for messages.
        fields: fields of FileMetaData.
        row_groups: all row groups.
        metadata: the same footer as PyArrow reads it.
    """

    path: str
    fields: Struct
    row_groups: tuple[RowGroup, ...]
    metadata: pq.FileMetaData

    @property
    def key_values(self) -> dict[bytes, Value | None]:
        """Key-value metadata; values as they are encoded."""
        entries = self.fields[KEY_VALUES].structs if KEY_VALUES in self.fields else []
        return {entry[1].binary: entry.get(2) for entry in entries}

    @property
    def created_by(self) -> str:
        """The application that wrote the file, empty if it does not say."""
        if CREATED_BY not in self.fields:
            return ""
        return self.fields[CREATED_BY].binary.decode(errors="replace")


@contextmanager
def checking(path: str) -> Iterator[None]:
    """Turns every sign of a broken file into an error that names it.

    Raises:
        MissingFile, CorruptTable, StorageError, OutOfMemory
    """
    try:
        with reading(path, "Parquet"):
            yield
    except (Malformed, RecursionError, OverflowError) as error:
        raise CorruptTable(path, f"it cannot be read as Parquet ({error})") from error


def read_footer(source: pa.NativeFile, path: str) -> ParquetFooter:
    """Reads the footer of a file and checks it against the file's size.

    Raises:
        MissingFile: the file does not exist.
        CorruptTable: it is not Parquet, is cut off, or contradicts itself.
        UnsupportedTable: it is encrypted, or its footer is too large.
    """
    with checking(path):
        size = source.size()
        end = source.read_at(min(size, _TAIL_READ), max(0, size - _TAIL_READ))
        if end[-len(MAGIC) :] == _ENCRYPTED:
            raise UnsupportedTable(path, ("its footer is encrypted",))
        if len(end) < _TAIL + len(MAGIC) or end[-len(MAGIC) :] != MAGIC:
            raise Malformed("it does not end like a Parquet file")
        length = int.from_bytes(end[-_TAIL : -len(MAGIC)], "little")
        start = size - _TAIL - length
        if start < len(MAGIC):
            raise Malformed(f"a footer of {length} bytes does not fit into {size} bytes")
        if length > _MOST_FOOTER:
            raise UnsupportedTable(
                path, (f"its footer of {length} bytes takes too much memory to copy from it",)
            )
        data = source.read_at(length, start) if length + _TAIL > len(end) else end[-_TAIL - length : -_TAIL]
        return _parsed(data, start, path)


def _parsed(data: bytes, start: int, path: str) -> ParquetFooter:
    whole = b"".join((MAGIC, data, len(data).to_bytes(4, "little"), MAGIC))
    metadata = pq.read_metadata(pa.BufferReader(whole))  # checks the schema
    fields = read_struct(Thrift(data))
    integer_of(fields, VERSION)
    groups = tuple(_row_group(group, metadata, start) for group in fields[ROW_GROUPS].structs)
    if sum(group.rows for group in groups) != metadata.num_rows:
        raise Malformed(f"it has {metadata.num_rows} rows, but its row groups have others")
    _check_apart(groups)
    return ParquetFooter(path, fields, groups, metadata)


def _row_group(fields: Struct, metadata: pq.FileMetaData, end: int) -> RowGroup:
    rows, chunks = integer_of(fields, GROUP_ROWS), fields[COLUMNS].structs
    if rows < 0 or len(chunks) != metadata.num_columns:
        raise Malformed(f"a row group of {rows} rows and {len(chunks)} of {metadata.num_columns} columns")
    found = tuple(_chunk(chunk, end) if rows else _empty(chunk) for chunk in chunks)
    for number, chunk in enumerate(found):
        check_column(chunk, metadata.schema.column(number), rows)
    return RowGroup(fields, found, rows)


def check_column(chunk: ColumnChunk, column: pq.ColumnSchema, rows: int) -> None:
    """Checks that a column chunk is one of a column, in a row group with this number of rows.

    Raises:
        Malformed: it is not.
    """
    path = ".".join(part.decode() for part in _texts(chunk.metadata[PATH]))
    kind = integer_of(chunk.metadata, TYPE)
    if path != column.path or _TYPES[kind : kind + 1] != (column.physical_type,):
        raise Malformed(f"a column chunk of {path} where the schema has {column.path}")
    values, flat = chunk.values, column.max_repetition_level == 0
    if values < rows or (flat and values != rows):
        raise Malformed(f"column {path} has {values} values in {rows} rows")


def _texts(value: Value) -> list[bytes]:
    walk = Thrift(value.data)
    size = walk.data[0] >> 4
    walk.at = 1
    size = walk.varint() if size == 0x0F else size
    found = []
    for _ in range(size):
        length = walk.varint()
        found.append(walk.data[walk.at : walk.at + length])
        walk.at += length
    return found


def _chunk(fields: Struct, end: int) -> ColumnChunk:
    metadata = fields[METADATA].struct
    first = integer_of(metadata, DATA_PAGE)
    dictionary = integer_of(metadata, DICTIONARY_PAGE, 0)
    pages = ByteRange(dictionary if dictionary > 0 else first, integer_of(metadata, COMPRESSED))
    if not pages.start <= first < pages.end:
        raise Malformed(f"data at byte {first} of a column chunk from {pages.start} to {pages.end}")
    indexes = (_range(fields, COLUMN_INDEX), _range(fields, OFFSET_INDEX))
    ranges = (pages, *indexes, _range(metadata, FILTER))
    for each in ranges:
        if each is not None and not (len(MAGIC) <= each.start <= each.end <= end and (each.length or 0) >= 0):
            raise Malformed(f"{each.length} bytes at byte {each.start} of {end}")
    return ColumnChunk(fields, metadata, *ranges)


def _empty(fields: Struct) -> ColumnChunk:
    """A column chunk without rows, which is never copied: writers put anything into the footer there."""
    return ColumnChunk(fields, fields[METADATA].struct, ByteRange(0, 0), None, None, None)


def _range(fields: Struct, numbers: tuple[int, int]) -> ByteRange | None:
    """A range whose offset and length are in two fields; writers put zeros where there is none."""
    start, length = (integer_of(fields, number, 0) for number in numbers)
    if numbers[0] not in fields or start == 0:
        return None
    if length == 0 and numbers != FILTER:
        return None
    return ByteRange(start, length if numbers[1] in fields else None)


def _check_apart(groups: Sequence[RowGroup]) -> None:
    """Checks that no two column chunks share bytes."""
    chunks = (chunk.pages for group in groups for chunk in group.chunks)
    pages = sorted((chunk.start, chunk.end) for chunk in chunks if chunk.length)
    for (_, end), (start, _) in pairwise(pages):
        if start < end:
            raise Malformed(f"two column chunks have the bytes from {start} to {end}")
