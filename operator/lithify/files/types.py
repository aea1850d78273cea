"""Types of columns: their form in Arrow, their raw values, and the parts by which they are ordered.

Used by the rest of this package and by adapters, which read types from the texts of their format. A *raw*
value is a column's value as plain Python without loss: an int for booleans, integers, dates (days), times
(milliseconds), decimals (unscaled) and timestamps (milliseconds up to precision 3, microseconds up to 6, else
nanoseconds); bytes for strings (UTF-8) and binaries; a float for FLOAT and DOUBLE. Nested types have no raw
values: they are neither keys nor do they have statistics.

Some types belong to Iceberg alone and have no raw values here: `TIME_MICROS`, `TIMESTAMP_NANOS` and
`TIMESTAMP_LTZ_NANOS` (Arrow's nanoseconds), `UUID`, `FIXED` (of `precision` bytes).

Timestamps of nanoseconds are 12 bytes in Arrow, as in Parquet's INT96 (see `columns.order`): Arrow's own
nanoseconds end in the year 2262.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from lithify.columns.order import (
    DAY_NANOS,
    EPOCH_DAY,
    INSTANT,
    KeyValue,
    fold_float,
    unfold_float,
)
from lithify.errors import CorruptTable, UnsupportedTable

Raw: TypeAlias = int | float | bytes | None

_NAN = "a value of the key is NaN, which has no place in an order; delete or overwrite such rows first"

UNBOUNDED = (1 << 31) - 1
"""Length of strings and binaries without a bound."""
_INTEGERS = {"TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64()}
_OTHERS = {
    "BOOLEAN": pa.bool_(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIME": pa.time32("ms"),
    "TIME_MICROS": pa.time64("us"),
    "TIMESTAMP_NANOS": pa.timestamp("ns"),
    "TIMESTAMP_LTZ_NANOS": pa.timestamp("ns", "UTC"),
    "UUID": pa.binary(16),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
}
NESTED = frozenset({"ARRAY", "MAP", "MULTISET", "ROW", "VARIANT", "VECTOR"})
LISTS = frozenset({"ARRAY", "VECTOR"})
"""Nested types that are lists in Arrow; nobody checks a VECTOR's values against its length."""
RECORDS = frozenset({"ROW", "VARIANT"})
"""Nested types whose parts have ids."""
_MILLIS, _MICROS = 3, 6
_WORD = (1 << 64) - 1
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a nested type: a field of a ROW, an element of a list, the key or value of a MAP."""

    name: str
    type: ColumnType
    id: int = -1
    """Identifies fields of a ROW across renames; -1 for other parts, unless the format gives them ids,
    too."""
    default: Any = None
    """Value in files without the field, where a format has such; None for null."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type; `precision` is also the length of strings, binaries and vectors, 0 if there is neither.

    `fields` are the parts of a nested type. MULTISET and VARIANT have the parts of their stored form.
    """

    root: str
    precision: int = 0
    scale: int = 0
    nullable: bool = True
    fields: tuple[Field, ...] = ()

    @property
    def is_nested(self) -> bool:
        """Whether the type is nested."""
        return self.root in NESTED

    @property
    def is_nanos(self) -> bool:
        """Whether it is a timestamp with more than microsecond precision."""
        return self.is_timestamp and self.precision > _MICROS

    @property
    def is_bytes(self) -> bool:
        """Whether raw values are bytes."""
        return self.is_string or self.is_binary

    @property
    def is_string(self) -> bool:
        """Whether raw values are UTF-8 text."""
        return self.root in ("CHAR", "VARCHAR")

    @property
    def is_binary(self) -> bool:
        """Whether raw values are bytes other than text."""
        return self.root in ("BINARY", "VARBINARY")

    @property
    def is_float(self) -> bool:
        """Whether raw values are floats."""
        return self.root in ("FLOAT", "DOUBLE")

    @property
    def is_timestamp(self) -> bool:
        """Whether it is a timestamp, with or without local time zone."""
        return self.root in ("TIMESTAMP", "TIMESTAMP_LTZ")

    @property
    def is_wide_decimal(self) -> bool:
        """Whether an unscaled value may need more than 64 bits."""
        return self.root == "DECIMAL" and self.precision > 18


VARIANT = ColumnType(
    "VARIANT",
    fields=tuple(
        Field(name, ColumnType("VARBINARY", UNBOUNDED, nullable=False), number)
        for number, name in enumerate(("value", "metadata"))
    ),
)
"""A VARIANT with the parts of its unshredded form."""


AS_STORED = ColumnType("AS_STORED")
"""A column of any type, which is read as a Parquet file has it."""


def arrow_type(column: ColumnType) -> pa.DataType:
    """The Arrow type of a column of this type.

    Raises:
        KeyError: `support` does not allow the type.
    """
    if column.is_nested:
        return _nested_arrow_type(column)
    if column.root == "DECIMAL":
        return pa.decimal128(column.precision, column.scale)
    if column.is_nanos:
        return INSTANT
    if column.root == "FIXED":
        return pa.binary(column.precision)
    if column.is_timestamp:
        unit = "ms" if column.precision <= _MILLIS else "us"
        return pa.timestamp(unit, tz="UTC" if column.root == "TIMESTAMP_LTZ" else None)
    return _INTEGERS.get(column.root) or _OTHERS[column.root]


def _nested_arrow_type(column: ColumnType) -> pa.DataType:
    fields = [pa.field(part.name, arrow_type(part.type), part.type.nullable) for part in column.fields]
    if column.root in RECORDS:
        return pa.struct(fields)
    return pa.list_(fields[0]) if column.root in LISTS else pa.map_(*fields)


def field_ids(column: ColumnType) -> Iterator[int]:
    """The ids of the ROW fields in a type, at any depth."""
    for part in column.fields:
        if part.id >= 0:
            yield part.id
        yield from field_ids(part.type)


def order_kinds(column: ColumnType) -> tuple[type[int] | type[bytes], ...]:
    """The kinds of the order parts of a key column (see `columns.order`)."""
    if column.is_bytes:
        return (bytes,)
    return (int, int) if column.is_wide_decimal or column.is_nanos else (int,)


def order_parts(column: ColumnType, raw: Raw, name: str = "") -> tuple[KeyValue, ...]:
    """The order parts of one raw value of a key column, equal to those of `columns.order`.

    The errors name the column; callers that know the data file add its name (see `FileMeta.as_data_file`).

    Raises:
        CorruptTable: a key is null.
        UnsupportedTable: it is NaN.
    """
    if raw is None:
        raise CorruptTable("a data file", f"the bound of its key column {name} is null")
    if isinstance(raw, bytes):
        return (raw,)
    if isinstance(raw, float):
        if math.isnan(raw):
            raise UnsupportedTable("a data file", (f"column {name}: {_NAN}",))
        return (fold_float(raw),)
    if column.is_wide_decimal:
        return (raw >> 64, (raw & _WORD) - _SIGN)
    if column.is_nanos:
        days, nanos = divmod(raw, DAY_NANOS)
        return (days + EPOCH_DAY, nanos)
    return (raw,)


def raw_of_parts(column: ColumnType, parts: tuple[KeyValue, ...]) -> Raw:
    """The inverse of `order_parts`, except for the sign of a zero."""
    if column.is_float:
        return unfold_float(int(parts[0]))
    if column.is_wide_decimal:
        upper, lower = parts
        return (int(upper) << 64) | (int(lower) + _SIGN)
    if column.is_nanos:
        day, nanos = parts
        return (int(day) - EPOCH_DAY) * DAY_NANOS + int(nanos)
    return parts[0]
