"""Writes one data file; an `OpenFile` of `engine.rewrite.rolling`.

Opened by `new_files`. Rows come with the columns of the target, in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.engine.rewrite.rolling import EncodedRows
from lithify.errors import CorruptTable
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.joining_writer import JoiningWriter
from lithify.files.parquet.writer import ParquetWriter
from lithify.formats.iceberg.model import NewDataFile, Partition
from lithify.formats.iceberg.rewriting.encoded_rows import CopiedRows, JoinedRows
from lithify.formats.iceberg.rewriting.metrics import MetricsBuilder, leaf_fields
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.io.storage import Storage, reporting


class OpenDataFile:
    """One data file being written.

    Args:
        path: its path.
        partition: its partition.
        target: columns and options.
        storage: access to the file system.
        like: a file like the new one; then row groups can be copied into it.
    """

    def __init__(
        self,
        path: str,
        partition: Partition,
        target: WriteTarget,
        storage: Storage,
        like: RowGroupSource | None = None,
    ) -> None:
        self._path = path
        self._partition = partition
        self._target = target
        self._storage = storage
        self._schema = target.file_schema
        self._metrics = MetricsBuilder(leaf_fields(target.columns), target.options.metrics)
        self._rows_schema: pa.Schema | None = None
        self._new_file = storage.create(path)
        sink, options, types = self._new_file.sink, target.options.files, target.types
        self._writer: ParquetWriter | JoiningWriter
        if like is None:
            self._writer = ParquetWriter(sink, options, types)
        else:
            self._writer = JoiningWriter(sink, options, types, like)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._writer.size

    def write(self, rows: pa.Table) -> None:
        """Writes rows as one row group.

        Raises:
            CorruptTable: a column that is required has a null.
            StorageError: the file cannot be written.
        """
        self._check_required(rows)
        in_file = _in_file(rows, self._schema)
        self._metrics.add(in_file)
        with reporting(self._path):
            self._writer.write(in_file)
        self._rows_schema = rows.schema

    def copy(self, rows: EncodedRows) -> None:
        """Adds rows of other files without decoding all of them.

        Raises:
            CorruptTable: a file contradicts its footer.
            StorageError: the file cannot be written.
        """
        if not isinstance(self._writer, JoiningWriter):
            raise TypeError(f"{self._path} was not opened for copies")
        with reporting(self._path):
            if isinstance(rows, CopiedRows):
                self._copy(rows, self._writer)
            elif isinstance(rows, JoinedRows):
                self._join(rows, self._writer)
            else:
                raise TypeError(f"{type(rows).__name__} cannot be added to {self._path}")
        self._rows_schema = self._rows_schema or self._target.schema.rows_schema(self._target.lineage)

    def close(self) -> NewDataFile:
        """Finishes the file on storage and returns its metadata.

        Raises:
            StorageError: it cannot be written.
        """
        size = self._finish()
        self._storage.persist([self._path])
        footer = self._writer.footer
        return NewDataFile(
            path=self._path,
            format="parquet",
            size=size,
            rows=self._writer.rows,
            partition=self._partition,
            metrics=self._metrics.finish(footer),
            split_offsets=tuple(_starts(footer)),
            sort_order_id=self._target.sort_order_id,
        )

    def read_back(self) -> Iterator[pa.Table]:
        """Finishes the file and yields the rows written; only `abort` may follow."""
        self._finish()
        if self._rows_schema is None:
            return
        with reporting(self._path), self._storage.open(self._path) as source:
            yield from self._writer.read_back(source, self._rows_schema)

    def abort(self) -> None:
        """Abandons and deletes the file."""
        self._writer.abort()
        self._new_file.give_up()

    def _copy(self, rows: CopiedRows, writer: JoiningWriter) -> None:
        source, number = rows.group.source, rows.group.number
        if rows.lineage is None:
            writer.copy(source, number)
        else:
            writer.copy_beside(source, number, _in_file(rows.lineage, self._schema))
        self._metrics.add_copied(source.footer.metadata, number)

    def _join(self, rows: JoinedRows, writer: JoiningWriter) -> None:
        """Adds joined pages; floats among them are known by the statistics of the files."""
        others = rows.group.others
        if rows.lineage is not None:
            for column, field in zip(rows.lineage.columns, rows.lineage.schema, strict=True):
                others = others.append_column(field, column)
        writer.join(rows.group, _in_file(others, self._schema, rows.group.joined))
        for footer in rows.group.footers:
            self._metrics.add_copied(footer.metadata, 0)

    def _check_required(self, rows: pa.Table) -> None:
        for field, column in zip(rows.schema, rows.columns, strict=True):
            if not field.nullable and column.null_count:
                raise CorruptTable(self._target.folder, f"column {field.name} is required, and null in a row")

    def _finish(self) -> int:
        with reporting(self._path):
            size = self._writer.finish()
            self._new_file.sink.close()
        return size


def _in_file(rows: pa.Table, schema: pa.Schema, without: Collection[str] = ()) -> pa.Table:
    """Rows with the columns that they share with the file, with field ids; dictionaries stay."""
    rows = rows.unify_dictionaries()
    fields = [field for field in schema if field.name in rows.column_names and field.name not in without]
    columns = [rows.column(field.name) for field in fields]
    return pa.table(columns, schema=pa.schema([*map(_as_it_comes, fields, columns)]))


def _as_it_comes(field: pa.Field, column: pa.ChunkedArray) -> pa.Field:
    return field.with_type(column.type) if pa.types.is_dictionary(column.type) else field


def _starts(footer: pq.FileMetaData) -> Sequence[int]:
    """The first byte of each row group."""
    first = (footer.row_group(number).column(0) for number in range(footer.num_row_groups))
    return [
        min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset) for chunk in first
    ]
