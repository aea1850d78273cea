"""Writes one data file; an `OpenFile` of `engine.rewrite.rolling`.

Opened by `new_files`. Rows come with the columns of the target, in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.engine.rewrite.rolling import EncodedRows
from lithify.errors import CorruptTable
from lithify.files.model import FormatWriter, Unwritable
from lithify.files.options import FileOptions
from lithify.files.orc.footers import OrcFooters
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.joining_writer import JoiningWriter
from lithify.files.parquet.writer import ParquetWriter
from lithify.files.registry import open_writer
from lithify.formats.iceberg.model import FileMetrics, NewDataFile, Partition
from lithify.formats.iceberg.rewriting.encoded_rows import CopiedRows, JoinedRows
from lithify.formats.iceberg.rewriting.metrics import MetricsBuilder, leaf_fields
from lithify.formats.iceberg.rewriting.row_metrics import RowMetrics
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
        self._partition = partition
        self._target = target
        self._storage = storage
        self._schema = target.file_schema
        self._rows_schema: pa.Schema | None = None
        self._metrics: MetricsBuilder | RowMetrics
        self._open(path, target.options.files, like)

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
        with reporting(self._path):
            try:
                self._writer.write(in_file)
            except Unwritable:
                self._start_over_in_parquet()
                self._writer.write(in_file)
        self._metrics.add(in_file)
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
        metrics, starts = self._told()
        return NewDataFile(
            path=self._path,
            format=self._options.format,
            size=size,
            rows=self._writer.rows,
            partition=self._partition,
            metrics=metrics,
            split_offsets=starts,
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

    def _open(self, path: str, options: FileOptions, like: RowGroupSource | None = None) -> None:
        self._path, self._options = path, options
        self._new_file = self._storage.create(path)
        columns, types = self._target.columns, self._target.types
        modes = self._target.options.metrics
        if options.format == "parquet":
            self._metrics = MetricsBuilder(leaf_fields(columns), modes)
        else:
            self._metrics = RowMetrics(columns, modes)
        self._writer: FormatWriter
        if like is not None:
            self._writer = JoiningWriter(self._new_file.sink, options, types, like)
        else:
            self._writer = open_writer(self._new_file.sink, options, path, types)

    def _start_over_in_parquet(self) -> None:
        """Replaces the file by a Parquet file with the rows so far, since Parquet holds every value."""
        written, path, file = self._writer, self._path, self._new_file
        self._finish()
        try:
            self._open(in_parquet(path), self._options.in_parquet())
            if self._rows_schema is not None:
                with self._storage.open(path) as source:
                    for rows in written.read_back(source, self._rows_schema):
                        self._metrics.add(_in_file(rows, self._schema))
                        self._writer.write(_in_file(rows, self._schema))
        finally:
            file.give_up()

    def _told(self) -> tuple[FileMetrics, tuple[int, ...]]:
        """Metrics of the finished file, and where its row groups or stripes begin."""
        writer, metrics = self._writer, self._metrics
        if isinstance(metrics, MetricsBuilder) and isinstance(writer, ParquetWriter | JoiningWriter):
            return metrics.finish(writer.footer), tuple(_starts(writer.footer))
        orc = OrcFooters(self._storage).of(self._path) if self._options.format == "orc" else None
        return self._metrics.finish(orc), () if orc is None else orc.starts

    def _copy(self, rows: CopiedRows, writer: JoiningWriter) -> None:
        source, number = rows.group.source, rows.group.number
        if rows.lineage is None:
            writer.copy(source, number)
        else:
            writer.copy_beside(source, number, _in_file(rows.lineage, self._schema))
        self._add_copied(source.footer.metadata, number)

    def _join(self, rows: JoinedRows, writer: JoiningWriter) -> None:
        """Adds joined pages; floats among them are known by the statistics of the files."""
        others = rows.group.others
        if rows.lineage is not None:
            for column, field in zip(rows.lineage.columns, rows.lineage.schema, strict=True):
                others = others.append_column(field, column)
        writer.join(rows.group, _in_file(others, self._schema, rows.group.joined))
        for footer in rows.group.footers:
            self._add_copied(footer.metadata, 0)

    def _add_copied(self, footer: pq.FileMetaData, row_group: int) -> None:
        if isinstance(self._metrics, MetricsBuilder):
            self._metrics.add_copied(footer, row_group)

    def _check_required(self, rows: pa.Table) -> None:
        for field, column in zip(rows.schema, rows.columns, strict=True):
            if not field.nullable and column.null_count:
                raise CorruptTable(self._target.folder, f"column {field.name} is required, and null in a row")

    def _finish(self) -> int:
        with reporting(self._path):
            size = self._writer.finish()
            self._new_file.sink.close()
        return size


def in_parquet(path: str) -> str:
    """The path of the Parquet file that replaces a file of another format."""
    return f"{path.rpartition('.')[0]}.parquet"


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
