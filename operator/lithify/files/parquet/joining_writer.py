"""Writes a Parquet file whose row groups are copied from other files, joined from pages or encoded from rows.

Opened by adapters for outputs into which they copy row groups; a `FormatWriter`. Rows are encoded by the
ordinary writer into memory, one row group at a time, and copied from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.files.options import FileOptions
from lithify.files.parquet.copying.copier import ChunkSource, RowGroupCopier
from lithify.files.parquet.copying.footers import ColumnChunk
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.int96 import with_fixed_bytes
from lithify.files.parquet.small_files import JoinedGroup
from lithify.files.parquet.sound_statistics import flat_columns, is_flat
from lithify.files.parquet.statistics import footer_stats
from lithify.files.parquet.writer import ParquetWriter, read_row_groups
from lithify.files.statistics import ColumnStats
from lithify.files.types import ColumnType


class JoiningWriter:
    """Writes one Parquet file without VARIANT columns.

    Args:
        sink: output stream.
        options: file options.
        types: the types of the columns.
        like: a file with the schema of this one; see `encoded`.
    """

    def __init__(
        self,
        sink: pa.NativeFile,
        options: FileOptions,
        types: Mapping[str, ColumnType],
        like: RowGroupSource,
    ) -> None:
        self._options = options
        self._types = types
        self._copier = RowGroupCopier(sink, like)
        schema = like.footer.metadata.schema
        self._columns = [schema.column(number) for number in range(len(schema))]
        self._footer: pq.FileMetaData | None = None

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._copier.size

    @property
    def rows(self) -> int:
        """Rows written so far."""
        return self._copier.rows

    def write(self, rows: pa.Table) -> None:
        """Adds one row group."""
        self._copier.append(encoded(rows, self._options, self._types))

    def copy(self, source: RowGroupSource, row_group: int) -> None:
        """Adds a row group of a file.

        Raises:
            CorruptTable: the file contradicts its footer.
        """
        self._copier.append(source, [row_group])

    def copy_beside(self, source: RowGroupSource, row_group: int, others: pa.Table) -> None:
        """Adds a row group of a file, with some columns encoded instead.

        Args:
            source: the file; it may lack columns among `others`, and has all others as this file has them.
            row_group: its number.
            others: the columns that are encoded, in the order of the file.

        Raises:
            CorruptTable: the file contradicts its footer.
        """
        group = source.footer.row_groups[row_group]
        schema = source.footer.metadata.schema
        paths = [schema.column(number).path for number in range(len(schema))]
        found: dict[str, tuple[ChunkSource, ColumnChunk]] = {
            path: (source, chunk) for path, chunk in zip(paths, group.chunks, strict=True)
        }
        types = {name: kind for name, kind in self._types.items() if name in others.column_names}
        new = encoded(others, self._options, types)
        (encoded_group,) = new.footer.row_groups
        found |= {
            name: (new, chunk) for name, chunk in zip(others.column_names, encoded_group.chunks, strict=True)
        }
        chunks = [found[column.path] for column in self._columns]
        self._copier.append_columns(group.rows, chunks, [source.footer, new.footer])

    def join(self, group: JoinedGroup, others: pa.Table) -> None:
        """Adds a row group of which some columns are joined page by page.

        Args:
            group: the joined columns, by name.
            others: the other columns in the order of the file, as the file has them.
        """
        footers = [*group.footers]
        chunks: list[tuple[ChunkSource, ColumnChunk]] = []
        if others.num_columns:
            types = {name: kind for name, kind in self._types.items() if name in others.column_names}
            source = encoded(others, self._options, types)
            (row_group,) = source.footer.row_groups
            chunks = [(source, chunk) for chunk in row_group.chunks]
            footers.append(source.footer)
        # By position: a column named "a.b" and the part b of a column a have the same path.
        for number, column in enumerate(self._columns):
            joined = group.joined.get(column.path) if is_flat(column) else None
            if joined is not None:
                chunks.insert(number, (joined, joined.chunk))
        self._copier.append_columns(group.rows, chunks, footers)

    def finish(self) -> int:
        """Writes the footer; returns the size of the file."""
        if self._footer is None:
            self._copier.finish()
            self._footer = self._copier.metadata
        return self.size

    @property
    def footer(self) -> pq.FileMetaData:
        """The footer of the finished file."""
        return self._copier.metadata

    def column_stats(self, name: str, column: ColumnType) -> ColumnStats:
        """The statistics in the footer; none for nested columns, floats and nanoseconds."""
        if self._footer is None or column.is_nested or column.is_nanos:
            return ColumnStats()
        return footer_stats(self._footer, self._indexes[name], column)

    @cached_property
    def _indexes(self) -> Mapping[str, int]:
        """The index of each column in the footer, by its name; not of nested columns."""
        return flat_columns(self._copier.metadata)

    def read_back(self, source: pa.NativeFile, rows_schema: pa.Schema) -> Iterator[pa.Table]:
        """Iterates over the row groups."""
        footer = with_fixed_bytes(pq.read_metadata(source))
        for rows in read_row_groups(source, footer, rows_schema):
            yield rows.cast(rows_schema)

    def abort(self) -> None:
        """Does nothing: only the sink is open, which is the caller's."""


def encoded(rows: pa.Table, options: FileOptions, types: Mapping[str, ColumnType]) -> RowGroupSource:
    """A file in memory with one row group; without rows it only has the schema."""
    sink = pa.BufferOutputStream()
    writer = ParquetWriter(sink, options, types)
    writer.write(rows)
    writer.finish()
    return RowGroupSource(pa.BufferReader(sink.getvalue()), "a row group in memory")
