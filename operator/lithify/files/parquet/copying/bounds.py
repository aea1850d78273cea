"""Whether the statistics of row groups are exact, and those of several column chunks together.

Called where row groups and pages are copied without decoding them. Where a footer may have rounded, left out
or misjudged a value, the row group or column has to be decoded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import pyarrow.parquet as pq

from lithify.files.parquet.copying.footers import (
    STATISTICS,
    ColumnChunk,
    ParquetFooter,
    checking,
)
from lithify.files.parquet.sound_statistics import are_sound, is_flat
from lithify.files.parquet.structs import (
    Struct,
    binary,
    i64,
    integer_of,
)

_NULLS, _MAX, _MIN, _IS_MAX_EXACT, _IS_MIN_EXACT = 3, 5, 6, 7, 8
"""Fields of Statistics in `parquet.thrift`. Writers disagreed on the older ones, which are ignored."""
_WIDTHS = ("BOOLEAN", "INT32", "INT64")
"""Types whose values, and hence statistics, are short."""
_FLOATS = ("FLOAT", "DOUBLE")
_TEXTS = ("String", "Enum", "JSON", "None")
_FIXED = ("None", "Int", "Time", "Timestamp", "Date")
_DIGITS = 38

BoundsReading = Callable[[bytes], int | bytes]
"""Makes of the bytes of a statistic a value that compares as in Parquet."""


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
    return low in (high, min((low, high), key=read))


def joined_statistics(
    chunks: Sequence[ColumnChunk], column: pq.ColumnSchema, read: BoundsReading
) -> Struct | None:
    """Statistics of the values of several chunks of a flat column, None if theirs are not exact.

    Texts and bytes have no bounds if any of the chunks has none.
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
        low = min((fields[_MIN].binary for fields in with_values), key=read)
        high = max((fields[_MAX].binary for fields in with_values), key=read)
        joined |= {_MIN: binary(low), _MAX: binary(high)}
    return joined


def bounds_reading(column: pq.ColumnSchema) -> BoundsReading | None:
    """How to read sound statistics of a column, None for types whose statistics are not exact."""
    logical = json.loads(column.logical_type.to_json())
    name, physical = logical["Type"], column.physical_type
    if name == "Decimal":
        order: Literal["little", "big"] = "little" if physical in _WIDTHS else "big"
        return partial(int.from_bytes, byteorder=order, signed=True) if column.precision <= _DIGITS else None
    if physical == "BOOLEAN" or (physical in _WIDTHS and name in _FIXED):
        is_signed = physical != "BOOLEAN" and logical.get("isSigned", True)
        return partial(int.from_bytes, byteorder="little", signed=is_signed)
    return bytes if physical == "BYTE_ARRAY" and name in _TEXTS else None
