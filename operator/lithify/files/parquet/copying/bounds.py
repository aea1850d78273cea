"""Exact statistics of columns from the row groups of files, as Arrow scalars.

Called by adapters for the metadata of files that were joined without decoding them. Where a footer may have
rounded, left out or misjudged a value, there is no result: that column has to be read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.files.parquet.copying.footers import (
    COLUMN_ORDERS,
    STATISTICS,
    ColumnChunk,
    ParquetFooter,
    RowGroup,
    checking,
)
from lithify.files.parquet.sound_statistics import are_sound, is_flat
from lithify.files.parquet.structs import (
    Malformed,
    Struct,
    binary,
    i64,
    integer_of,
)

_NULLS, _MAX, _MIN, _IS_MAX_EXACT, _IS_MIN_EXACT = 3, 5, 6, 7, 8
"""Fields of Statistics in `parquet.thrift`. Writers disagreed on the older ones, which are ignored."""
_TYPE_ORDER = 1
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8}
_FLOATS = ("FLOAT", "DOUBLE")
_TEXTS = ("String", "Enum", "JSON")
_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
_DIGITS = 38
_NEVER_CUT = "parquet-cpp-arrow version "
"""Writer that leaves long values out rather than cutting them; others have to say that they are exact."""


@dataclass(frozen=True, slots=True)
class ExactBounds:
    """Minimum, maximum and number of nulls of a column; no bounds if all values are null."""

    minimum: pa.Scalar | None
    maximum: pa.Scalar | None
    nulls: int


Part = tuple[ParquetFooter, Sequence[RowGroup]]
"""A footer, and those of its row groups that are meant."""
_Raw = int | bytes


@dataclass(frozen=True, slots=True)
class BoundsReading:
    """How the bytes of a statistic become a value: first one that compares as in Parquet, then a scalar."""

    raw: Callable[[bytes], _Raw]
    scalar: Callable[[Any], pa.Scalar]


def has_exact_statistics(footer: ParquetFooter, number: int) -> bool:
    """Whether a row group's statistics tell the nulls of each column, and the bounds where they can.

    Nested columns and floats do not count: no adapter takes their bounds from footers. Texts and bytes may
    have none, because writers leave long values out; but those that are there must not be marked as cut.

    Raises:
        CorruptTable: the statistics are malformed.
    """
    schema = footer.metadata.schema
    group = footer.row_groups[number]
    with checking(footer.path):
        return all(
            _is_exact(chunk, column)
            for chunk, column in zip(group.chunks, map(schema.column, range(len(group.chunks))), strict=True)
            if is_flat(column) and column.physical_type not in _FLOATS
        )


def has_sound_statistics(footer: ParquetFooter, number: int) -> bool:
    """Whether the statistics of a column may be decoded in every row group, where there are any.

    Raises:
        CorruptTable: they are malformed.
    """
    column = footer.metadata.schema.column(number)
    with checking(footer.path):
        chunks = [group.chunks[number] for group in footer.row_groups]
        found = [chunk for chunk in chunks if STATISTICS in chunk.metadata]
        return all(are_sound(chunk.metadata[STATISTICS].struct, column, chunk.values) for chunk in found)


def _is_exact(chunk: ColumnChunk, column: pq.ColumnSchema) -> bool:
    if STATISTICS not in chunk.metadata:
        return False
    fields = chunk.metadata[STATISTICS].struct
    if _NULLS not in fields or not are_sound(fields, column, chunk.values):
        return False
    if any(number in fields and not fields[number].is_true for number in (_IS_MIN_EXACT, _IS_MAX_EXACT)):
        return False
    has_bounds = _MIN in fields and _MAX in fields
    if has_bounds and not _are_in_order(fields, column):
        return False
    may_lack_them = column.physical_type not in _WIDTHS or integer_of(fields, _NULLS) == chunk.values
    return has_bounds or may_lack_them


def _are_in_order(fields: Struct, column: pq.ColumnSchema) -> bool:
    read = bounds_reading(column)
    if read is None:
        return True
    low, high = (fields[number].binary for number in (_MIN, _MAX))
    return low in (high, min((low, high), key=read.raw))


def joined_statistics(
    chunks: Sequence[ColumnChunk], column: pq.ColumnSchema, read: BoundsReading
) -> Struct | None:
    """Statistics of the values of several chunks of a flat column, None if theirs are not exact.

    Texts and bytes have no bounds if any of the chunks has none.

    Raises:
        Malformed: a statistic is no value of the column.
    """
    if not all(_is_exact(chunk, column) for chunk in chunks):
        return None
    found = [chunk.metadata[STATISTICS].struct for chunk in chunks]
    nulls = [integer_of(fields, _NULLS) for fields in found]
    joined = {_NULLS: i64(sum(nulls))}
    with_values = [
        fields
        for fields, count, chunk in zip(found, nulls, chunks, strict=True)
        if count < chunk.values or _MIN in fields
    ]
    if with_values and all(_MIN in fields and _MAX in fields for fields in with_values):
        low = min((fields[_MIN].binary for fields in with_values), key=read.raw)
        high = max((fields[_MAX].binary for fields in with_values), key=read.raw)
        joined |= {_MIN: binary(low), _MAX: binary(high)}
    return joined


def exact_bounds(parts: Sequence[Part]) -> dict[str, ExactBounds]:
    """The statistics of columns in row groups of files with one schema, by the paths of the columns.

    Only has columns that are not nested and whose statistics are certainly exact: no floats, in which NaN and
    the sign of zero are hidden, and texts and bytes only where they cannot have been cut.

    Raises:
        CorruptTable: a statistic is no value of its column.
    """
    found: dict[str, ExactBounds] = {}
    if not parts:
        return found
    metadata = parts[0][0].metadata
    for number in range(metadata.num_columns):
        column = metadata.schema.column(number)
        read = bounds_reading(column) if is_flat(column) else None
        bounds = None if read is None else _joined(parts, number, read)
        if bounds is not None:
            found[column.path] = bounds
    return found


def _joined(parts: Sequence[Part], number: int, read: BoundsReading) -> ExactBounds | None:
    """The bounds of one column, None if they are not exact in any of the row groups."""
    lows: list[Any] = []
    highs: list[Any] = []
    nulls = 0
    for footer, groups in parts:
        with checking(footer.path):
            never_cut = _is_never_cut(footer, number)
            if never_cut is None:
                return None
            for group in (group for group in groups if group.rows):
                chunk = group.chunks[number]
                fields = chunk.metadata[STATISTICS].struct if STATISTICS in chunk.metadata else {}
                if _NULLS not in fields:
                    return None
                nulls += integer_of(fields, _NULLS)
                if integer_of(fields, _NULLS) < chunk.values:
                    bounds = _bounds(fields, read, never_cut=never_cut)
                    if bounds is None:
                        return None
                    lows.append(bounds[0])
                    highs.append(bounds[1])
    if not lows:
        return ExactBounds(None, None, nulls)
    try:
        return ExactBounds(read.scalar(min(lows)), read.scalar(max(highs)), nulls)
    except (ValueError, OverflowError):  # a text that is not UTF-8, a number with too many digits
        return None


def _is_never_cut(footer: ParquetFooter, number: int) -> bool | None:
    """Whether statistics of a column are exact unless they say otherwise; None if their order is unknown."""
    orders = footer.fields[COLUMN_ORDERS].structs if COLUMN_ORDERS in footer.fields else []
    if number >= len(orders) or _TYPE_ORDER not in orders[number]:
        return None
    is_fixed = footer.metadata.schema.column(number).physical_type in _WIDTHS
    return is_fixed or footer.created_by.startswith(_NEVER_CUT)


def _bounds(fields: Struct, read: BoundsReading, *, never_cut: bool) -> tuple[_Raw, _Raw] | None:
    ends: list[Any] = []
    for number, is_exact in ((_MIN, _IS_MIN_EXACT), (_MAX, _IS_MAX_EXACT)):
        if number not in fields:
            return None
        if not (fields[is_exact].is_true if is_exact in fields else never_cut):
            return None
        ends.append(read.raw(fields[number].binary))
    low, high = ends
    return (low, high) if low <= high else None


def bounds_reading(column: pq.ColumnSchema) -> BoundsReading | None:
    """How to read the statistics of a column, None for types whose statistics are not exact."""
    logical = json.loads(column.logical_type.to_json())
    name, physical = logical["Type"], column.physical_type
    if name == "Decimal":
        kind = pa.decimal128(column.precision, column.scale) if column.precision <= _DIGITS else None
        return None if kind is None else _of_decimals(kind, _WIDTHS.get(physical))
    if physical in _WIDTHS:
        fixed = _fixed_type(name, logical, column)
        return None if fixed is None else _of_numbers(_WIDTHS[physical], fixed)
    if physical == "BYTE_ARRAY" and name in _TEXTS:
        return BoundsReading(bytes, lambda raw: pa.scalar(raw.decode(), pa.string()))
    if physical == "BYTE_ARRAY" and name == "None":
        return BoundsReading(bytes, lambda raw: pa.scalar(raw, pa.binary()))
    return None


def _fixed_type(name: str, logical: dict[str, Any], column: pq.ColumnSchema) -> pa.DataType | None:
    """The Arrow type of a logical type that is stored as BOOLEAN, INT32 or INT64."""
    is_wide = column.physical_type == "INT64"
    if column.physical_type == "BOOLEAN":
        return pa.bool_()
    if name == "None":
        return pa.int64() if is_wide else pa.int32()
    if name == "Int":
        sign = "" if logical["isSigned"] else "u"
        return pa.type_for_alias(f"{sign}int{logical['bitWidth']}")
    if name == "Time":
        unit = _UNITS[logical["timeUnit"]]
        return pa.time64(unit) if is_wide else pa.time32(unit)
    if name == "Timestamp":
        return pa.timestamp(_UNITS[logical["timeUnit"]], "UTC" if logical["isAdjustedToUTC"] else None)
    return pa.date32() if name == "Date" else None


def _of_numbers(width: int, kind: pa.DataType) -> BoundsReading:
    is_unsigned = pa.types.is_unsigned_integer(kind)
    is_plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind)

    def raw(data: bytes) -> int:
        if len(data) != width:
            raise Malformed(f"a statistic has {len(data)} bytes instead of {width}")
        return int.from_bytes(data, "little", signed=not (is_unsigned or width == 1))

    def scalar(number: int) -> pa.Scalar:
        if is_plain:
            return pa.scalar(bool(number) if width == 1 else number, kind)
        return pa.array([number], pa.int64() if width == 8 else pa.int32()).view(kind)[0]

    return BoundsReading(raw, scalar)


def _of_decimals(kind: pa.Decimal128Type, width: int | None) -> BoundsReading:
    def raw(data: bytes) -> int:
        return int.from_bytes(data, "little" if width else "big", signed=True)

    def scalar(number: int) -> pa.Scalar:
        value = number.to_bytes(kind.byte_width, "little", signed=True)
        return pa.array([value], pa.binary(kind.byte_width)).view(kind)[0]

    return BoundsReading(raw, scalar)
