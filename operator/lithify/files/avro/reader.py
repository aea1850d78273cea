"""Reads Avro files, block by block.

Created by `registry`; a `FormatReader`. Avro files have no statistics: rows are counted while they are read,
and no block can be skipped.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import pyarrow as pa

from lithify.files.avro.container import (
    BlockHead,
    Header,
    blocks,
    decompress,
    decompressed_limit,
    read_header,
)
from lithify.files.avro.decoding import Decoder
from lithify.files.avro.named_types import stored_fields
from lithify.files.avro.schema import has_nested, plain_schema
from lithify.files.field_ids import schema_with_ids
from lithify.files.model import (
    FileColumn,
    InputFile,
    Wanted,
    check_rows,
    typed_as_stored,
)
from lithify.files.reading import gathered, has_any, reading
from lithify.files.types import AS_STORED, Field
from lithify.io.storage import Fetching, Storage

_FETCHED = 1 << 20
_KEPT = 1024
"""Files of which a schema that they share, and a number, are kept."""

_SCHEMAS = 16
"""Schemas that are kept: most files of a table have the same one."""
_LOOKED_AT = 16
"""Blocks at the beginning of a file from which the size of the others is estimated."""

_VALUE_BYTES = 96
"""Approximate bytes that Python needs for a value, in addition to its content."""

_LEAST_BYTES = 2
"""Approximate minimum of bytes for a value nested in others."""

_COPIES = 3
"""Copies of a block in memory: compressed, decompressed, and as Python's values."""


class AvroReader:
    """Reads Avro files.

    Args:
        storage: access to the files.
        fetched: ignored: a file is read sequentially.
    """

    def __init__(self, storage: Storage, fetched: int = 0) -> None:
        del fetched
        self._storage = storage
        self._told = lru_cache(_KEPT)(self._read)

    def overhead(self, file: InputFile) -> int:
        """The size of the largest of the first blocks, summed over all its copies in memory."""
        return self._told(file.path).overhead

    def columns_with_dictionary(self, paths: Collection[str]) -> frozenset[str]:
        """Always empty: Avro has no dictionaries."""
        del paths
        return frozenset()

    def stored_type(self, path: str, column: str) -> pa.DataType | None:
        """Always None: types are stored as declared."""
        del path, column
        return None

    def schema(self, path: str) -> pa.Schema:
        """The columns by the schema in the header, with the names that they have there."""
        with reading(path, "Avro"):
            return _schema_of(self._told(path).schema)

    def holds_any(self, path: str, column: FileColumn, values: Collection[int]) -> bool:
        """Whether any row has one of the values; reads all rows."""
        with reading(path, "Avro"), self._storage.open(path) as source:
            header = read_header(source)
            return has_any(_decoded(source, header, Decoder(header.schema, [column])), values)

    def spans(self, file: InputFile, wanted: Wanted) -> Sequence[tuple[int, int]]:
        """All rows."""
        del wanted
        return [(0, file.rows)]

    def batches(self, file: InputFile, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Reads all rows; the caller must filter by key range."""
        how = Fetching(_FETCHED)
        with reading(file.path, "Avro"), self._storage.open(file.path, file.size, how) as source:
            header = read_header(source)
            rows = 0
            decoded = _decoded(source, header, Decoder(header.schema, _typed(wanted.columns, header)))
            for batch in gathered(decoded, wanted.piece_bytes // 2):
                rows += batch.num_rows
                if rows > file.rows:
                    check_rows(file, rows)
                yield batch
            check_rows(file, rows)

    def _read(self, path: str) -> _Beginning:
        with reading(path, "Avro"), self._storage.open(path) as source:
            header = read_header(source)
            plain = plain_schema(header.schema)
            columns, is_nested = len(plain["fields"]), has_nested(plain)
            sizes = []
            for head in islice(blocks(source, header), _LOOKED_AT):
                data = _rows(source, header, head)
                values = head.rows * columns
                if is_nested:
                    values = max(values, len(data) // _LEAST_BYTES)
                sizes.append(_COPIES * len(data) + values * _VALUE_BYTES)
            overhead = max(sizes, default=0) + (0 if self._storage.is_local else _FETCHED)
            return _Beginning(_shared(header.properties["avro.schema"]), overhead)


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The schema of a file as JSON, and the memory that reading it takes, estimated from its first blocks."""

    schema: bytes
    overhead: int


@lru_cache(_SCHEMAS)
def _shared(schema: bytes) -> bytes:
    """The same for all files with an equal schema."""
    return schema


@lru_cache(_SCHEMAS)
def _fields_of(schema: bytes) -> tuple[Field, ...]:
    return stored_fields(json.loads(schema))


@lru_cache(_SCHEMAS)
def _schema_of(schema: bytes) -> pa.Schema:
    return schema_with_ids(_fields_of(schema))


def _typed(columns: Sequence[FileColumn], header: Header) -> Sequence[FileColumn]:
    """The columns, with the types of the file where none are declared."""
    if all(column.type is not AS_STORED for column in columns):
        return columns
    return typed_as_stored(columns, _fields_of(header.properties["avro.schema"]))


def _decoded(source: pa.NativeFile, header: Header, decoder: Decoder) -> Iterator[pa.RecordBatch]:
    for head in blocks(source, header):
        yield decoder.decode(head.rows, _rows(source, header, head))


def _rows(source: pa.NativeFile, header: Header, head: BlockHead) -> bytes:
    """The encoded rows of a block."""
    source.seek(head.start)
    return decompress(header.codec, source.read(head.size), decompressed_limit(head.size))
