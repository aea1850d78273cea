"""Decodes the rows of an Avro block into columns.

Called by the reader beside this module. Offsets of Avro rows cannot be computed, so this is the only loop
over rows in a data path: fastavro's compiled one, called once for a block, as for an array of records. The
schema passed to it has no logical types and texts, so that it returns plain numbers and bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from fastavro import parse_schema, schemaless_reader

from lithify.files.avro.container import as_array
from lithify.files.avro.schema import (
    KEY,
    VALUE,
    check_type,
    plain_schema,
)
from lithify.files.avro.vectors import WholeVectors, whole_vectors, with_whole_vectors
from lithify.files.model import FileColumn
from lithify.files.nesting import nulls
from lithify.files.types import LISTS, ColumnType, arrow_type

_WIDE = 16
_HALF = 32


class Decoder:
    """Decodes the blocks of one file.

    Args:
        schema: the schema in the file's header.
        columns: the columns to return.

    Raises:
        LookupError: the schema is invalid, or a column is missing or of another type.
    """

    def __init__(self, schema: Mapping[str, Any], columns: Sequence[FileColumn]) -> None:
        plain = plain_schema(schema)
        stored = {field["name"]: field["type"] for field in plain["fields"]}
        for column in columns:
            check_type(stored[column.name], arrow_type(column.type), column.name)
        self._schema = parse_schema({"type": "array", "items": plain})
        self._columns = columns
        self._vectors = whole_vectors(schema, columns)
        self._with_vectors = parse_schema(
            {"type": "array", "items": with_whole_vectors(plain, self._vectors)}
        )

    def decode(self, rows: int, data: bytes) -> pa.RecordBatch:
        """Decodes the rows of a block.

        Raises:
            EOFError: the block is truncated, or has more bytes than its rows.
            ArrowInvalid: a value does not fit its column.
        """
        columns = self._columns_with_vectors(rows, data) if self._vectors else None
        if columns is None:
            self._vectors = {}  # a writer that encodes one vector differently does so in the whole file
            columns = self._decoded(self._schema, rows, data, {})
        return pa.RecordBatch.from_arrays(columns, [column.name for column in self._columns])

    def _columns_with_vectors(self, rows: int, data: bytes) -> list[pa.Array] | None:
        """The columns of a block; None if a vector is encoded differently, so that bytes are misread."""
        try:
            columns = self._decoded(self._with_vectors, rows, data, self._vectors)
        except (EOFError, LookupError, ValueError, TypeError, OverflowError):
            return None
        return None if any(column is None for column in columns) else columns

    def _decoded(
        self, schema: Any, rows: int, data: bytes, vectors: Mapping[str, WholeVectors]
    ) -> list[pa.Array | None]:
        encoded = as_array(rows, data)
        stream = BytesIO(encoded)
        try:
            records: Any = schemaless_reader(stream, schema, None)
        except (ValueError, TypeError, OverflowError) as error:
            raise EOFError(f"a block in it cannot be decoded: {error}") from error
        if len(records) != rows or stream.tell() != len(encoded):
            raise EOFError(f"a block in it has other bytes than those of {rows} rows")
        columns = []
        for name, kind in ((column.name, column.type) for column in self._columns):
            values = [record[name] for record in records]
            columns.append(vectors[name].column(values) if name in vectors else _column(values, kind))
        return columns


def _column(values: list[Any], kind: ColumnType) -> pa.Array:
    """Converts fastavro's values (without logical types) to a column."""
    wanted = arrow_type(kind)
    if kind.root == "ROW":
        return _records(values, kind)
    if kind.is_nested:
        return _lists(values, kind)
    if kind.root == "DECIMAL":
        return _decimals(values, wanted)
    if kind.is_bytes:
        return pa.array(values, pa.binary()).view(wanted)
    if pa.types.is_temporal(wanted):
        return pa.array(values, pa.int64() if wanted.bit_width > _HALF else pa.int32()).view(wanted)
    return pa.array(values, wanted)


def _records(values: list[dict[str, Any] | None], kind: ColumnType) -> pa.Array:
    """Records as a ROW; where the row is null, its parts are null or, if NOT NULL, arbitrary."""
    wanted = arrow_type(kind)
    known = next((value for value in values if value is not None), None)
    if known is None:
        return nulls(len(values), wanted)
    nothing = {part.name: None if part.type.nullable else known[part.name] for part in kind.fields}
    rows = [nothing if value is None else value for value in values]
    parts = [_column([row[part.name] for row in rows], part.type) for part in kind.fields]
    return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=_nulls(values))


def _lists(values: list[list[Any] | None], kind: ColumnType) -> pa.Array:
    """Lists as an ARRAY or a VECTOR, and lists of records as a MAP."""
    wanted = arrow_type(kind)
    elements = list(chain.from_iterable(filter(None, values)))
    lengths = [0 if value is None else len(value) for value in values]
    offsets = pa.array(np.cumsum([0, *lengths], dtype=np.int32))
    if kind.root in LISTS:
        parts = _column(elements, kind.fields[0].type)
        if kind.root == "VECTOR" and parts.null_count:
            raise pa.ArrowInvalid("there is a null in a VECTOR, for which Paimon has no room")
        return pa.ListArray.from_arrays(offsets, parts, type=wanted, mask=_nulls(values))
    keys, items = (
        _column([element[name] for element in elements], part.type)
        for name, part in zip((KEY, VALUE), kind.fields, strict=True)
    )
    return pa.MapArray.from_arrays(offsets, keys, items, type=wanted, mask=_nulls(values))


def _nulls(values: list[Any]) -> pa.Array:
    return pa.array([value is None for value in values], pa.bool_())


def _decimals(values: list[bytes | None], kind: pa.Decimal128Type) -> pa.Array:
    """Converts big-endian unscaled values to Arrow's form: 16 bytes, little-endian."""
    unscaled = [0 if value is None else int.from_bytes(value, "big", signed=True) for value in values]
    try:
        data = b"".join(value.to_bytes(_WIDE, "little", signed=True) for value in unscaled)
    except OverflowError as error:
        raise pa.ArrowInvalid("a decimal has more than 38 digits") from error
    limit = 10**kind.precision
    if unscaled and not -limit < min(unscaled) <= max(unscaled) < limit:
        raise pa.ArrowInvalid(f"a decimal has more than {kind.precision} digits")
    valid = pa.array([value is not None for value in values], pa.bool_())
    return pa.Array.from_buffers(kind, len(values), [valid.buffers()[1], pa.py_buffer(data)])
