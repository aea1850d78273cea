"""A new file of rows on storage, in the format of its options, or in Parquet if that cannot hold a value.

Base of the data files of adapters, which add what their metadata says of the rows; an `OpenFile` of
`engine.rewrite.rolling` in all else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import pyarrow as pa

from lithify.files.model import FormatWriter, Unwritable
from lithify.files.options import FileOptions
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.joining_writer import JoiningWriter
from lithify.files.registry import open_writer
from lithify.files.types import ColumnType
from lithify.files.variants.columns import is_shredded
from lithify.io.storage import Storage, reporting


class RowFile(ABC):
    """A file being written.

    Args:
        storage: access to the file system.
        path: its path; another one ends in `.parquet` if the file starts over.
        options: how it is written.
        types: the types of its columns, by name.
        like: a Parquet file like it; then row groups can be copied into it.
    """

    def __init__(
        self,
        storage: Storage,
        path: str,
        options: FileOptions,
        types: dict[str, ColumnType],
        like: RowGroupSource | None = None,
    ) -> None:
        self._storage = storage
        self._types = types
        self._rows_schema: pa.Schema | None = None
        self._open(path, options, like)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._writer.size

    def read_back(self) -> Iterator[pa.Table]:
        """Finishes the file and yields the rows written, unit by unit; only `abort` may follow."""
        self._finish()
        if self._rows_schema is None:
            return
        with reporting(self._path), self._storage.open(self._path) as source:
            yield from self._writer.read_back(source, self._rows_schema)

    def abort(self) -> None:
        """Abandons and deletes the file."""
        self._writer.abort()
        self._new_file.give_up()

    @abstractmethod
    def _in_file(self, rows: pa.Table) -> pa.Table:
        """Rows with the columns of the file."""

    @abstractmethod
    def _opened(self) -> None:
        """Called when the file is opened, and when it starts over."""

    @abstractmethod
    def _added(self, in_file: pa.Table) -> None:
        """Called with rows that were written, once more when the file has started over."""

    def _path_in_parquet(self) -> str:
        """Where the file goes if it starts over."""
        return in_parquet(self._path)

    def _write(self, rows: pa.Table) -> None:
        """Writes rows as one unit of the format, such as a row group or stripe.

        Java takes a file's format from its extension or its metadata, so a table may have a few files in
        another format than the others.

        Raises:
            StorageError: the file cannot be written.
        """
        in_file = self._in_file(rows)
        with reporting(self._path):
            try:
                self._writer.write(in_file)
            except Unwritable:
                self._start_over_in_parquet()
                self._writer.write(in_file)
        self._added(in_file)
        self._rows_schema = rows.schema

    def _joining(self) -> JoiningWriter:
        """The writer, if row groups can be copied into the file.

        Raises:
            TypeError: they cannot.
        """
        if not isinstance(self._writer, JoiningWriter):
            raise TypeError(f"{self._path} was not opened for copies")
        return self._writer

    def _finish(self) -> int:
        """Finishes the file; returns its size."""
        with reporting(self._path):
            size = self._writer.finish()
            self._new_file.sink.close()
        return size

    def _open(self, path: str, options: FileOptions, like: RowGroupSource | None = None) -> None:
        self._path, self._options = path, options
        self._new_file = self._storage.create(path)
        self._writer: FormatWriter
        if like is not None and options.format == "parquet":
            self._writer = JoiningWriter(self._new_file.sink, options, self._types, like)
        else:
            self._writer = open_writer(self._new_file.sink, options, path, self._types)
        self._opened()

    def _start_over_in_parquet(self) -> None:
        """Replaces the file by a Parquet file with the rows so far, since Parquet holds every value."""
        written, path, file = self._writer, self._path, self._new_file
        self._finish()
        try:
            self._open(self._path_in_parquet(), self._options.in_parquet())
            if self._rows_schema is not None:
                with self._storage.open(path) as source:
                    for rows in written.read_back(source, self._rows_schema):
                        in_file = self._in_file(rows)
                        self._writer.write(in_file)
                        self._added(in_file)
        finally:
            file.give_up()


def in_parquet(path: str) -> str:
    """The path of the Parquet file that replaces a file of another format."""
    return f"{path.rpartition('.')[0]}.parquet"


def as_fields(rows: pa.Table, names: Sequence[str], fields: Sequence[pa.Field]) -> pa.Table:
    """Some columns of rows as fields of a file; dictionaries and shredded VARIANTs stay as they come."""
    columns = [rows.column(name).unify_dictionaries() for name in names]
    return pa.table(columns, schema=pa.schema([*map(_as_it_comes, fields, columns)]))


def _as_it_comes(field: pa.Field, column: pa.ChunkedArray) -> pa.Field:
    """The field with the type of a dictionary or shredded column; other fields keep their nested ids."""
    is_shredding = is_shredded(column.type) and not is_shredded(field.type)  # names of a struct may look so
    return field.with_type(column.type) if is_shredding or pa.types.is_dictionary(column.type) else field
