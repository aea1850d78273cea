"""Writes Avro files as Java Paimon or Java Iceberg does: the same schema, blocks of the same size.

Opened by `registry`; a `FormatWriter`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.files.avro.container import (
    blocks,
    compress,
    decompress,
    new_header,
    packed_blocks,
    read_header,
)
from lithify.files.avro.decoding import Decoder
from lithify.files.avro.encoding import encode_rows
from lithify.files.avro.identified_schema import identified_schema, with_fixed_decimals
from lithify.files.avro.named_types import stored_fields
from lithify.files.avro.schema import record_schema
from lithify.files.field_ids import uuid_ids
from lithify.files.model import FileColumn
from lithify.files.nesting import renamed
from lithify.files.options import FileOptions
from lithify.files.row_stats import RowStats
from lithify.files.statistics import ColumnStats
from lithify.files.types import ColumnType

_BLOCK_BYTES = 64_000
"""Bytes that Java's library collects in a block."""

_ROWS_AT_ONCE = 16_384
_BYTES_AT_ONCE = 512 << 10
"""Bytes encoded at a time: the offsets of all bytes take eight times as much."""

_CODECS = {"zstd": "zstandard"}


class AvroWriter:
    """Writes one Avro file.

    Args:
        sink: output stream.
        options: file options.
        path: path of the file, for messages.
        types: the types of the columns of the file, by name.
    """

    def __init__(
        self, sink: pa.NativeFile, options: FileOptions, path: str, types: dict[str, ColumnType]
    ) -> None:
        self._sink = sink
        self._path = path
        self._options = options
        self._types = types
        self._codec = _CODECS.get(options.compression, options.compression)
        self._stats = RowStats()
        self._sync = b""
        self.rows = 0

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        """Adds the rows as one or more blocks."""
        self._stats.add(rows)
        if not self._sync:
            header, self._sync = new_header(self._schema_of(list(rows.schema)), self._codec)
            self._sink.write(header)
        step = max(1, min(_ROWS_AT_ONCE, rows.num_rows * _BYTES_AT_ONCE // max(1, rows.nbytes)))
        for start in range(0, rows.num_rows, step):
            self._write_blocks(rows.slice(start, step))
        self.rows += rows.num_rows

    def finish(self) -> int:
        """Returns the size of the file; Avro has no footer."""
        return self.size

    def _schema_of(self, fields: Sequence[pa.Field]) -> dict[str, Any]:
        if not self._options.avro_ids:
            return record_schema(fields, self._options.avro_record)
        return identified_schema(fields, uuid_ids(fields, self._types))

    def column_stats(self, name: str, column: ColumnType) -> ColumnStats:
        """Statistics of a column, gathered from its rows."""
        return self._stats.of(name, column)

    def read_back(self, source: pa.NativeFile, rows_schema: pa.Schema) -> Iterator[pa.Table]:
        """Iterates over the blocks, a few at a time."""
        header = read_header(source)
        if self._options.avro_ids:  # names may differ from those of the rows, also within columns
            columns = [FileColumn(field.name, field.type) for field in stored_fields(header.schema)]
        else:
            columns = [FileColumn(name, self._types[name]) for name in rows_schema.names]
        decoder = Decoder(header.schema, columns)
        for head in blocks(source, header):
            source.seek(head.start)
            batch = decoder.decode(head.rows, decompress(header.codec, source.read(head.size)))
            arrays = map(renamed, batch.columns, rows_schema.types)
            yield pa.Table.from_arrays([*arrays], schema=rows_schema)

    def abort(self) -> None:
        """Does nothing: the writer holds no resources."""

    def _write_blocks(self, rows: pa.Table) -> None:
        columns = [_plain(column) for column in rows.columns]
        if self._options.avro_ids:
            columns = [*map(with_fixed_decimals, columns)]
        try:
            data, lengths = encode_rows(columns, [field.nullable for field in rows.schema])
        except ValueError as error:
            raise CorruptTable(self._path, f"it cannot be written: {error}") from error
        for packed in packed_blocks(data, lengths, _BLOCK_BYTES, self._pack, self._sync):
            self._sink.write(packed)

    def _pack(self, data: bytes) -> bytes:
        return compress(self._codec, data, self._options.zstd_level, self._options.deflate_level)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
