"""Writes one data file; an `OpenFile` of `engine.rewrite.rolling`.

Opened by `new_files`. Rows come with the columns of the target, in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.engine.rewrite.rolling import EncodedRows
from lithify.errors import CorruptTable
from lithify.files.orc.footers import OrcFooters
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.joining_writer import JoiningWriter
from lithify.files.parquet.leaf_fields import leaf_fields
from lithify.files.parquet.writer import ParquetWriter
from lithify.files.row_file import RowFile, as_fields
from lithify.formats.iceberg.model import FileMetrics, NewDataFile, Partition
from lithify.formats.iceberg.rewriting.encoded_rows import CopiedRows, JoinedRows
from lithify.formats.iceberg.rewriting.metrics import MetricsBuilder
from lithify.formats.iceberg.rewriting.row_metrics import RowMetrics
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.io.storage import Storage, reporting


class OpenDataFile(RowFile):
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
        self._schema = target.file_schema
        self._metrics: MetricsBuilder | RowMetrics
        super().__init__(storage, path, target.options.files, target.types, like)

    def write(self, rows: pa.Table) -> None:
        """Writes rows as one row group.

        Raises:
            CorruptTable: a column that is required has a null.
            StorageError: the file cannot be written.
        """
        self._check_required(rows)
        self._write(rows)

    def copy(self, rows: EncodedRows) -> None:
        """Adds rows of other files without decoding all of them.

        Raises:
            CorruptTable: a file contradicts its footer.
            StorageError: the file cannot be written.
        """
        writer = self._joining()
        with reporting(self._path):
            if isinstance(rows, CopiedRows):
                self._copy(rows, writer)
            elif isinstance(rows, JoinedRows):
                self._join(rows, writer)
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

    def _in_file(self, rows: pa.Table, without: Collection[str] = ()) -> pa.Table:
        """Rows with the columns that they share with the file, with field ids."""
        fields = [
            field for field in self._schema if field.name in rows.column_names and field.name not in without
        ]
        return as_fields(rows, [field.name for field in fields], fields)

    def _opened(self) -> None:
        columns, modes = self._target.columns, self._target.options.metrics
        if self._options.format == "parquet":
            self._metrics = MetricsBuilder(leaf_fields(columns), modes)
        else:
            self._metrics = RowMetrics(columns, modes)

    def _added(self, in_file: pa.Table) -> None:
        self._metrics.add(in_file)

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
            writer.copy_beside(source, number, self._in_file(rows.lineage))
        self._add_copied(source.footer.metadata, number)

    def _join(self, rows: JoinedRows, writer: JoiningWriter) -> None:
        """Adds joined pages; floats among them are known by the statistics of the files."""
        others = rows.group.others
        if rows.lineage is not None:
            for column, field in zip(rows.lineage.columns, rows.lineage.schema, strict=True):
                others = others.append_column(field, column)
        writer.join(rows.group, self._in_file(others, rows.group.joined))
        for footer in rows.group.footers:
            self._add_copied(footer.metadata, 0)

    def _add_copied(self, footer: pq.FileMetaData, row_group: int) -> None:
        if isinstance(self._metrics, MetricsBuilder):
            self._metrics.add_copied(footer, row_group)

    def _check_required(self, rows: pa.Table) -> None:
        for field, column in zip(rows.schema, rows.columns, strict=True):
            if not field.nullable and column.null_count:
                raise CorruptTable(self._target.folder, f"column {field.name} is required, and null in a row")


def _starts(footer: pq.FileMetaData) -> Sequence[int]:
    """The first byte of each row group."""
    first = (footer.row_group(number).column(0) for number in range(footer.num_row_groups))
    return [
        min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset) for chunk in first
    ]
