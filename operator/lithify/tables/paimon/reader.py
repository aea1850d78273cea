"""Reads key-value data files as sorted runs of Arrow rows in the table's newest schema.

Called by the job's tasks; `ParquetRun` is a `RunSource` of `rewriting`. Keys are read from the value columns,
as Java does, so files with and without `_KEY_` columns mix freely.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.errors import CorruptTable
from lithify.rewriting.runs import EVERYTHING, KeyRange, Piece
from lithify.tables.paimon.footers import FETCH_BYTES, MOST_FETCHED, Footers, reading
from lithify.tables.paimon.schema import SEQUENCE_NUMBER, VALUE_KIND, Schema
from lithify.tables.paimon.statistics import raw_bounds
from lithify.tables.paimon.storage import Storage
from lithify.tables.paimon.types import ColumnType, order_parts

_MAX_FILES_FOR_DICTIONARIES = 64
"""Footers are only searched for dictionaries where there are few of them."""


_SIP_BYTES = 64 << 10
"""Bytes that PyArrow asks for at a time where what was fetched is kept elsewhere."""

_FEW_ROWS = 1024
"""So many rows are decoded at a time where they may be of any width."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A data file to be read.

    Attributes:
        path: where it is.
        size: bytes.
        rows: rows that the manifest promises.
        schema_id: the schema that it was written with.
        run: run number in the whole unit.
        is_inside: whether all of its keys are in the range that the task merges.
        sequence: the sequence number that all of its rows count as having, None for each its own.
    """

    path: str
    size: int
    rows: int
    schema_id: int
    run: int
    is_inside: bool = True
    sequence: int | None = None


class Reading:
    """How all files of one task are read, so that the rows of all of them have the same Arrow schema.

    Args:
        files: every file of the task.
        schemas: the schemas that they were written with, by id.
        newest: the schema of the rows.
        plain: columns that the merge compares, which are never read as dictionaries.
        storage: access to the files.
        keys: row groups outside this range are left out.
        share: bytes that may be fetched in advance for one run, where every fetch is a request.
    """

    def __init__(
        self,
        files: Sequence[InputFile],
        schemas: Mapping[int, Schema],
        newest: Schema,
        plain: Sequence[str],
        storage: Storage,
        keys: KeyRange = EVERYTHING,
        share: int = 0,
    ) -> None:
        self.storage = storage
        self._keys = keys
        self.footers = Footers(storage, _fetched(storage, share, len(newest.columns)))
        self._newest = newest
        self._mappings = {number: _column_mapping(schema, newest) for number, schema in schemas.items()}
        self.schema = newest.rows_schema(self._dictionaries(files) - set(plain))

    def columns_of(self, file: InputFile) -> list[str | None]:
        """The name that each column of the rows has in the file; None where it is missing."""
        return self._mappings[file.schema_id]

    def dictionaries_of(self, file: InputFile) -> list[str]:
        """The file's names of the columns that are read as dictionaries."""
        pairs = zip(self.columns_of(file), self.schema, strict=True)
        return [name for name, field in pairs if name is not None and pa.types.is_dictionary(field.type)]

    def row_groups_of(self, file: InputFile) -> list[int]:
        """The row groups of a file that may hold keys of the range, by the first column of the key."""
        footer = self.footers.of(file.path)
        if file.is_inside or self._keys == EVERYTHING:
            return list(range(footer.num_row_groups))
        first = self._newest.column(self._newest.primary_key[0])
        position = self._newest.columns.index(first)
        name = self._mappings[file.schema_id][position]
        return [
            number
            for number in range(footer.num_row_groups)
            if self._may_hold_keys(self.footers.statistics(file.path, number, name), first.type)
        ]

    def _may_hold_keys(self, statistics: pq.Statistics | None, column: ColumnType) -> bool:
        bounds = raw_bounds(statistics, column)
        if bounds is None:
            return True
        low, high = (order_parts(column, bound)[:1] for bound in bounds)
        after, upto = self._keys.after, self._keys.upto
        return (after is None or high >= after[:1]) and (upto is None or low <= upto[:1])

    def _dictionaries(self, files: Sequence[InputFile]) -> set[str]:
        """Text columns that repeat themselves in all files: merging their codes is several times faster."""
        if len(files) > _MAX_FILES_FOR_DICTIONARIES:
            return set()
        names = {column.name for column in self._newest.columns if column.type.is_bytes}
        for schema_id, mapping in self._mappings.items():
            paths = [file.path for file in files if file.schema_id == schema_id]
            stored = self.footers.columns_with_dictionary(paths)
            pairs = zip(mapping, self._newest.columns, strict=False)
            names &= {column.name for name, column in pairs if name is None or name in stored}
        return names


