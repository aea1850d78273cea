"""Converts values whose form in Java's ORC files differs from what Arrow reads or writes.

Called by the reader and the writer beside this module. Pure. Java's behaviour was observed by running it
(docs/design/0017-formats.md).
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import INSTANT
from lithify.files.model import Unwritable
from lithify.files.nesting import (
    declared_struct,
    list_of,
    map_of,
    rebuilt,
    struct_of,
    with_fields,
)
from lithify.files.orc.columns import ColumnFooter
from lithify.files.orc.timestamps import as_instants, is_writable, unwrapped
from lithify.files.types import ColumnType, Field, arrow_type


def as_java_reads(
    column: pa.Array,
    kind: ColumnType,
    told: ColumnFooter | None,
    ahead: int = 0,
    *,
    drops_digits: bool = False,
) -> pa.Array:
    """Converts a column from the form of the C++ library to the form of the merge.

    Args:
        column: the column.
        kind: its type in the schema that the file was written with.
        told: its description in the file's footer.
        ahead: seconds by which the writer's clock was ahead of UTC at the start of 1970.
        drops_digits: whether timestamps lose digits that their type does not have, as in Iceberg.

    Raises:
        ArrowInvalid: a timestamp has more digits than its type, or a NOT NULL part is null.
    """
    if kind.is_nested:
        return _parts_as_java_reads(column, kind, told, ahead, drops_digits=drops_digits)
    if kind.is_timestamp:
        # Instants are stored in UTC.
        clock = 0 if kind.root == "TIMESTAMP_LTZ" else ahead
        if kind.is_nanos:
            return as_instants(column, clock)
        millis = told.millis if told else None
        return unwrapped(column, arrow_type(kind), millis, clock, drops_digits=drops_digits)
    if kind.root == "CHAR":
        # Java pads what it writes and trims what it reads.
        return pc.utf8_rtrim(column, " ")
    return column.cast(arrow_type(kind))


def _parts_as_java_reads(
    column: pa.Array, kind: ColumnType, told: ColumnFooter | None, ahead: int, *, drops_digits: bool
) -> pa.Array:
    """A nested column; the C++ library sets all parts of a null value to null."""
    wanted = arrow_type(kind)

    def read(values: pa.Array, part: Field) -> pa.Array:
        within = told and told.fields.get(part.name)
        return as_java_reads(values, part.type, within, ahead, drops_digits=drops_digits)

    if kind.root == "ROW":
        return declared_struct(column, wanted, [read(column.field(part.name), part) for part in kind.fields])
    if kind.root == "ARRAY":
        return list_of(column, wanted, read(column.values, kind.fields[0]))
    key, value = kind.fields
    return map_of(column, wanted, read(column.keys, key), read(column.items, value))


def as_written(column: pa.ChunkedArray, *, splits_seconds: bool = False) -> pa.ChunkedArray:
    """Converts a column to types that the C++ library knows.

    Args:
        column: the column.
        splits_seconds: whether its readers take seconds and their fractions apart, as Iceberg's do.

    Raises:
        Unwritable: a timestamp cannot be written, or not in a form that Java can read.
    """
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    kind = _written_type(column.type)
    written = partial(_written, splits_seconds=splits_seconds)
    return pa.chunked_array([written(_from_its_beginning(chunk), kind) for chunk in column.chunks], kind)


def _from_its_beginning(values: pa.Array) -> pa.Array:
    """Copies nested values so that their offset is 0: PyArrow ignores it for nulls of their parts."""
    return pa.concat_arrays([values]) if pa.types.is_nested(values.type) else values


def _written_type(kind: pa.DataType) -> pa.DataType:
    """The type that is written instead; fields of nested types keep their metadata."""
    if pa.types.is_time(kind):
        return pa.int32() if pa.types.is_time32(kind) else pa.int64()
    if pa.types.is_fixed_size_binary(kind) and not kind.equals(INSTANT):
        return pa.binary()
    return with_fields(kind, lambda field: field.with_type(_written_type(field.type)))


def _written(values: pa.Array, kind: pa.DataType, *, splits_seconds: bool) -> pa.Array:
    written = partial(_written, splits_seconds=splits_seconds)
    if pa.types.is_struct(kind):
        # PyArrow writes the parts of a null value, unless they are null themselves.
        parts = zip(values.flatten(), kind, strict=True)
        return struct_of(values, kind, [written(part, field.type) for part, field in parts])
    if pa.types.is_nested(kind):
        return rebuilt(values, kind, written)
    if kind.equals(INSTANT):
        raise Unwritable("timestamps of nanoseconds are written to Parquet files")
    if pa.types.is_timestamp(kind) and not is_writable(values, splits_seconds=splits_seconds):
        raise Unwritable("fractions of seconds before 1970 cannot be written to ORC files yet")
    return values if values.type == kind else values.cast(kind)
