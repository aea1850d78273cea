"""Reads key-value data files as sorted runs of Arrow rows in the table's newest schema.

Called by the job's tasks (`ParquetRun`, a `RunSource` of `rewriting`) and by the driver (`holds_deletes`).
Keys are read from the value columns, as Java does, so files with and without `_KEY_` columns mix freely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lithify.errors import CorruptTable, MissingFile, StorageError
from lithify.rewriting.runs import Piece
from lithify.rewriting.spec import RETRACTS
from lithify.tables.paimon.schema import SEQUENCE_NUMBER, VALUE_KIND, Schema
from lithify.tables.paimon.storage import Storage

_BUFFER = 256 << 10
"""Bytes of each column chunk that are fetched at a time; whole chunks would not fit for many runs."""

_JAVA_PAGE_ROWS = 20_000
_PAGE_BYTES = 1 << 20
_MIN_PAGE_ROWS = 100
"""parquet-mr ends a page at 1 MiB or 20,000 rows, but looks at its size only every 100 rows."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A data file to be read.

    Attributes:
        path: where it is.
        size: bytes.
        rows: rows that the manifest promises.
        schema_id: the schema that it was written with.
        run: run number in the whole unit.
    """

    path: str
    size: int
    rows: int
    schema_id: int
    run: int


class ParquetRun:
    """A sorted run: Parquet files one after the other."""

    def __init__(
        self, files: Sequence[InputFile], schemas: Mapping[int, Schema], newest: Schema, storage: Storage
    ) -> None:
        self._files = files
        self._schemas = schemas
        self._newest = newest
        self._storage = storage
        self.rows_read = 0

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self._files)

    @property
    def overhead(self) -> int:
        """The decoded page, dictionary and fetched bytes of every column of the widest file."""
        return max(self._overhead_of(file) for file in self._files)

    def pieces(self, piece_bytes: int) -> Iterator[Piece]:
        """Yields the rows of all files in key order.

        Raises:
            MissingFile: a file does not exist.
            CorruptTable: a file cannot be read, or has fewer rows than its manifest entry says.
        """
        for file in self._files:
            rows = 0
            for batch in self._batches(file, piece_bytes):
                rows += batch.num_rows
                self.rows_read += batch.num_rows
                yield Piece(batch, np.full(batch.num_rows, file.run, dtype=np.int64), file.path)
            if rows != file.rows:
                raise CorruptTable(file.path, f"it has {rows} rows, its manifest entry says {file.rows}")

    def _batches(self, file: InputFile, piece_bytes: int) -> Iterator[pa.RecordBatch]:
        columns = column_mapping(self._schemas[file.schema_id], self._newest)
        schema = self._newest.rows_schema()
        names = [name for name in columns if name is not None]
        with _reading(file.path), self._storage.open(file.path) as source:
            parquet = pq.ParquetFile(source, buffer_size=_BUFFER, pre_buffer=False)
            rows = max(1, int(piece_bytes / max(1.0, _bytes_per_row(parquet.metadata))))
            for batch in parquet.iter_batches(rows, columns=names, use_threads=False):
                arrays = [_column(batch, name, field) for name, field in zip(columns, schema, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _overhead_of(self, file: InputFile) -> int:
        with _reading(file.path), self._storage.open(file.path) as source:
            footer = pq.read_metadata(source)
        return max((_row_group_overhead(footer, group) for group in range(footer.num_row_groups)), default=0)


def column_mapping(file_schema: Schema, newest: Schema) -> list[str | None]:
    """For each column of the rows the name that it has in files of `file_schema`, None where it is missing.

    Columns are matched by field id, so renamed, moved, added and dropped columns are all right.
    """
    names = {column.id: column.name for column in file_schema.columns}
    return [*(names.get(column.id) for column in newest.columns), SEQUENCE_NUMBER, VALUE_KIND]


def holds_deletes(file: InputFile, storage: Storage) -> bool:
    """Whether any row of a file retracts its key, whatever its metadata claims.

    The Parquet statistics of `_VALUE_KIND` usually tell; else the column, which is tiny, is read.

    Raises:
        MissingFile: the file does not exist.
        CorruptTable: it cannot be read.
    """
    with _reading(file.path), storage.open(file.path) as source:
        parquet = pq.ParquetFile(source)
        largest = _largest_kind(parquet.metadata)
        if largest is not None and (largest == 0 or largest in RETRACTS):
            return largest != 0
        kinds = parquet.read([VALUE_KIND], use_threads=False).column(0)
        return bool(pc.any(pc.is_in(kinds, pa.array(RETRACTS, kinds.type))).as_py())


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Names the file when it cannot be read."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except (pa.ArrowException, OSError, EOFError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(path, error.strerror or str(error)) from error
        raise CorruptTable(path, f"it cannot be read as Parquet ({error})") from error


def _column(batch: pa.RecordBatch, name: str | None, field: pa.Field) -> pa.Array:
    if name is None:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(name)
    return column if column.type == field.type else column.cast(field.type)


def _bytes_per_row(footer: pq.FileMetaData) -> float:
    """Uncompressed bytes a row, as far as the footer tells (dictionaries hide some)."""
    total = sum(footer.row_group(group).total_byte_size for group in range(footer.num_row_groups))
    return float(total / max(1, footer.num_rows))


def _row_group_overhead(footer: pq.FileMetaData, number: int) -> int:
    group = footer.row_group(number)
    return sum(_column_overhead(group.column(index), group.num_rows) for index in range(group.num_columns))


def _column_overhead(chunk: pq.ColumnChunkMetaData, rows: int) -> int:
    """Estimates what decoding one column chunk holds: a page, the dictionary, and what was fetched."""
    plain, compressed = int(chunk.total_uncompressed_size), int(chunk.total_compressed_size)
    width = plain / max(1, rows)
    page = max(min(_PAGE_BYTES, width * _JAVA_PAGE_ROWS), width * _MIN_PAGE_ROWS)
    dictionary = 0
    if chunk.has_dictionary_page:
        stored = int(chunk.data_page_offset - (chunk.dictionary_page_offset or chunk.data_page_offset))
        dictionary = stored * plain // max(1, compressed)
    return min(plain, int(page)) + 2 * dictionary + min(compressed, _BUFFER)


def _largest_kind(footer: pq.FileMetaData) -> int | None:
    largest = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        index = next(i for i in range(group.num_columns) if group.column(i).path_in_schema == VALUE_KIND)
        statistics = group.column(index).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        largest = max(largest, int(statistics.max))
    return largest
