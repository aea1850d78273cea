"""Writes Parquet files as Java Paimon's readers of all versions understand them.

Opened by `registry`, a `FormatWriter`. Every write is a row group.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lithify.tables.paimon.formats.parquet.statistics import footer_stats
from lithify.tables.paimon.options import FileOptions, ParquetOptions
from lithify.tables.paimon.statistics import ColumnStats
from lithify.tables.paimon.types import ColumnType

_CODECS = {"none": "none", "uncompressed": "none", "lz4_raw": "lz4"}
"""Paimon's names of codecs that PyArrow calls differently."""

_PAGE_BYTES = 256 << 10
"""About what 20,000 rows of a narrow column take, parquet-mr's limit; readers hold a page of each column."""

_DICTIONARY_BYTES = 1 << 20
_MAX_ROWS_PER_CHECK = 32_768
_SAMPLE_ROWS = 16_384
_REPETITIONS = 4
"""A column gets a dictionary if the first rows hold each value so many times on average."""


class ParquetWriter:
    """Writes one Parquet file.

    Args:
        sink: where to.
        options: how.
    """

    def __init__(self, sink: pa.NativeFile, options: FileOptions) -> None:
        self._sink = sink
        self._options = options
        self._footers: list[pq.FileMetaData] = []
        self._writer: pq.ParquetWriter | None = None
        self.rows = 0

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        """Adds one row group."""
        if self._writer is None:
            self._writer = _opened(self._sink, rows, self._options, self._footers)
        self._writer.write_table(rows, row_group_size=rows.num_rows)
        self.rows += rows.num_rows

    def finish(self) -> int:
        """Writes the footer; returns the size of the file."""
        if self._writer is not None:
            self._writer.close()
        return self.size

    def column_stats(self, name: str, column: ColumnType) -> ColumnStats:
        """What the footer says of a column, which is not one of floats."""
        (footer,) = self._footers
        return footer_stats(footer, footer.schema.names.index(name), column)

    def read_back(self, source: pa.NativeFile, rows_schema: pa.Schema) -> Iterator[pa.Table]:
        """Yields the row groups."""
        names = rows_schema.names
        dictionaries = [field.name for field in rows_schema if pa.types.is_dictionary(field.type)]
        parquet = pq.ParquetFile(source, read_dictionary=dictionaries, pre_buffer=False)
        for number in range(parquet.num_row_groups):
            rows = parquet.read_row_group(number, columns=names, use_threads=False)
            yield rows.select(names).cast(rows_schema)

    def abort(self) -> None:
        """Keeps PyArrow from finishing the file when it collects the writer, and from complaining."""
        if self._writer is not None:
            self._writer.is_open = False


def _opened(
    sink: pa.NativeFile, first: pa.Table, options: FileOptions, footers: list[pq.FileMetaData]
) -> pq.ParquetWriter:
    """A writer whose encodings suit the first rows.

    Dictionaries are used for columns that repeat themselves only: elsewhere they cost time and, once they
    overflow, space. Wide decimals never get one: Java Paimon looks for the shortest bytes of a number among
    the padded ones of a dictionary, so that `=` and `in` would find nothing. Other encodings are smaller, but
    Java Paimon cannot read them before 1.1. Floats go without statistics, for the reason that `FloatStats`
    tells.
    """
    codec = _CODECS.get(options.compression, options.compression)
    allowed = [name for name in first.column_names if _may_have_dictionary(name, options.parquet)]
    dictionary = [name for name in allowed if _gets_dictionary(first.column(name))]
    page = options.parquet.page or _PAGE_BYTES
    return pq.ParquetWriter(
        sink,
        first.schema,
        compression=codec,
        compression_level=options.zstd_level if codec == "zstd" else None,
        use_dictionary=dictionary,
        data_page_size=page,
        write_batch_size=_rows_per_check(first, page),
        dictionary_pagesize_limit=options.parquet.dictionary or _DICTIONARY_BYTES,
        store_schema=False,
        store_decimal_as_integer=True,
        write_statistics=[field.name for field in first.schema if not pa.types.is_floating(field.type)],
        write_page_index=True,
        metadata_collector=footers,
    )


def _gets_dictionary(column: pa.ChunkedArray) -> bool:
    if pa.types.is_dictionary(column.type):
        return True
    if pa.types.is_decimal(column.type) and column.type.precision > 18:
        return False
    sample = column.slice(0, _SAMPLE_ROWS)
    return bool(pc.count_distinct(sample, mode="all").as_py() * _REPETITIONS <= len(sample))


def _may_have_dictionary(column: str, options: ParquetOptions) -> bool:
    return options.by_column.get(column, options.dictionaries)


def _rows_per_check(rows: pa.Table, page: int) -> int:
    """After how many rows PyArrow looks at the size of a page: seldom, yet often enough for wide columns."""
    widest = max(column.nbytes for column in rows.columns) / max(1, rows.num_rows)
    return max(1, min(_MAX_ROWS_PER_CHECK, int(page / max(1.0, widest))))
