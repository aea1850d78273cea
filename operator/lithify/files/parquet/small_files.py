"""Small Parquet files in memory, whose rows become one row group: some columns page by page, others encoded.

Created by adapters; `joining_writer` writes the row group. Pages that need no change are not decoded
(`copying.paged_chunks`); a page that is too small is, because each costs bytes and work in the new file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.files.parquet.copying.footers import UNCOMPRESSED, ParquetFooter
from lithify.files.parquet.copying.paged_chunks import (
    JoinedChunk,
    PagedChunk,
    PagedColumn,
    paged_chunk,
)
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.structs import Malformed, integer_of
from lithify.files.parquet.writer import read_row_groups
from lithify.files.reading import reading

SMALLEST_PAGE = 64 << 10
"""Uncompressed bytes of a column's average page below which its values are encoded again."""


class SmallFile:
    """A file with one row group, in memory.

    Attributes:
        source: its footer and bytes.

    Args:
        data: the whole file.
        path: the file, for messages.
        columns: the columns that may be joined page by page.

    Raises:
        CorruptTable: the file is not Parquet, is cut off, or contradicts itself.
        UnsupportedTable: it is encrypted.
    """

    def __init__(self, data: pa.Buffer, path: str, columns: Sequence[PagedColumn]) -> None:
        self._data = data
        numbers = {column.number for column in columns}
        self.source = RowGroupSource(pa.BufferReader(data), path, numbers)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return int(self._data.size)

    def paged(self, column: PagedColumn) -> PagedChunk | None:
        """The pages of a column, None if they cannot be joined with others."""
        (group,) = self.source.footer.row_groups
        return paged_chunk(self.source, group.chunks[column.number], column)

    def decoded(self, schema: pa.Schema) -> pa.Table:
        """The rows with some of their columns.

        Raises:
            CorruptTable: they cannot be decoded.
        """
        with reading(self.source.path, "Parquet"):
            groups = read_row_groups(pa.BufferReader(self._data), self.source.footer.metadata, schema)
            return pa.concat_tables(groups)


@dataclass(frozen=True, slots=True)
class JoinedGroup:
    """A row group made of the rows of small files; an `EncodedRows` of `engine.rewrite.rolling`.

    Attributes:
        rows: number of rows.
        joined: the column chunks that were joined page by page, by the paths of their columns.
        others: the rows with the other columns; without any there is a column without a name.
        footers: of the files.
        bytes: bytes of the files.
    """

    rows: int
    joined: Mapping[str, JoinedChunk]
    others: pa.Table
    footers: Sequence[ParquetFooter]
    bytes: int

    @property
    def indexed(self) -> frozenset[str]:
        """Columns whose values are known."""
        return frozenset(self.others.column_names)

    @property
    def facts(self) -> list[pa.Table]:
        """The rows, from which metadata and indexes are computed."""
        return [self.others]

    @property
    def joined_bytes(self) -> int:
        """Bytes that are copied without decoding them."""
        return sum(each.chunk.pages.length or 0 for each in self.joined.values())


def joined_columns(files: Sequence[SmallFile], columns: Sequence[PagedColumn]) -> dict[str, JoinedChunk]:
    """The columns of files that can be joined page by page, by path, with pages that are large enough."""
    found = {}
    for column in columns:
        parts = _parts(files, column)
        pages = sum(len(part.pages) for part in parts)
        size = sum(integer_of(part.chunk.metadata, UNCOMPRESSED) for part in parts)
        if pages and size >= pages * SMALLEST_PAGE:
            try:
                found[column.schema.path] = JoinedChunk(parts, column)
            except Malformed:
                continue  # decoding may work, or tells what is wrong
    return found


def _parts(files: Sequence[SmallFile], column: PagedColumn) -> list[PagedChunk]:
    """The pages of a column in each file; none if any of them has to be decoded."""
    parts = []
    for file in files:
        part = file.paged(column)
        if part is None:
            return []
        parts.append(part)
    return parts


def _decoded(file: SmallFile, others: pa.Schema) -> pa.Table:
    """The rows of a file with some columns.

    Raises:
        CorruptTable: they cannot be decoded, or are not as many as the footer says.
    """
    with reading(file.source.path, "Parquet"):
        rows = file.decoded(others).cast(others)
    expected = file.source.footer.metadata.num_rows
    if rows.num_rows != expected:
        raise CorruptTable(file.source.path, f"it has {rows.num_rows} rows, its footer says {expected}")
    return rows


def joined_group(
    files: Sequence[SmallFile], joined: Mapping[str, JoinedChunk], others: pa.Schema
) -> JoinedGroup:
    """The rows of files as one row group.

    Args:
        files: files with one schema and codec.
        joined: the columns that are joined.
        others: the schema of the other columns' rows.

    Raises:
        CorruptTable: they cannot be decoded.
    """
    rows = sum(file.source.footer.row_groups[0].rows for file in files)
    if others.names:
        decoded = pa.concat_tables([_decoded(file, others) for file in files])
    else:
        decoded = pa.table([pa.nulls(rows)], [""])
    footers = [file.source.footer for file in files]
    return JoinedGroup(rows, joined, decoded, footers, sum(file.size for file in files))
