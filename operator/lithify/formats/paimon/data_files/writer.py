"""Writes key-value data files with the columns, field ids, physical types, names and metadata of Java Paimon.

Called by a run's tasks, one `OpenDataFile` at a time through `engine.rewrite.rolling`. The rows have the
value columns and the two system columns (`Schema.rows_schema`), in key order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from lithify.engine.rewrite.rolling import EncodedRows
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.options import FileOptions
from lithify.files.parquet.copying.copied_groups import CopiedGroup
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.joining_writer import encoded
from lithify.files.parquet.small_files import JoinedGroup
from lithify.files.row_file import RowFile, as_fields, in_parquet
from lithify.files.statistics import ColumnStats
from lithify.files.variants.columns import Malformed
from lithify.formats.paimon.data_files.statistics import key_stats, value_stats
from lithify.formats.paimon.data_files.summaries import FileSummary, KeyValueSummary
from lithify.formats.paimon.file_indexes.building import FileIndexes
from lithify.formats.paimon.file_indexes.model import (
    NO_INDEXES,
    SUFFIX,
    FileIndexOptions,
    Unindexable,
)
from lithify.formats.paimon.layout.external_paths import ExternalPaths
from lithify.formats.paimon.manifests.entries import COMPACT_SOURCE, FileMeta, Stats
from lithify.formats.paimon.schema.schema import KEY_PREFIX, SYSTEM_COLUMNS, Schema
from lithify.io.storage import NewFile, Storage, reporting


@dataclass(frozen=True, slots=True)
class FileTarget:
    """Location and settings of the files that one task writes.

    Attributes:
        folder: the bucket's directory in the table's folder.
        level: the output level.
        schema: the table's newest schema.
        options: how files are written.
        external_paths: storage paths used instead of the table's folder, if any.
        source: whether the rows count as new or as compacted.
        indexes: the file indexes of each file.
    """

    folder: str
    level: int
    schema: Schema
    options: FileOptions
    external_paths: ExternalPaths | None = None
    source: int = COMPACT_SOURCE
    indexes: FileIndexOptions = NO_INDEXES

    def path(self, name: str) -> str:
        """Path of the file with this name."""
        return self.external_paths.path(name) if self.external_paths else f"{self.folder}/{name}"

    def paths(self, name: str) -> list[str]:
        """All paths that writing the file with this name may leave behind."""
        path = self.path(name)
        return [path, path + SUFFIX] if self.indexes.indexed else [path]

    def name(self, writer: str, number: int) -> str:
        """The name of a writer's file of this number; `writer` is its UUID."""
        options = self.options
        names_codec = options.suffix_names_compression and options.named_compression
        codec = f".{options.named_compression}" if names_codec else ""
        return f"{options.prefix}{writer}-{number}{codec}.{options.format}"