class ParquetRun:
    """A sorted run: Parquet files one after the other."""

    def __init__(self, files: Sequence[InputFile], reading_: Reading) -> None:
        self._files = files
        self._reading = reading_

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self._files)

    @cached_property
    def overhead(self) -> int:
        """The decoded page, dictionary and fetched bytes of every column of the widest file."""
        return max(self._reading.footers.overhead(file.path) for file in self._files)

    def pieces(self, piece_bytes: int) -> Iterator[Piece]:
        """Yields the rows of all files in key order, but for row groups outside the task's key range.

        Raises:
            MissingFile: a file does not exist.
            CorruptTable: a file cannot be read, or has not the rows that its manifest entry says.
        """
        for file in self._files:
            for batch in self._batches(file, piece_bytes):
                yield Piece(_numbered(batch, file.sequence), file.run, file.path)

    def _batches(self, file: InputFile, piece_bytes: int) -> Iterator[pa.RecordBatch]:
        columns, schema = self._reading.columns_of(file), self._reading.schema
        footer = self._reading.footers.of(file.path)
        if footer.num_rows != file.rows:
            problem = f"it has {footer.num_rows} rows, its manifest entry says {file.rows}"
            raise CorruptTable(file.path, problem)
        names = [name for name in columns if name is not None]
        dictionaries = self._reading.dictionaries_of(file)
        how = self._reading.footers.fetching(file.path)
        with reading(file.path), self._reading.storage.open(file.path, file.size, how) as source:
            parquet = pq.ParquetFile(
                source,
                metadata=footer,
                read_dictionary=dictionaries,
                buffer_size=FETCH_BYTES if self._reading.storage.is_local else _SIP_BYTES,
                pre_buffer=False,
            )
            groups = self._reading.row_groups_of(file)
            rows = self._rows_at_once(file, set(names) - set(dictionaries), piece_bytes)
            batches = parquet.iter_batches(rows, row_groups=groups, columns=names, use_threads=False)
            for batch in _gathered(batches, piece_bytes // 2):
                pairs = zip(columns, schema, strict=True)
                arrays = [_column(batch, name, field) for name, field in pairs]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _rows_at_once(self, file: InputFile, plain: Collection[str], piece_bytes: int) -> int:
        """How many rows to decode at a time: about a piece, and few where nobody knows how wide they are.

        A dictionary that is not read as one hides how long the values are that it stands for; `plain` are the
        columns that may have such.
        """
        footers = self._reading.footers
        rows = max(1, int(piece_bytes / max(1.0, footers.bytes_per_row(file.path))))
        hidden = footers.bytes_behind_dictionaries(file.path, plain)
        return min(rows, max(_FEW_ROWS, piece_bytes // hidden)) if hidden else rows


def _fetched(storage: Storage, share: int, columns: int) -> int:
    """Bytes of a column chunk to fetch at a time."""
    if storage.is_local:
        return FETCH_BYTES
    return max(FETCH_BYTES, min(MOST_FETCHED, share // max(1, columns)))


def _gathered(batches: Iterable[pa.RecordBatch], enough: int) -> Iterator[pa.RecordBatch]:
    """Puts batches together until they have so many bytes; those that have are left as they are."""
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        gathered.append(batch)
        size += batch.nbytes
        if size >= enough:
            yield pa.concat_batches(gathered) if len(gathered) > 1 else batch
            gathered, size = [], 0
    if gathered:
        yield pa.concat_batches(gathered)


def _numbered(batch: pa.RecordBatch, sequence: int | None) -> pa.RecordBatch:
    """The rows with one sequence number for all of them, if there is one."""
    if sequence is None:
        return batch
    numbers = pa.repeat(pa.scalar(sequence, pa.int64()), batch.num_rows)
    arrays = [
        numbers if field.name == SEQUENCE_NUMBER else column
        for field, column in zip(batch.schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _column_mapping(file_schema: Schema, newest: Schema) -> list[str | None]:
    """For each column of the rows the name that it has in files of `file_schema`, None where it is missing.

    Columns are matched by field id, so renamed, moved, added and dropped columns are all right.
    """
    names = {column.id: column.name for column in file_schema.columns}
    return [*(names.get(column.id) for column in newest.columns), SEQUENCE_NUMBER, VALUE_KIND]


def _column(batch: pa.RecordBatch, name: str | None, field: pa.Field) -> pa.Array:
    if name is None:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(name)
    return column if column.type == field.type else column.cast(field.type)
