"""Reads data files, and delete files with rows, in the columns of a schema, whatever schema they have.

Called by `deletes` for key columns and by tasks for whole rows. Parquet is decoded piece by piece, so memory
is bounded by the size of a piece, the pages that a reader holds, and dictionaries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.engine.rewrite.row_positions import Positions
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.model import FileColumn, InputFile, Wanted
from lithify.files.orc.reader import OrcReader
from lithify.files.parquet.reader import ParquetReader
from lithify.files.registry import Readers
from lithify.files.types import AS_STORED, Field, arrow_type
from lithify.formats.iceberg.data_files.projection import filled, projected, repeated
from lithify.formats.iceberg.data_files.stored import (
    NameMapping,
    Stored,
    required_ids,
    stored_columns,
    zone_mismatches,
)
from lithify.formats.iceberg.model import DataFile, DeleteFile, PartitionValue
from lithify.io.storage import Storage

_CODED = pa.dictionary(pa.int32(), pa.string())
"""The type of text columns that are read with dictionaries."""
_SHORT_CODES = 0.9
"""The same as in `footers` where rows are only joined: to unite the dictionaries of a row group takes less
than looking for repeated texts again."""
_KEPT = 512
"""Files whose columns are remembered."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to read of a file.

    Attributes:
        columns: the columns of the rows, in their order.
        piece_bytes: upper bound of a batch's size.
        row_groups: numbers of the row groups to read, None for all.
        dictionaries: names of text columns to read with dictionaries.
        key: a column by whose bounds row groups are left out that have none of `keys`.
        keys: its values that are asked for.
    """

    columns: Sequence[Field]
    piece_bytes: int = 1 << 20
    row_groups: Collection[int] | None = None
    dictionaries: Collection[str] = ()
    key: Field | None = None
    keys: KeyRange = EVERYTHING


@dataclass(frozen=True, slots=True)
class Survey:
    """What all files of a task have in common.

    Attributes:
        required: field ids of columns, and of parts of them, that are required by the schemas of all files.
            Spark writes columns as required in which its query has no nulls, although those of the table are
            not.
        texts: names of text columns that all files have with small dictionaries.
    """

    required: frozenset[int]
    texts: frozenset[str]


class FileReader:
    """Reads files of one table.

    Args:
        storage: access to the files.
        mapping: the table's name mapping, for files without field ids.
        constants: values of identity partition fields that files may lack, by partition spec: for each spec
            the places of its fields by field id.
        share: bytes to prefetch where every read is a request.
        columns: number of columns of the table.
        formats: formats of the files, by path.
        names: the names of the table's columns, for ORC and Avro files without field ids where the table has
            no name mapping.
    """

    def __init__(
        self,
        storage: Storage,
        mapping: NameMapping | None = None,
        constants: Mapping[int, Mapping[int, int]] | None = None,
        share: int = 0,
        columns: int = 1,
        formats: Mapping[str, str] | None = None,
        names: NameMapping | None = None,
    ) -> None:
        self.storage = storage
        self.readers = Readers(storage, share, columns, formats)
        self._mapping = mapping
        self._names = names
        self._constants = constants or {}
        self._columns_of = lru_cache(_KEPT)(self._read_columns)

    def stored(self, path: str) -> tuple[Stored, ...]:
        """The columns of a file.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read.
            UnsupportedTable: this release cannot read one of its types.
        """
        return self._columns_of(path)

    def parquet(self, path: str) -> ParquetReader | None:
        """The reader of a file if it is Parquet, else None."""
        reader = self.readers.of(path)
        return reader if isinstance(reader, ParquetReader) else None

    def overhead(self, file: DataFile) -> int:
        """Bytes that an open file takes in addition to the batches."""
        return self.readers.of(file.path).overhead(_input(file))

    def batches(self, file: DataFile | DeleteFile, request: Request) -> Iterator[pa.RecordBatch]:
        """The rows of a file in the asked columns, with the names and types of the table.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read, or its columns are not those of the table.
            UnsupportedTable: an ORC file has a timestamp without time zone in place of one with it.
        """
        reader, stored = self.readers.of(file.path), self.stored(file.path)
        by_id = {column.id: (column, place) for place, column in enumerate(stored)}
        found = [by_id.get(column.id, (None, 0))[0] for column in request.columns]
        if isinstance(reader, OrcReader):
            _check_zones(file.path, found, request.columns)
        wanted = self._wanted(request, found, stored)
        schema = None
        for batch in reader.batches(_input(file), wanted):
            arrays = [
                self._column(batch, file, column, field, is_coded=field.name in request.dictionaries)
                for column, field in zip(found, request.columns, strict=True)
            ]
            if schema is None:
                schema = _schema(request.columns, arrays)
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def positions(self, file: DataFile | DeleteFile, request: Request) -> Positions:
        """The positions of the rows that `batches` returns."""
        found = {column.id: column for column in self.stored(file.path)}
        columns = [found.get(column.id) for column in request.columns]
        wanted = self._wanted(request, columns, self.stored(file.path))
        return Positions(self.readers.of(file.path).spans(_input(file), wanted))

    def survey(self, files: Sequence[DataFile], columns: Sequence[Field]) -> Survey:
        """Reads the footers of all files once, and says what they have in common."""
        required: frozenset[int] | None = None
        texts = {column.name for column in columns if column.type.is_string}
        for file in files:
            stored = self.stored(file.path)
            found = required_ids(stored)
            required = found if required is None else required & found
            if texts:
                by_id = {column.id: column.name for column in stored}
                having = self._with_dictionaries(file.path)
                texts &= {column.name for column in columns if by_id.get(column.id) in having}
        return Survey(required or frozenset(), frozenset(texts))

    def _with_dictionaries(self, path: str) -> frozenset[str]:
        parquet = self.parquet(path)
        if parquet is None:
            return frozenset()
        return parquet.footers.columns_with_dictionary([path], _SHORT_CODES)

    def _wanted(self, request: Request, found: Sequence[Stored | None], stored: Sequence[Stored]) -> Wanted:
        by_name = {  # two parts of one struct are read at once
            column.name: FileColumn(column.name, AS_STORED, as_dictionary=field.name in request.dictionaries)
            for column, field in zip(found, request.columns, strict=True)
            if column is not None
        }
        columns = [*by_name.values()]
        if not columns:  # the number of rows still counts
            columns = [FileColumn(stored[0].name, AS_STORED)]
        key = next((each for each in stored if request.key and each.id == request.key.id), None)
        return Wanted(
            columns=columns,
            first_key=FileColumn(key.name, request.key.type) if key and request.key else None,
            keys=request.keys if key else EVERYTHING,
            piece_bytes=request.piece_bytes,
            row_groups=request.row_groups,
        )

    def _column(
        self,
        batch: pa.RecordBatch,
        file: DataFile | DeleteFile,
        stored: Stored | None,
        column: Field,
        *,
        is_coded: bool,
    ) -> pa.Array:
        if stored is None:
            values = self._missing(batch.num_rows, file, column)
            return values.dictionary_encode() if is_coded else values
        values = batch.column(stored.name)
        if is_coded and values.type == _CODED:
            return values
        try:
            values = projected(values, stored, column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            kind = arrow_type(column.type)
            problem = f"column {column.name} has values that are none of type {kind} ({error})"
            raise CorruptTable(file.path, problem) from error
        return values.dictionary_encode() if is_coded else values

    def _missing(self, rows: int, file: DataFile | DeleteFile, column: Field) -> pa.Array:
        places = self._constants.get(file.partition.spec_id, {})
        if column.id in places:
            value = file.partition.values[places[column.id]]
            return repeated(_plain(value), arrow_type(column.type), rows)
        return filled(rows, column)

    def _read_columns(self, path: str) -> tuple[Stored, ...]:
        reader = self.readers.of(path)
        mapping = self._mapping
        if mapping is None and not isinstance(reader, ParquetReader):
            mapping = self._names
        return stored_columns(reader.schema(path), mapping)


def _check_zones(path: str, found: Sequence[Stored | None], columns: Sequence[Field]) -> None:
    pairs = [(stored, column) for stored, column in zip(found, columns, strict=True) if stored is not None]
    if names := [name for stored, column in pairs for name in zone_mismatches(stored, column)]:
        problem = "the ORC file and the table disagree whether its timestamps have a time zone"
        raise UnsupportedTable(path, tuple(f"column {name}: {problem}" for name in names))


def _plain(value: PartitionValue) -> object:
    return getattr(value, "bytes", value)


def _schema(columns: Sequence[Field], arrays: Sequence[pa.Array]) -> pa.Schema:
    pairs = zip(columns, arrays, strict=True)
    return pa.schema([pa.field(column.name, array.type, column.type.nullable) for column, array in pairs])


def _input(file: DataFile | DeleteFile) -> InputFile:
    """A file as readers of formats know it; whatever its keys are, they may be left out by their bounds."""
    return InputFile(file.path, file.size, file.rows, schema_id=0, run=0, is_inside=False)
