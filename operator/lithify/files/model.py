"""The interface of all formats of data files: how a file is read, and how one is written.

Implemented by the packages beside this module, called by adapters. Knows no format.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from lithify.columns.key_range import EVERYTHING, FirstKeys, KeyRange
from lithify.errors import CorruptTable
from lithify.files.statistics import ColumnStats
from lithify.files.types import (
    AS_STORED,
    ColumnType,
    Field,
    Raw,
    order_parts,
)


@dataclass(frozen=True, slots=True)
class VectorLocation:
    """Where the deletion vector of a data file is.

    Attributes:
        path: the file that has it.
        offset: its first byte.
        length: its length, as the table format counts it.
    """

    path: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class InputFile:
    """A data file to be read.

    Attributes:
        path: path of the file; its extension names the format.
        size: bytes.
        rows: number of rows according to the manifest.
        schema_id: the schema that the file was written with.
        run: run number in the whole unit.
        is_inside: whether all keys of the file are in the range that the task merges.
        sequence: sequence number assigned to all rows of the file, None if each row has its own.
        is_copyable: whether its row groups may be copied as they are where no other run has their keys; not
            if it has a vector.
        vector: the deletion vector of the file; None if none of its rows is deleted.
        number: number by which a merge identifies rows of the file, None if it need not (`positions`).
    """

    path: str
    size: int
    rows: int
    schema_id: int
    run: int
    is_inside: bool = True
    sequence: int | None = None
    is_copyable: bool = False
    vector: VectorLocation | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column as a data file has it, which may differ from the newest schema.

    Attributes:
        name: name of the column in the file.
        type: its type in the schema that the file was written with.
        as_dictionary: whether to read it dictionary-encoded.
        variants: the form in which to return its VARIANTs, None for unshredded values.
    """

    name: str
    type: ColumnType
    as_dictionary: bool = False
    variants: pa.DataType | None = None


def typed_as_stored(columns: Sequence[FileColumn], stored: Iterable[Field]) -> Sequence[FileColumn]:
    """The columns, with the types that the file has for those that declare none."""
    types = {field.name: field.type for field in stored}
    return [
        replace(column, type=types[column.name]) if column.type is AS_STORED else column for column in columns
    ]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to read of a data file.

    Attributes:
        columns: the columns, in the order of the rows.
        first_key: the first column of the key; None if rows have no key, and then `keys` is everything.
        keys: rows outside this range may be skipped.
        piece_bytes: upper bound of a batch's size.
        instants_are_local: whether instants in ORC files depend on time zones, as in old Java versions.
        fields: ids of the ROW fields that still exist, None for all of them.
        row_groups: the row groups to read of a Parquet file, None for all.
        among: rows whose key begins with none of these values may be skipped; None if all rows are wanted.
    """

    columns: Sequence[FileColumn]
    first_key: FileColumn | None
    keys: KeyRange = EVERYTHING
    piece_bytes: int = 1 << 20
    instants_are_local: bool = False
    fields: frozenset[int] | None = None
    row_groups: Collection[int] | None = None
    among: FirstKeys | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns in the file."""
        return [column.name for column in self.columns]

    def parts_of(self, column: ColumnType) -> Iterator[Field]:
        """The parts of a nested type, except fields that were dropped from the table."""
        for part in column.fields:
            if self.fields is None or part.id < 0 or part.id in self.fields:
                yield part

    def may_hold(self, low: Raw, high: Raw) -> bool:
        """Whether rows whose first key column lies between two values may be wanted."""
        after, upto = self.keys.after, self.keys.upto
        if self.first_key is None:
            return True
        least, most = (order_parts(self.first_key.type, bound)[:1] for bound in (low, high))
        is_inside = (after is None or most >= after[:1]) and (upto is None or least <= upto[:1])
        return is_inside and (self.among is None or self.among.any_within(least[0], most[0]))


class Unwritable(Exception):
    """A format, or the library that writes it, cannot represent a value."""


class FormatReader(Protocol):
    """Reads the files of one format for one task; caches footers and the like."""

    def overhead(self, file: InputFile) -> int:
        """Bytes that an open file takes in addition to the batches returned.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read.
        """
        ...

    def columns_with_dictionary(self, paths: Collection[str]) -> frozenset[str]:
        """Text columns with many repeated values in all of these files that can be read as dictionaries."""
        ...

    def stored_type(self, path: str, column: str) -> pa.DataType | None:
        """The type of a column in the file if it may differ from the declared one, else None."""
        ...

    def schema(self, path: str) -> pa.Schema:
        """The columns of a file as they are stored, with the field ids that it has for them.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read.
            UnsupportedTable: this release cannot read one of its types.
        """
        ...

    def holds_any(self, path: str, column: FileColumn, values: Collection[int]) -> bool:
        """Whether any row has one of the values in a column of small integers without nulls."""
        ...

    def spans(self, file: InputFile, wanted: Wanted) -> Sequence[tuple[int, int]]:
        """First row and number of rows of each part of the file that `batches` reads, in their order."""
        ...

    def batches(self, file: InputFile, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Reads the requested columns of all rows that may be in the range, under the file's names.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read, or its number of rows differs from the manifest entry.
        """
        ...


class FormatWriter(Protocol):
    """Writes one file. The rows come with the columns of the file, in its order."""

    @property
    def size(self) -> int:
        """Bytes written so far."""
        ...

    @property
    def rows(self) -> int:
        """Rows written so far."""
        ...

    def write(self, rows: pa.Table) -> None:
        """Adds rows, as one unit of the format (a row group, a stripe) if it has units.

        Raises:
            Unwritable: the format cannot represent a value; nothing was added.
        """
        ...

    def finish(self) -> int:
        """Writes the footer; returns the file's size in bytes."""
        ...

    def column_stats(self, name: str, column: ColumnType) -> ColumnStats:
        """Statistics of a column of the finished file."""
        ...

    def read_back(self, source: pa.NativeFile, rows_schema: pa.Schema) -> Iterator[pa.Table]:
        """Iterates over the rows of the finished file, unit by unit, in the form of `rows_schema`."""
        ...

    def abort(self) -> None:
        """Releases resources without finishing the file."""
        ...


def check_rows(file: InputFile, rows: int) -> None:
    """Checks the number of rows of a file against its manifest entry.

    Raises:
        CorruptTable: they differ.
    """
    if rows != file.rows:
        raise CorruptTable(file.path, f"it has {rows} rows, its manifest entry says {file.rows}")
