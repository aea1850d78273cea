"""Paimon's types: their form in Arrow, their raw values, and the parts by which they are ordered.

Used by the rest of this package. A *raw* value is a column's value as plain Python without loss: an int for
booleans, integers, dates (days), times (milliseconds), decimals (unscaled) and timestamps (milliseconds up to
precision 3, microseconds up to 6, else nanoseconds); bytes for strings (UTF-8) and binaries; a float for
FLOAT and DOUBLE. Nested types have no raw values: they are neither keys nor do they have statistics.

Timestamps of nanoseconds are 12 bytes in Arrow, as in Parquet's INT96 (see `columns.order`): Arrow's own
nanoseconds end in the year 2262.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
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

NO_ORDER = (
    "a value of the key or sequence is NaN, which Paimon 1.4 holds equal to every number, so that the result "
    "of a compaction would depend on the order of the files; delete or overwrite such rows first"
)
"""Reason why rows with a NaN there are not merged."""

_TYPE = re.compile(r"(?P<root>[A-Z_]+)(?:\((?P<arguments>[\d, ]+)\))?(?P<zoned> WITH LOCAL TIME ZONE)?")
_ALIASES = {
    "INTEGER": "INT",
    "STRING": "VARCHAR",
    "BYTES": "VARBINARY",
    "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
}
UNBOUNDED = (1 << 31) - 1
"""Length of strings and binaries without a bound."""
_DEFAULT_PRECISION = {
    "DECIMAL": 10,
    "TIMESTAMP": 6,
    "TIMESTAMP_LTZ": 6,
    "STRING": UNBOUNDED,
    "BYTES": UNBOUNDED,
    "CHAR": 1,
    "VARCHAR": 1,
    "BINARY": 1,
    "VARBINARY": 1,
}
_INTEGERS = {"TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64()}
_OTHERS = {
    "BOOLEAN": pa.bool_(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIME": pa.time32("ms"),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
}
NESTED = frozenset({"ARRAY", "MAP", "MULTISET", "ROW", "VARIANT", "VECTOR"})
LISTS = frozenset({"ARRAY", "VECTOR"})
"""Nested types that are lists in Arrow; Paimon does not check a VECTOR's values against its length, either.
"""
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
    """Identifies fields of a ROW across renames; -1 for other parts."""


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


def parse_type(written: str | Mapping[str, Any]) -> ColumnType:
    """Parses a type from Paimon's schema files: text, or an object for nested types.

    An unknown type gets its own name as root.
    """
    return _parse_text(written) if isinstance(written, str) else _parse_object(written)


def _parse_object(written: Mapping[str, Any]) -> ColumnType:
    text = str(written["type"]).upper()
    root, nullable = text.removesuffix(" NOT NULL").strip(), not text.endswith(" NOT NULL")
    if root == "ROW":
        fields = tuple(
            Field(each["name"], parse_type(each["type"]), each["id"]) for each in written["fields"]
        )
    elif root in LISTS:
        fields = (Field("element", parse_type(written["element"])),)
    elif root == "MAP":
        fields = (Field("key", _not_null(written["key"])), Field("value", parse_type(written["value"])))
    elif root == "MULTISET":
        fields = (Field("key", _not_null(written["element"])), Field("value", _COUNT))
    else:
        return ColumnType(f"{root} {dict(written)}", nullable=nullable)
    return ColumnType(root, int(written.get("length", 0)), nullable=nullable, fields=fields)


def _not_null(written: str | Mapping[str, Any]) -> ColumnType:
    """Map keys: neither Parquet nor Arrow can store null keys, whatever the schema says."""
    return replace(parse_type(written), nullable=False)


def _parse_text(text: str) -> ColumnType:
    stripped = text.strip().upper()
    nullable = not stripped.endswith(" NOT NULL")
    match = _TYPE.fullmatch(stripped.removesuffix(" NOT NULL").strip())
    if match is None:
        return ColumnType(stripped, nullable=nullable)
    root = _ALIASES.get(match["root"], match["root"])
    if match["zoned"] and root == "TIMESTAMP":
        root = "TIMESTAMP_LTZ"
    if root == "VARIANT":
        return ColumnType(root, nullable=nullable, fields=_VARIANT)
    numbers = [int(number) for number in (match["arguments"] or "").split(",") if number.strip()]
    default = _DEFAULT_PRECISION.get(match["root"], _DEFAULT_PRECISION.get(root, 0))
    precision = numbers[0] if numbers else default
    return ColumnType(root, precision, numbers[1] if len(numbers) > 1 else 0, nullable)


_VARIANT = tuple(
    Field(name, ColumnType("VARBINARY", UNBOUNDED, nullable=False), number)
    for number, name in enumerate(("value", "metadata"))
)
"""Stored form of an unshredded VARIANT."""
_COUNT = ColumnType("INT", nullable=False)
"""Type of the count of an element in a MULTISET."""


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
            raise UnsupportedTable("a data file", (f"column {name}: {NO_ORDER}",))
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