class OpenDataFile(RowFile):
    """One data file being written; an `OpenFile` of `engine.rewrite.rolling`.

    Args:
        name: name of the file.
        target: location and settings.
        storage: access to the file system.
        wall_clock: the time for the file's metadata.
        summary: collects what the metadata says of the rows; by default that of rows with system columns.
        like: a Parquet file like the new one; then row groups can be copied into it.
    """

    def __init__(
        self,
        name: str,
        target: FileTarget,
        storage: Storage,
        wall_clock: Callable[[], int],
        summary: FileSummary | None = None,
        like: RowGroupSource | None = None,
    ) -> None:
        self._target = target
        self._wall_clock = wall_clock
        self._schema = target.schema.file_schema(thin=target.options.thin)
        self._summary = summary or KeyValueSummary(target.schema)
        self._indexes = FileIndexes(target.indexes, target.schema)
        self._index_file: NewFile | None = None
        super().__init__(storage, target.path(name), target.options, target.schema.stored_types, like)

    def write(self, rows: pa.Table) -> None:
        """Writes rows as one unit of the format, such as a row group or stripe.

        Raises:
            CorruptTable: a value to be shredded is no valid VARIANT.
            UnsupportedTable: a value cannot be indexed.
            StorageError: the file cannot be written.
        """
        self._add(rows)
        try:
            self._write(rows)
        except Malformed as error:
            raise CorruptTable(self._target.folder, str(error)) from error

    def copy(self, rows: EncodedRows) -> None:
        """Adds a row group of another file as it is, or one whose columns are joined from several files.

        Raises:
            CorruptTable: a file contradicts its footer.
            UnsupportedTable: a value cannot be indexed.
            StorageError: the file cannot be written.
        """
        writer = self._joining()
        if not isinstance(rows, CopiedGroup | JoinedGroup):
            raise TypeError(f"{type(rows).__name__} cannot be added to {self._path}")
        if not self._target.indexes.columns <= rows.indexed:
            raise TypeError(f"{self._path} would have indexes without the values of a copied row group")
        for facts in rows.facts:
            self._add(facts)
        with reporting(self._path):
            if isinstance(rows, CopiedGroup):
                writer.copy(rows.source, rows.number)
            else:
                writer.join(rows, self._in_file(rows.others, rows.joined))
        self._rows_schema = self._rows_schema or self._target.schema.rows_schema()

    def close(self) -> FileMeta:
        """Finishes the file on storage and returns its metadata.

        Raises:
            UnsupportedTable: a value cannot be indexed.
            StorageError: the file or its indexes cannot be written.
        """
        size = self._finish()
        embedded, extra_files = self._write_indexes()
        self._storage.persist([self._path, *(self._path + SUFFIX for _ in extra_files)])
        keys, values, columns = self._stats()
        return FileMeta(
            name=self._name,
            size=size,
            rows=self._writer.rows,
            min_key=self._summary.min_key(),
            max_key=self._summary.max_key(),
            key_stats=keys,
            value_stats=values,
            min_sequence=self._summary.min_sequence,
            max_sequence=self._summary.max_sequence,
            schema_id=self._target.schema.id,
            level=self._target.level,
            extra_files=extra_files,
            created_millis=self._wall_clock(),
            delete_rows=self._summary.delete_rows,
            embedded_index=embedded,
            source=self._target.source,
            value_stats_columns=columns,
            external_path=self._path if self._target.external_paths else None,
            first_row_id=None,
            write_columns=None,
            write_columns_sequences=None,
        )

    def abort(self) -> None:
        """Abandons and deletes the file and its indexes."""
        super().abort()
        if self._index_file is not None:
            self._index_file.give_up()

    def _add(self, rows: pa.Table) -> None:
        """Adds rows to the metadata and the indexes."""
        self._summary.add(rows)
        with self._indexable():
            self._indexes.add(rows)

    def _write_indexes(self) -> tuple[bytes | None, tuple[str, ...]]:
        """The indexes if they are embedded in the metadata, else the name of the new file that has them."""
        options = self._target.indexes
        if not options.indexed:
            return None, ()
        with self._indexable():
            content = self._indexes.finish()
        if len(content) <= options.most_embedded:
            return content, ()
        path = self._path + SUFFIX
        self._index_file = self._storage.create(path)
        with reporting(path):
            self._index_file.sink.write(content)
            self._index_file.sink.close()
        return None, (self._name + SUFFIX,)

    @contextmanager
    def _indexable(self) -> Iterator[None]:
        try:
            yield
        except Unindexable as error:
            raise UnsupportedTable(self._target.folder, (str(error),)) from error

    @staticmethod
    def like(target: FileTarget) -> RowGroupSource:
        """An empty Parquet file with the columns and options of a target's files."""
        rows = target.schema.file_schema(thin=target.options.thin).empty_table()
        return encoded(rows, target.options, target.schema.stored_types)

    @property
    def _name(self) -> str:
        """The name of the file."""
        return self._path.rpartition("/")[2]

    def _in_file(self, rows: pa.Table, without: Collection[str] = ()) -> pa.Table:
        """Converts rows to the columns of the file."""
        fields = [field for field in self._schema if field.name not in without]
        return as_fields(rows, [field.name.removeprefix(KEY_PREFIX) for field in fields], fields)

    def _path_in_parquet(self) -> str:
        """The place of a file of that name: external paths may depend on it."""
        return self._target.path(in_parquet(self._name))

    def _opened(self) -> None:
        """Does nothing: the summary and the indexes are of the rows, whatever file they are in."""

    def _added(self, in_file: pa.Table) -> None:
        """Does nothing: rows were added to the summary and the indexes before."""

    def _stats(self) -> tuple[Stats, Stats, tuple[str, ...] | None]:
        schema, modes = self._target.schema, self._target.options.stats
        thin = self._target.options.thin
        keys = [name if thin else KEY_PREFIX + name for name in schema.primary_key]
        types = {column.name: column.type for column in schema.columns}
        by_name = self._stats_modes(frozenset(keys))
        value_modes, key_modes = ([by_name[name] for name in names] for names in (types, keys))
        values, columns = value_stats(
            [self._column_stats(name) for name in types], types, value_modes, dense=modes.dense
        )
        key_columns = [self._column_stats(name) for name in keys]
        return key_stats(key_columns, schema.key_types, key_modes), values, columns

    def _stats_modes(self, keys: frozenset[str]) -> dict[str, str]:
        """The statistics mode of each column; Java makes no exceptions for key columns in Avro files."""
        modes, names = self._target.options.stats, self._schema.names
        if self._options.format == "avro":
            return dict(zip(names, modes.of_columns(names), strict=True))
        always = keys | SYSTEM_COLUMNS.keys()
        return dict(zip(names, modes.of_columns(names, always), strict=True))

    def _column_stats(self, name: str) -> ColumnStats:
        column = self._target.schema.column(name.removeprefix(KEY_PREFIX))
        if column.type.is_float:
            return self._summary.floats[column.name].stats
        return self._writer.column_stats(name, column.type)
