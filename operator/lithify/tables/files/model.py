"""What all formats of data files have in common: how a file is read, and how one is written.

Implemented by the packages beside this module, called by `reader`, `writer` and the job's planner. Knows no
format.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.rewriting.runs import EVERYTHING, KeyRange
from lithify.tables.files.statistics import ColumnStats
from lithify.tables.files.types import ColumnType, Field, Raw, order_parts


@dataclass(frozen=True, slots=True)
class InputFile:
    """A data file to be read.

    Attributes:
        path: where it is; the end of its name says which format it has.
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


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column as a data file has it, which need not be what the newest schema says.

    Attributes:
        name: what the file calls it.
        type: its type in the schema that the file was written with.
        as_dictionary: whether it is to be read dictionary-encoded.
        variants: the form in which its VARIANTs are wanted, None for whole ones.
    """

    name: str
    type: ColumnType
    as_dictionary: bool = False
    variants: pa.DataType | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be read of a data file.

    Attributes:
        columns: the columns, in the order of the rows.
        first_key: the first column of the key.
        keys: rows outside this range may be left out.
        piece_bytes: how large a batch should be at most.
        instants_are_local: whether instants in ORC files depend on time zones, which was Java's old way.
        fields: ids of the fields of ROWs that the rows still have, None for all of them.
    """

    columns: Sequence[FileColumn]
    first_key: FileColumn
    keys: KeyRange = EVERYTHING
    piece_bytes: int = 1 << 20
    instants_are_local: bool = False
    fields: frozenset[int] | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns in the file."""
        return [column.name for column in self.columns]

    def parts_of(self, column: ColumnType) -> Iterator[Field]:
        """The parts of a nested type, but for fields that the table has no more."""
        for part in column.fields:
            if self.fields is None or part.id < 0 or part.id in self.fields:
                yield part

    def may_hold(self, low: Raw, high: Raw) -> bool:
        """Whether rows whose first key column lies between two values may be in the range."""
        after, upto = self.keys.after, self.keys.upto
        least, most = (order_parts(self.first_key.type, bound)[:1] for bound in (low, high))
        return (after is None or most >= after[:1]) and (upto is None or least <= upto[:1])


class Unwritable(Exception):
    """A format cannot hold a value, or what writes it for us cannot write it."""


class FormatReader(Protocol):
    """Reads the files of one format for one task; keeps what it has learnt of them."""

    def overhead(self, file: InputFile) -> int:
        """Bytes that an open file takes besides the batches handed out.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read.
        """
        ...

    def columns_with_dictionary(self, paths: Collection[str]) -> frozenset[str]:
        """Columns of text that repeat themselves in all of these files and can be read as dictionaries."""
        ...

    def stored_type(self, path: str, column: str) -> pa.DataType | None:
        """The type that a file has for a column, which may be another than is declared; None if it is not."""
        ...

    def holds_any(self, path: str, column: FileColumn, values: Collection[int]) -> bool:
        """Whether any row of a file has one of some values in a column of small integers without nulls."""
        ...

    def batches(self, file: InputFile, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """The wanted columns of all rows that may be in the range, under the names that the file gives them.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read, or has not the rows that its manifest entry says.
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
        """Adds rows, as one unit of the format (a row group, a stripe) where it has any.

        Raises:
            Unwritable: there is a value that the format cannot hold; nothing was added.
        """
        ...

    def finish(self) -> int:
        """Writes what stands at the end of a file; returns the file's size."""
        ...

    def column_stats(self, name: str, column: ColumnType) -> ColumnStats:
        """What the finished file tells of one of its columns."""
        ...

    def read_back(self, source: pa.NativeFile, rows_schema: pa.Schema) -> Iterator[pa.Table]:
        """Yields what was written to the finished file, by units, in the form of `rows_schema`."""
        ...

    def abort(self) -> None:
        """Lets go of what it holds, without finishing anything."""
        ...


def check_rows(file: InputFile, rows: int) -> None:
    """Makes sure that a file has the rows that its manifest entry says.

    Raises:
        CorruptTable: it has not.
    """
    if rows != file.rows:
        raise CorruptTable(file.path, f"it has {rows} rows, its manifest entry says {file.rows}")
