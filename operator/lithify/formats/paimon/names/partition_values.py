"""Partitions of Paimon tables as typed values, from their BinaryRow and from the texts of users.

Used by `file_locations`. Pure. Texts may have either spelling of a directory name (`partition_names`),
whichever the table uses: dates are also days since 1970, times also milliseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial

from lithify.files.types import ColumnType, Raw
from lithify.formats.paimon.names.partition_names import instant, is_blank
from lithify.formats.paimon.rows.binary_row import decode_row
from lithify.formats.protocol.partition import PartitionField, PartitionSpec, Scalar
from lithify.formats.protocol.partition_texts import (
    read_boolean,
    read_date,
    read_decimal,
    read_float,
    read_integer,
    read_time,
    read_timestamp,
)

_MILLI_NANOS = 1_000_000
_SECOND_NANOS = 1_000_000_000


def partition_spec(names: Sequence[str], types: Sequence[ColumnType], default: str) -> PartitionSpec:
    """The spec of a table: its partition columns never change.

    Args:
        names: the partition columns.
        types: their types.
        default: replacement for null or blank values in directory names.
    """
    fields = (
        PartitionField(name, column.root, _reader(column)) for name, column in zip(names, types, strict=True)
    )
    return PartitionSpec(0, tuple(fields), default)


def partition_values(row: bytes, types: Sequence[ColumnType], default: str) -> tuple[Scalar, ...]:
    """The values of a partition: decimals as such, dates in days, times and timestamps in nanoseconds.

    Blank texts, and a text equal to their replacement, share the directory of null, so they are null.

    Args:
        row: the partition as a BinaryRow.
        types: the types of its columns.
        default: replacement for null or blank values in directory names.
    """
    values = decode_row(row, types)
    return tuple(
        _moment(row, number, types)
        if value is not None and column.is_timestamp
        else _value(value, column, default)
        for number, (value, column) in enumerate(zip(values, types, strict=True))
    )


def _moment(row: bytes, field: int, types: Sequence[ColumnType]) -> int:
    seconds, nanos = instant(row, field, len(types), types[field])
    return seconds * _SECOND_NANOS + nanos


def _value(value: Raw, column: ColumnType, default: str) -> Scalar:
    if isinstance(value, bytes):
        text = value.decode("utf-8", errors="replace")
        return None if text == default or is_blank(text) else text
    if value is None or isinstance(value, float):
        return value
    if column.root == "BOOLEAN":
        return bool(value)
    if column.root == "DECIMAL":
        return Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -column.scale))
    return value * _MILLI_NANOS if column.root == "TIME" else value


def _reader(column: ColumnType) -> Callable[[str], Scalar]:
    """The function that reads a text as a value of a column."""
    if column.is_timestamp:
        return read_timestamp
    return _READERS.get(column.root, _read_text)


def _read_text(text: str) -> Scalar:
    return None if is_blank(text) else text


def _read_single(text: str) -> float:
    try:
        found: float = struct.unpack(">f", struct.pack(">f", read_float(text)))[0]
    except OverflowError as error:
        raise ValueError(text) from error
    return found


def _read_number_or(read: Callable[[str], int], scale: int, text: str) -> int:
    """Reads a text in the form of legacy names, a number, or in the other one."""
    try:
        return read_integer(text) * scale
    except ValueError:
        return read(text)


_READERS: dict[str, Callable[[str], Scalar]] = {
    "BOOLEAN": read_boolean,
    "TINYINT": read_integer,
    "SMALLINT": read_integer,
    "INT": read_integer,
    "BIGINT": read_integer,
    "DECIMAL": read_decimal,
    "FLOAT": _read_single,
    "DOUBLE": read_float,
    "DATE": partial(_read_number_or, read_date, 1),
    "TIME": partial(_read_number_or, read_time, _MILLI_NANOS),
}
