"""Paimon's atomic types: how a column looks in Arrow and in a BinaryRow, and into which parts it orders.

Used by the rest of this package. A *raw* value is a column's value as plain Python without loss: an int for
booleans, integers, dates (days), times (milliseconds), decimals (unscaled) and timestamps (milliseconds up
to precision 3, else microseconds); bytes for strings (UTF-8) and binaries; a float for FLOAT and DOUBLE.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.rewriting.order import KeyValue, fold_float

Raw: TypeAlias = int | float | bytes | None

_TYPE = re.compile(r"(?P<root>[A-Z_]+)(?:\((?P<arguments>[\d, ]+)\))?(?P<zoned> WITH LOCAL TIME ZONE)?")
_ALIASES = {
    "INTEGER": "INT",
    "STRING": "VARCHAR",
    "BYTES": "VARBINARY",
    "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
}
UNBOUNDED = (1 << 31) - 1
"""The length of strings and binaries that have no bound."""
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
_WORD = (1 << 64) - 1
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True)
class ColumnType:
    """An atomic type; `precision` is the length where it is one of strings or binaries, 0 without either."""

    root: str
    precision: int = 0
    scale: int = 0
    nullable: bool = True

    @property
    def is_bytes(self) -> bool:
        """Whether raw values are bytes."""
        return self.is_string or self.is_binary

    @property
    def is_string(self) -> bool:
        """Whether raw values are UTF-8."""
        return self.root in ("CHAR", "VARCHAR")

    @property
    def is_binary(self) -> bool:
        """Whether raw values are bytes that are no text."""
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


def parse_type(text: str) -> ColumnType:
    """Reads a type as Paimon's schema files write it; a nested type becomes one with a root of its own."""
    stripped = text.strip().upper()
    nullable = not stripped.endswith(" NOT NULL")
    match = _TYPE.fullmatch(stripped.removesuffix(" NOT NULL").strip())
    if match is None:
        return ColumnType(stripped, nullable=nullable)
    root = _ALIASES.get(match["root"], match["root"])
    if match["zoned"] and root == "TIMESTAMP":
        root = "TIMESTAMP_LTZ"
    numbers = [int(number) for number in (match["arguments"] or "").split(",") if number.strip()]
    default = _DEFAULT_PRECISION.get(match["root"], _DEFAULT_PRECISION.get(root, 0))
    precision = numbers[0] if numbers else default
    return ColumnType(root, precision, numbers[1] if len(numbers) > 1 else 0, nullable)


def arrow_type(column: ColumnType) -> pa.DataType:
    """The Arrow type that Java's Parquet files of this type read as.

    Raises:
        KeyError: the type is not one that `support` lets through.
    """
    if column.root == "DECIMAL":
        return pa.decimal128(column.precision, column.scale)
    if column.is_timestamp:
        unit = "ms" if column.precision <= 3 else "us"
        return pa.timestamp(unit, tz="UTC" if column.root == "TIMESTAMP_LTZ" else None)
    return _INTEGERS.get(column.root) or _OTHERS[column.root]


def order_kinds(column: ColumnType) -> tuple[type[int] | type[bytes], ...]:
    """What the order parts of a key column of this type are made of (see `rewriting.order`)."""
    if column.is_bytes:
        return (bytes,)
    return (int, int) if column.is_wide_decimal else (int,)


def order_parts(column: ColumnType, raw: Raw) -> tuple[KeyValue, ...]:
    """The order parts of one raw value of a key column, equal to those of `rewriting.order`.

    Raises:
        CorruptTable: a key is null.
    """
    if raw is None:
        raise CorruptTable("manifest", "a key bound of a data file is null")
    if isinstance(raw, bytes):
        return (raw,)
    if isinstance(raw, float):
        return (fold_float(raw),)
    if column.is_wide_decimal:
        return (raw >> 64, (raw & _WORD) - _SIGN)
    return (raw,)


def raw_of_parts(column: ColumnType, parts: tuple[KeyValue, ...]) -> Raw:
    """The inverse of `order_parts` for every type that may be a key."""
    if column.is_wide_decimal:
        upper, lower = parts
        return (int(upper) << 64) | (int(lower) + _SIGN)
    return parts[0]
