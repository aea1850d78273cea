"""Reads key-value data files as sorted runs of Arrow rows in the table's newest schema.

Called by a run's tasks; `FileRun` is a `RunSource` of `engine.rewrite`. Keys are read from the value columns,
as Java does, so files with and without `_KEY_` columns mix freely, and so do files of several formats.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import pyarrow as pa

from lithify.columns.key_range import EVERYTHING, FirstKeys, KeyRange
from lithify.columns.order import parts_of_column
from lithify.engine.rewrite.row_positions import (
    PLACE_FIELD,
    Positions,
    is_deleted,
    no_places,
    places,
)
from lithify.engine.rewrite.runs import Piece
from lithify.errors import CorruptTable
from lithify.files.casting import Cast, cast_between, reads_as
from lithify.files.model import (
    FileColumn,
    InputFile,
    Wanted,
)
from lithify.files.names import format_of
from lithify.files.nesting import nulls
from lithify.files.parquet.reader import ParquetReader
from lithify.files.registry import Readers
from lithify.files.types import field_ids
from lithify.files.variants.columns import merged_form
from lithify.files.variants.options import NOT_SHREDDED, VariantOptions
from lithify.formats.paimon.data_files.expired_rows import ExpiredRows
from lithify.formats.paimon.deletion_vectors.index_files import read_vector
from lithify.formats.paimon.schema.schema import SEQUENCE_NUMBER, Schema
from lithify.io.storage import Storage

_LEGACY_INSTANTS = "orc.timestamp-ltz.legacy.type"

_PROBED_BYTES = 4 << 20
"""Bytes of keys to read at a time where nothing else of a row group may be needed."""
_MAX_FILES_FOR_DICTIONARIES = 128
"""Maximum number of files that are searched for dictionaries."""


class Reading:
    """Settings for reading all files of one task, so that all rows have the same Arrow schema.

    Args:
        files: every file of the task.
        schemas: the schemas of the files, by id.
        newest: the newest schema, which the rows have.
        plain: columns that are never read as dictionaries because the merge compares them.
        storage: access to the files.
        keys: key range; rows outside may be left out.
        share: bytes to prefetch per run from storage where every read is a request.
        options: the table's options for shredding VARIANT columns.
        expired: filter of expired rows; None if rows of the table do not expire.
        has_places: whether the rows have a column with the places of those of numbered files (`ROW_PLACE`).
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
        options: VariantOptions = NOT_SHREDDED,
        expired: ExpiredRows | None = None,
        *,
        has_places: bool = False,
    ) -> None:
        self.storage = storage
        self.readers = Readers(storage, share, len(newest.columns))
        self._keys = keys
        self._newest = newest
        self.expired = expired
        self._stored = {number: _stored_columns(schema, newest) for number, schema in schemas.items()}
        self._casts = {number: _casts(columns, newest) for number, columns in self._stored.items()}
        self._needs_nothing = {number: _needs_nothing(cols, newest) for number, cols in self._stored.items()}
        self._fields = frozenset(each for column in newest.columns for each in field_ids(column.type))
        self._variants = self._forms(files, options)
        self.read_schema = newest.rows_schema(self._dictionaries(files) - set(plain), self._variants)
        self.schema = self.read_schema.append(PLACE_FIELD) if has_places else self.read_schema
        self.has_places = has_places

    @property
    def first_key(self) -> str:
        """Name of the first key column."""
        return self._newest.primary_key[0]

    def columns_of(self, file: InputFile, only: Container[str] | None = None) -> list[FileColumn | None]:
        """For each column of the rows, the file's column to read it from; None where it is missing.

        With `only`, other columns are not read and become null.
        """
        pairs = zip(self._stored[file.schema_id], self.read_schema, strict=True)
        return [
            None
            if column is None or (only is not None and field.name not in only)
            else replace(
                column,
                as_dictionary=pa.types.is_dictionary(field.type),
                variants=self._variants.get(field.name),
            )
            for column, field in pairs
        ]

    def casts_of(self, file: InputFile) -> Sequence[Cast | None]:
        """For each column of the rows, the cast from the file's type."""
        pairs = zip(self._casts[file.schema_id], self.read_schema, strict=True)
        return [None if field.name in self._variants else cast for cast, field in pairs]

    def are_all_stored(self, file: InputFile) -> bool:
        """Whether the file has every column of the rows, with a type whose values need no cast."""
        return self._needs_nothing[file.schema_id]

    def wanted(
        self,
        file: InputFile,
        piece_bytes: int,
        only: Container[str] | None = None,
        keys: KeyRange | None = None,
        among: FirstKeys | None = None,
    ) -> Wanted:
        """The request to read a file, for all columns or only the named ones, all keys or some.

        `keys` narrows the range, `among` leaves out other keys in it.
        """
        return Wanted(
            columns=[column for column in self.columns_of(file, only) if column is not None],
            first_key=self._first_key(file),
            keys=self._keys if keys is None else keys,
            piece_bytes=piece_bytes,
            instants_are_local=self._newest.options.get(_LEGACY_INSTANTS, "true").strip().lower() != "false",
            fields=self._fields,
            among=among,
        )

    def row_group(
        self, file: InputFile, number: int, only: Collection[str], piece_bytes: int
    ) -> Iterator[pa.Table]:
        """Reads the named columns of one row group, in pieces; of files that need no cast.

        Raises:
            CorruptTable: the file cannot be read.
        """
        wanted = replace(self.wanted(file, piece_bytes, only), row_groups=[number])
        for batch in self.readers.of(file.path).batches(file, wanted):
            yield pa.Table.from_batches([batch])

    def _first_key(self, file: InputFile) -> FileColumn | None:
        """The first key column as the file has it; None in tables without a primary key."""
        if not self._newest.primary_key:
            return None
        position = [column.name for column in self._newest.columns].index(self._newest.primary_key[0])
        return self._stored[file.schema_id][position] or FileColumn("", self._newest.key_types[0])

    def without_places(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows whose places nobody asks for, in `schema`."""
        return rows.append_column(PLACE_FIELD, no_places(rows.num_rows)) if self.has_places else rows

    def _forms(self, files: Sequence[InputFile], options: VariantOptions) -> dict[str, pa.DataType]:
        """Arrow types of VARIANT columns that are read shredded; inferred from the largest file."""
        forms = {}
        for position, column in enumerate(self._newest.columns):
            if column.type.root == "VARIANT":
                stored = self._largest_stored(files, position) if options.inference else None
                forms[column.name] = merged_form(column.name, options, stored)
        return {name: form for name, form in forms.items() if form is not None}

    def _largest_stored(self, files: Sequence[InputFile], position: int) -> pa.DataType | None:
        """The type of a column in the largest file that has it."""
        found = ((file, self._stored[file.schema_id][position]) for file in files)
        having = [(file.size, file.path, column.name) for file, column in found if column is not None]
        if not having:
            return None
        _, path, name = max(having)
        return self.readers.of(path).stored_type(path, name)

    def _dictionaries(self, files: Sequence[InputFile]) -> set[str]:
        """Text columns with dictionaries in all files: merging their codes is several times faster."""
        if len(files) > _MAX_FILES_FOR_DICTIONARIES:
            return set()
        names = {column.name for column in self._newest.columns if column.type.is_bytes}
        for (schema_id, _), alike in _grouped(files).items():
            paths = [file.path for file in alike]
            stored = self.readers.of(paths[0]).columns_with_dictionary(paths)
            pairs = zip(self._stored[schema_id], self._newest.columns, strict=False)
            names &= {
                column.name
                for old, column in pairs
                if old is None or (old.name in stored and reads_as(old.type, column.type))
            }
        return names


class FileRun:
    """A sorted run: a sequence of data files.

    Args:
        files: in key order.
        reading: how all files of the task are read.
        only: the columns to read, None for all; the others are null.
        row_groups: by the paths of Parquet files, the row groups to read; all of other files.
        keys: rows outside this range may be left out, None for the range of the task.
        among: keys whose rows are needed; others may be left out. None if all are needed.
    """

    def __init__(
        self,
        files: Sequence[InputFile],
        reading: Reading,
        only: Container[str] | None = None,
        row_groups: Mapping[str, Collection[int]] | None = None,
        keys: KeyRange | None = None,
        among: FirstKeys | None = None,
    ) -> None:
        self._files = files
        self._reading = reading
        self._only = only
        self._row_groups = row_groups or {}
        self._keys = keys
        self._among = among

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self._files)

    @cached_property
    def overhead(self) -> int:
        """Memory in bytes that an open reader holds, the maximum over all files."""
        return max(self._reading.readers.of(file.path).overhead(file) for file in self._files)

    def pieces(self, piece_bytes: int) -> Iterator[Piece]:
        """Yields the rows of all files in key order; may omit rows outside the task's key range.

        Raises:
            MissingFile: a file does not exist.
            CorruptTable: a file cannot be read, or its row count differs from its manifest entry.
        """
        for file in self._files:
            for batch in self._batches(file, piece_bytes):
                yield Piece(_numbered(batch, file.sequence), file.run, file.path)

    def _batches(self, file: InputFile, piece_bytes: int) -> Iterator[pa.RecordBatch]:
        columns, casts = self._reading.columns_of(file, self._only), self._reading.casts_of(file)
        wanted = self._reading.wanted(file, piece_bytes, self._only, self._keys, self._among)
        wanted = replace(wanted, row_groups=self._row_groups.get(file.path))
        reader, schema = self._reading.readers.of(file.path), self._reading.read_schema
        if self._among is not None and self._only is None and isinstance(reader, ParquetReader):
            groups = reader.row_groups(file, wanted)
            wanted = replace(wanted, row_groups=[each for each in groups if self._has_keys(file, each)])
        place = self._places(file, wanted)
        are_stored = self._only is None and self._reading.are_all_stored(file)
        # Readers may return columns in the file's own order, whatever the order of the rows is now.
        names = [column.name for column in columns if column is not None] if are_stored else None
        for batch in reader.batches(file, wanted):
            if batch.schema.names == names and batch.schema.types == schema.types:
                arrays = batch.columns
            else:
                both = zip(columns, casts, schema, strict=True)
                arrays = [_column(batch, *each, file.path) for each in both]
            rows = place(pa.RecordBatch.from_arrays(arrays, schema=schema))
            if self._among is not None:
                first = parts_of_column(rows.column(self._reading.first_key))[0]
                rows = rows.filter(self._among.among(first))
            expired = self._reading.expired
            yield rows if expired is None else expired.leave_out(rows)

    def _has_keys(self, file: InputFile, row_group: int) -> bool:
        """Whether a row group has any of the needed keys: its bounds may lie around them only."""
        first, path = {self._reading.first_key}, file.path
        probe = FileRun([file], self._reading, first, {path: (row_group,)}, self._keys, self._among)
        return any(piece.rows.num_rows for piece in probe.pieces(_PROBED_BYTES))

    def _places(self, file: InputFile, wanted: Wanted) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        """A function for consecutive batches that leaves out deleted rows, and adds the places of rows."""
        reading = self._reading
        number = file.number if reading.has_places else None
        if file.vector is None and number is None:
            return reading.without_places
        positions = Positions(reading.readers.of(file.path).spans(file, wanted))
        deleted = None if file.vector is None else read_vector(reading.storage, file.vector, file).positions

        def place(rows: pa.RecordBatch) -> pa.RecordBatch:
            numbers = positions.take(rows.num_rows)
            if deleted is not None:
                stays = ~is_deleted(numbers, deleted)
                rows, numbers = rows.filter(pa.array(stays)), numbers[stays]
            if number is None:
                return reading.without_places(rows)
            return rows.append_column(PLACE_FIELD, places(number, numbers))

        return place


def _grouped(files: Sequence[InputFile]) -> dict[tuple[int, str], list[InputFile]]:
    """Groups files by schema and format."""
    groups: dict[tuple[int, str], list[InputFile]] = {}
    for file in files:
        groups.setdefault((file.schema_id, format_of(file.path)), []).append(file)
    return groups


def _numbered(batch: pa.RecordBatch, sequence: int | None) -> pa.RecordBatch:
    """The rows, with all sequence numbers replaced by `sequence` if it is not None."""
    if sequence is None:
        return batch
    numbers = pa.repeat(pa.scalar(sequence, pa.int64()), batch.num_rows)
    arrays = [
        numbers if field.name == SEQUENCE_NUMBER else column
        for field, column in zip(batch.schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _stored_columns(file_schema: Schema, newest: Schema) -> list[FileColumn | None]:
    """For each column of the rows, the matching column in files of `file_schema`, None where it is missing.

    Columns are matched by field id, so columns may have been renamed, moved, added or dropped.
    """
    stored = {column.id: FileColumn(column.name, column.type) for column in file_schema.columns}
    system = [FileColumn(name, kind) for name, kind in newest.system_columns.items()]
    return [*(stored.get(column.id) for column in newest.columns), *system]


def _casts(stored: Sequence[FileColumn | None], newest: Schema) -> list[Cast | None]:
    types = [*(column.type for column in newest.columns), *newest.system_columns.values()]
    pairs = zip(stored, types, strict=True)
    return [cast_between(column.type, kind) if column else None for column, kind in pairs]


def _needs_nothing(stored: Sequence[FileColumn | None], newest: Schema) -> bool:
    """Whether the values of all columns can be read unchanged."""
    types = [*(column.type for column in newest.columns), *newest.system_columns.values()]
    pairs = zip(stored, types, strict=True)
    return all(column is not None and reads_as(column.type, kind) for column, kind in pairs)


def _column(
    batch: pa.RecordBatch, column: FileColumn | None, cast: Cast | None, field: pa.Field, path: str
) -> pa.Array:
    """One column of the rows.

    Raises:
        CorruptTable: the type of the column was changed, and a value does not fit into the new one.
    """
    if column is None:
        return nulls(batch.num_rows, field.type)
    values = batch.column(column.name)
    try:
        return cast(values) if cast else values
    except pa.ArrowInvalid as error:
        problem = f"column {field.name}: a value cannot be converted to the column's new type ({error})"
        raise CorruptTable(path, problem) from error
