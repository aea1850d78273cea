"""Writes ORC files as Java's readers take them: names, field ids, types; a stripe for every write.

Opened by `registry`; a `FormatWriter`. Texts of bounded length become plain strings, because PyArrow has no
other text type; Java's reader converts them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import pyarrow as pa
import pyarrow.orc as orc

from lithify.files.field_ids import uuid_ids
from lithify.files.nesting import declared_struct, rebuilt, with_fields
from lithify.files.options import FileOptions, OrcOptions
from lithify.files.orc.descriptions import description
from lithify.files.orc.time_zones import provide
from lithify.files.orc.timestamps import unwrapped
from lithify.files.orc.values import as_written
from lithify.files.row_stats import RowStats
from lithify.files.statistics import ColumnStats
from lithify.files.types import ColumnType

_CODECS = {"none": "uncompressed"}
_STRIPE_BYTES = 1024
"""A stripe ends with the write in which it reaches this size. Incomplete blocks do not count, so writes that
are small or very repetitive form a stripe together with the next one.
"""

_ENCODED = 4
"""Approximate compression ratio, to estimate the size of rows that are not in a stripe yet."""

_HEADER_BYTES = 3
"""Bytes at the beginning of a file, which are no stripe."""

_PARQUET_ID = b"PARQUET:field_id"


class OrcWriter:
    """Writes one ORC file.

    Args:
        sink: output stream.
        options: file options.
        types: the types of the columns of the file, by name.
    """

    def __init__(self, sink: pa.NativeFile, options: FileOptions, types: Mapping[str, ColumnType]) -> None:
        provide()
        self._types = types
        self._sink = sink
        self._options = options
        self._stats = RowStats()
        self._writer: orc.ORCWriter | None = None
        self._most = 0
        self._flushed = _HEADER_BYTES
        self._pending = 0
        self.rows = 0

    @property
    def size(self) -> int:
        """Bytes written so far, plus the estimated size of rows in the unfinished stripe."""
        return int(self._sink.tell()) + self._pending // _ENCODED

    def write(self, rows: pa.Table) -> None:
        """Adds one stripe.

        Raises:
            Unwritable: there are microseconds before 1970.
        """
        most = self._most or max(1, rows.num_rows)
        # PyArrow would split larger writes itself, and corrupts nested columns when it does.
        parts = [
            _as_written(rows.slice(start, most), self._options.orc, self._types)
            for start in range(0, rows.num_rows, most)
        ]
        self._stats.add(rows)
        if self._writer is None:
            self._most = most
            self._writer = _opened(self._sink, rows.schema, most, self._options)
        for part in parts:
            self._writer.write(part)
        self.rows += rows.num_rows
        written = int(self._sink.tell())
        self._pending = 0 if written > self._flushed else self._pending + rows.nbytes
        self._flushed = written

    def finish(self) -> int:
        """Writes the footer; returns the size of the file."""
        if self._writer is not None:
            self._writer.close()
        return int(self._sink.tell())

    def column_stats(self, name: str, column: ColumnType) -> ColumnStats:
        """Statistics of a column, gathered from its rows."""
        return self._stats.of(name, column)

    def read_back(self, source: pa.NativeFile, rows_schema: pa.Schema) -> Iterator[pa.Table]:
        """Iterates over the stripes."""
        file = orc.ORCFile(source)
        for number in range(file.nstripes):
            stripe = file.read_stripe(number, columns=rows_schema.names)
            columns = [_read_back(stripe.column(field.name), field.type) for field in rows_schema]
            yield pa.table(columns, schema=rows_schema)

    def abort(self) -> None:
        """Keeps PyArrow from finishing the file when the writer is garbage-collected."""
        if self._writer is not None:
            self._writer.is_open = False


def _as_written(rows: pa.Table, options: OrcOptions, types: Mapping[str, ColumnType]) -> pa.Table:
    """Rows in types that the C++ library knows, with field ids and more in attributes of their types."""
    columns = [as_written(column, splits_seconds=options.is_described) for column in rows.columns]
    uuids = uuid_ids(rows.schema, types) if options.is_described else frozenset()
    fields = [
        _identified(field.with_type(column.type), field, options, uuids)
        for field, column in zip(rows.schema, columns, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields))


def _identified(field: pa.Field, declared: pa.Field, options: OrcOptions, uuids: frozenset[int]) -> pa.Field:
    """A field as it is written, with the attributes of the declared one."""
    attributes: dict[str, str | bytes] = {}
    if options.id_attribute:
        attributes[options.id_attribute] = (declared.metadata or {}).get(_PARQUET_ID, b"")
    if options.is_described:
        attributes |= description(declared, uuids)
    parts = iter(_fields(declared.type))
    kind = with_fields(field.type, lambda part: _identified(part, next(parts), options, uuids))
    return pa.field(field.name, kind, metadata=attributes or None)


def _fields(kind: pa.DataType) -> list[pa.Field]:
    """The parts of a type, in the order of `with_fields`."""
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.field(number) for number in range(kind.num_fields)]


def _opened(sink: pa.NativeFile, schema: pa.Schema, rows: int, options: FileOptions) -> orc.ORCWriter:
    """A writer for one stripe with this number of rows; more rows at once become several stripes.

    Texts get no dictionaries: the C++ library does not count the bytes of a dictionary in progress, so
    stripes would not end where they should.
    """
    return orc.ORCWriter(
        sink,
        compression=_CODECS.get(options.compression, options.compression),
        compression_block_size=options.orc.block,
        compression_strategy="speed" if options.zstd_level <= 1 else "compression",
        stripe_size=_STRIPE_BYTES,
        batch_size=max(1, rows),
        row_index_stride=options.orc.index_stride,
        bloom_filter_columns=sorted(_with_filters(schema, options.orc.filters)),
        bloom_filter_fpp=options.orc.false_positives,
    )


def _with_filters(schema: pa.Schema, names: Collection[str]) -> Iterator[int]:
    """The ORC column numbers of all parts of the named columns, matched as Java matches them.

    Excludes bytes, which the C++ library hashes incorrectly, so that Java would not find them; and booleans,
    whose filters no reader uses.
    """
    first = 1
    for field in schema:
        parts = list(_parts(field.type))
        if "*" in names or field.name.lower() in names:
            yield from (first + at for at, kind in enumerate(parts) if kind not in (pa.int8(), pa.bool_()))
        first += len(parts)


def _parts(kind: pa.DataType) -> Iterator[pa.DataType]:
    """A type and all parts that are stored with it."""
    yield kind
    for part in _fields(kind):
        yield from _parts(part.type)


def _read_back(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Converts a column read from the file back to its original form."""
    if pa.types.is_struct(kind):
        parts = [_read_back(column.field(field.name), field.type) for field in kind]
        return declared_struct(column, kind, parts)
    if pa.types.is_nested(kind):
        return rebuilt(column, kind, _read_back)
    is_wrapped = pa.types.is_timestamp(kind) and kind.unit != "ns"
    return unwrapped(column, kind) if is_wrapped else column.cast(kind)
