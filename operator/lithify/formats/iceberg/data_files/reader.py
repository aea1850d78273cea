"""Reads data files, and delete files with rows, in the columns of a schema, whatever schema they have.

Called by `deletes` for key columns and by tasks for whole rows. Parquet is decoded piece by piece, so memory
is bounded by the size of a piece, the pages that a reader holds, and dictionaries.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import pyarrow as pa

from lithify.columns.key_range import EVERYTHING, FirstKeys, KeyRange
from lithify.engine.rewrite.row_positions import Positions
from lithify.errors import UnsupportedTable
from lithify.files.model import FileColumn, InputFile, Wanted
from lithify.files.orc.reader import OrcReader
from lithify.files.parquet.reader import ParquetReader
from lithify.files.registry import Readers
from lithify.files.types import Field, arrow_type
from lithify.formats.iceberg.data_files.mapped_columns import MappedColumns
from lithify.formats.iceberg.data_files.projection import filled, repeated
from lithify.formats.iceberg.data_files.shared_texts import LONG_CODES, shared_texts
from lithify.formats.iceberg.data_files.stored import (
    NameMapping,
    Stored,
    required_ids,
    stored_columns,
    zone_mismatches,
)
from lithify.formats.iceberg.model import DataFile, DeleteFile, PartitionValue
from lithify.io.storage import Storage

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
        among: the only ones of them that are; None for all.
    """

    columns: Sequence[Field]
    piece_bytes: int = 1 << 20
    row_groups: Collection[int] | None = None
    dictionaries: Collection[str] = ()
    key: Field | None = None
    keys: KeyRange = EVERYTHING
    among: FirstKeys | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """What all files of a task have in common.

    Attributes:
        required: field ids of columns, and of parts of them, that are required by the schemas of all files.
            Spark writes columns as required in which its query has no nulls, although those of the table are
            not.
        texts: names of text columns that all files have with small dictionaries, which repeat texts of a file
            or of others.
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
        self._last_schema: tuple[pa.Schema, NameMapping | None, tuple[Stored, ...]] | None = None
        self._last_mapped: MappedColumns | None = None

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
        reader, mapped = self.readers.of(file.path), self._mapped(file.path, request)
        if isinstance(reader, OrcReader):
            _check_zones(file.path, mapped.found, request.columns)
        missing = partial(self._missing, file)
        for batch in reader.batches(_input(file), self._wanted(request, mapped)):
            yield mapped.rows(batch, file.path, missing)

    def positions(self, file: DataFile | DeleteFile, request: Request) -> Positions:
        """The positions of the rows that `batches` returns."""
        wanted = self._wanted(request, self._mapped(file.path, request))
        return Positions(self.readers.of(file.path).spans(_input(file), wanted))

    def survey(self, files: Sequence[DataFile], columns: Sequence[Field]) -> Survey:
        """Reads the footers of all files once, and says what they have in common."""
        required: frozenset[int] | None = None
        texts = [column for column in columns if column.type.is_string]
        shares: dict[int, float] = dict.fromkeys((column.id for column in texts), 0.0)
        is_read_next = self._can_hold(files)
        for file in files:
            if parquet := self.parquet(file.path):
                parquet.footers.of(file.path, is_read_next=is_read_next)
            stored = self.stored(file.path)
            found = required_ids(stored)
            required = found if required is None else required & found
            if shares:
                of_file = self._code_shares(file.path, stored)
                greatest = {
                    number: max(share, of_file.get(number, math.inf)) for number, share in shares.items()
                }
                shares = {number: share for number, share in greatest.items() if share <= LONG_CODES}
        known = frozenset(column.name for column in texts if shares.get(column.id, 2) <= _SHORT_CODES)
        left = [column for column in texts if column.id in shares and column.name not in known]
        return Survey(required or frozenset(), known | shared_texts(files, left, self._texts))

    def _can_hold(self, files: Sequence[DataFile]) -> bool:
        """Whether small files that are read at once with their footers are still there for their rows."""
        parquet = self.parquet(files[0].path) if files else None
        return parquet is None or parquet.footers.can_hold(file.size for file in files)

    def _code_shares(self, path: str, stored: Sequence[Stored]) -> dict[int, float]:
        """Code bits of columns with small dictionaries as a share of those of distinct values, by id."""
        parquet = self.parquet(path)
        shares = {} if parquet is None else parquet.footers.code_shares(path)
        return {column.id: shares[column.name] for column in stored if column.name in shares}

    def _texts(self, file: DataFile, columns: Sequence[Field]) -> Iterator[pa.RecordBatch]:
        """Columns with their dictionaries."""
        return self.batches(file, Request(columns, dictionaries=[column.name for column in columns]))

    def _mapped(self, path: str, request: Request) -> MappedColumns:
        """How the columns of a file are read, the last one again for files of the same schema."""
        asked = self.stored(path), request.columns, request.dictionaries
        mapped = self._last_mapped
        if mapped is None or not mapped.is_of(*asked):
            mapped = self._last_mapped = MappedColumns(*asked)
        return mapped

    def _wanted(self, request: Request, mapped: MappedColumns) -> Wanted:
        key = request.key and next((each for each in mapped.stored if each.id == request.key.id), None)
        return Wanted(
            columns=mapped.wanted,
            first_key=FileColumn(key.name, request.key.type) if key and request.key else None,
            keys=request.keys if key else EVERYTHING,
            piece_bytes=request.piece_bytes,
            row_groups=request.row_groups,
            among=request.among if key else None,
        )

    def _missing(self, file: DataFile | DeleteFile, rows: int, column: Field) -> pa.Array:
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
        schema = reader.schema(path)
        last = self._last_schema
        if last is None or last[1] is not mapping or not schema.equals(last[0], check_metadata=True):
            last = self._last_schema = schema, mapping, stored_columns(schema, mapping)
        return last[2]


def _check_zones(path: str, found: Sequence[Stored | None], columns: Sequence[Field]) -> None:
    pairs = [(stored, column) for stored, column in zip(found, columns, strict=True) if stored is not None]
    if names := [name for stored, column in pairs for name in zone_mismatches(stored, column)]:
        problem = "the ORC file and the table disagree whether its timestamps have a time zone"
        raise UnsupportedTable(path, tuple(f"column {name}: {problem}" for name in names))


def _plain(value: PartitionValue) -> object:
    return getattr(value, "bytes", value)


def _input(file: DataFile | DeleteFile) -> InputFile:
    """A file as readers of formats know it; whatever its keys are, they may be left out by their bounds."""
    return InputFile(file.path, file.size, file.rows, schema_id=0, run=0, is_inside=False)
