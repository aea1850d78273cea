"""Converts values of columns whose type changed after their file was written, as Java's readers do.

Called by adapters to read columns of old files, and to check schemas before any work. `cast_between` has no
rule where a result could differ from Java's, and such tables are refused. Follows Paimon's `CastExecutors`.
Vectorised; a null stays a null.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.octets import decimal_words
from lithify.columns.order import IntPart, timestamps_as_instants
from lithify.files.nesting import (
    list_of,
    map_of,
    nulls,
    struct_of,
)
from lithify.files.types import (
    UNBOUNDED,
    ColumnType,
    Field,
    arrow_type,
)

Cast = Callable[[pa.Array], pa.Array]

_INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_FLOATS = ("FLOAT", "DOUBLE")
_WIDTHS = {pa.float32(): np.float32, pa.float64(): np.float64}
_LONG_DIGITS = 18
"""Java computes with decimals of up to this precision as 64-bit integers."""
_PLAIN_SCALE = 6
"""Largest scale at which Arrow writes small decimals without scientific notation."""


def reads_as(old: ColumnType, newest: ColumnType) -> bool:
    """Whether values of the old type are valid values of the new one unchanged."""
    if old.root != newest.root:
        return False
    if old.root in ("VARCHAR", "VARBINARY"):
        # Values may be longer than declared; Java truncates them to a new bound when reading.
        return newest.precision in (old.precision, UNBOUNDED)
    parts = zip_longest(old.fields, newest.fields)
    return (old.precision, old.scale) == (newest.precision, newest.scale) and all(
        before is not None and after is not None and _part_reads_as(before, after) for before, after in parts
    )


def _part_reads_as(old: Field, newest: Field) -> bool:
    return (old.id, old.name) == (newest.id, newest.name) and reads_as(old.type, newest.type)


def cast_between(old: ColumnType, newest: ColumnType) -> Cast | None:
    """Returns the conversion between two types; None if nothing converts as Java would."""
    target = arrow_type(newest)
    if reads_as(old, newest):
        return partial(_renamed, kind=target)
    if old.is_nested or newest.is_nested:
        return _nested(old, newest) if _keeps_some(old, newest) else _nothing(newest)
    if newest.root == "DECIMAL":
        return _to_decimal(old, newest)
    if old.root == "DECIMAL":
        return _from_decimal(old, newest)
    if newest.is_string:
        return _to_text(old, newest)
    if newest.is_binary and (old.is_binary or old.is_string):
        return partial(_cut_bytes, column=newest)
    return _to_number(old, newest, target) or _to_time(old, newest, target)


def _renamed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same values; the types may differ in nullability and names."""
    return values if values.type == kind or pa.types.is_dictionary(values.type) else values.cast(kind)


def _keeps_some(old: ColumnType, newest: ColumnType) -> bool:
    """Whether a column, and each list and map in it, keeps at least one old part; otherwise Java reads null.

    Follows `pruneDataType` of Paimon's `FormatReaderMapping`.
    """
    if old.root != newest.root:
        return True
    if old.root == "ROW":
        types = {part.id: part.type for part in old.fields}
        return any(part.id in types and _keeps_some(types[part.id], part.type) for part in newest.fields)
    return all(_keeps_some(was.type, now.type) for was, now in zip(old.fields, newest.fields, strict=True))


def _nothing(newest: ColumnType) -> Cast | None:
    kind = arrow_type(newest)
    return (lambda values: nulls(len(values), kind)) if newest.nullable else None


def _nested(old: ColumnType, newest: ColumnType) -> Cast | None:
    """Casts the parts of a type; row fields are matched by id. Java casts neither map keys nor vectors."""
    if old.root != newest.root or old.root in ("MULTISET", "VECTOR"):
        return None
    if old.root == "ROW":
        return _row(old, newest)
    if old.root == "MAP" and not reads_as(old.fields[0].type, newest.fields[0].type):
        return None
    casts = [cast_between(was.type, now.type) for was, now in zip(old.fields, newest.fields, strict=True)]
    kind = arrow_type(newest)
    if (last := casts[-1]) is None:
        return None
    if old.root == "ARRAY":
        return lambda values: list_of(values, kind, last(values.values))
    return lambda values: map_of(values, kind, values.keys, last(values.items))


def _row(old: ColumnType, newest: ColumnType) -> Cast | None:
    places = {part.id: place for place, part in enumerate(old.fields)}
    parts: list[tuple[int, Cast] | None] = []
    for part in newest.fields:
        place = places.get(part.id)
        if place is None:
            parts.append(None)
        elif (change := cast_between(old.fields[place].type, part.type)) is None:
            return None
        else:
            parts.append((place, change))
    kind = arrow_type(newest)

    def converted(values: pa.Array) -> pa.Array:
        columns = [
            nulls(len(values), kind.field(number).type) if part is None else part[1](values.field(part[0]))
            for number, part in enumerate(parts)
        ]
        return struct_of(values, kind, columns)

    return converted


def _to_number(old: ColumnType, newest: ColumnType, target: pa.DataType) -> Cast | None:
    """Casts to integers, floats and booleans; integers that overflow lose their upper bits."""
    if newest.root == "BOOLEAN":
        return (lambda values: pc.not_equal(values, 0)) if old.root in _INTEGERS else None
    if newest.root not in (*_INTEGERS, *_FLOATS):
        return None
    if old.root == "BOOLEAN":
        return lambda values: values.cast(pa.int8()).cast(target)
    if old.root in _INTEGERS or (old.root in _FLOATS and newest.root in _FLOATS):
        return lambda values: values.cast(target, safe=False)
    return partial(_truncated, bits=_INTEGERS[newest.root]) if old.root in _FLOATS else None


def _truncated(values: pa.Array, bits: int) -> pa.Array:
    """Casts floats to integers: to INT or BIGINT (NaN is 0, overflow is clamped), then drops upper bits."""
    width = max(32, bits)
    floats = values.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False)
    floats = np.nan_to_num(np.trunc(floats), nan=0.0, posinf=np.inf, neginf=-np.inf)
    top = 2.0 ** (width - 1)
    inside = (floats >= -top) & (floats < top)
    wide = np.where(inside, floats, 0.0).astype(np.int64)
    wide = np.where(floats >= top, np.int64((1 << (width - 1)) - 1), wide)
    wide = np.where(floats < -top, np.int64(-(1 << (width - 1))), wide)
    return pa.array(wide.astype(f"int{bits}"), mask=_nulls(values))


def _to_decimal(old: ColumnType, newest: ColumnType) -> Cast | None:
    if old.root == "BOOLEAN":
        return lambda values: _decimal(values.cast(pa.int8()).cast(pa.int64()), newest, 0)
    if old.root in _INTEGERS:
        return lambda values: _decimal(values.cast(pa.int64()), newest, 0)
    return (lambda values: _decimal(values, newest, old.scale)) if old.root == "DECIMAL" else None


def _decimal(values: pa.Array, newest: ColumnType, scale: int) -> pa.Array:
    """Rounds numbers half up to the scale of a DECIMAL.

    Raises:
        pa.ArrowInvalid: a number has too many integer digits; Java's readers fail there, too.
    """
    wide = values.cast(pa.decimal128(19, 0)) if pa.types.is_integer(values.type) else values
    wide = wide.cast(pa.decimal256(76 - max(0, newest.scale - scale), scale))
    if newest.scale < scale:
        wide = pc.round(wide, ndigits=newest.scale, round_mode="half_towards_infinity")
    return wide.cast(pa.decimal256(76, newest.scale)).cast(arrow_type(newest))


def _from_decimal(old: ColumnType, newest: ColumnType) -> Cast | None:
    if newest.root in _INTEGERS:
        return partial(_whole, old=old, bits=_INTEGERS[newest.root])
    if newest.root in _FLOATS and old.precision <= _LONG_DIGITS:
        return partial(_quotient, scale=old.scale, target=arrow_type(newest))
    return _to_text(old, newest) if newest.is_string and old.scale <= _PLAIN_SCALE else None


def _whole(values: pa.Array, old: ColumnType, bits: int) -> pa.Array:
    """Decimals truncated to integers; those that overflow lose their upper bits."""
    whole = values.cast(pa.decimal128(38, old.scale)).cast(pa.decimal128(38, 0), safe=False)
    return pa.array(_low_words(whole).astype(f"int{bits}"), mask=_nulls(values))


def _quotient(values: pa.Array, scale: int, target: pa.DataType) -> pa.Array:
    quotients = _low_words(values).astype(np.float64) / 10.0**scale
    with np.errstate(over="ignore"):
        return pa.array(quotients.astype(_WIDTHS[target]), mask=_nulls(values))


def _low_words(decimals: pa.Array) -> IntPart:
    """The lower 64 bits of the unscaled values."""
    return decimal_words(decimals)[:, 0]


def _to_text(old: ColumnType, newest: ColumnType) -> Cast | None:
    if old.is_string or old.root in _INTEGERS or old.root in ("BOOLEAN", "DECIMAL"):
        return partial(_cut_text, column=newest)
    return None


def _cut_text(values: pa.Array, column: ColumnType) -> pa.Array:
    """Casts to text and truncates it to the declared length; a CHAR is padded with blanks."""
    texts = values.cast(pa.string())
    if column.root == "CHAR":
        texts = pc.utf8_rpad(texts, column.precision)
    return texts if column.precision == UNBOUNDED else pc.utf8_slice_codeunits(texts, 0, column.precision)


def _cut_bytes(values: pa.Array, column: ColumnType) -> pa.Array:
    """Truncates to the declared length; a BINARY is padded with zeros."""
    blobs = values.cast(pa.binary())
    if column.root == "BINARY":
        blobs = pc.binary_join_element_wise(blobs, b"\x00" * column.precision, b"")
    return blobs if column.precision == UNBOUNDED else pc.binary_slice(blobs, 0, column.precision)


def _to_time(old: ColumnType, newest: ColumnType, target: pa.DataType) -> Cast | None:
    """Casts between DATE and TIMESTAMP, and to higher precision; others depend on the reader's time zone."""
    if old.is_timestamp and old.root == newest.root and old.precision <= newest.precision:
        if newest.is_nanos and not old.is_nanos:
            return timestamps_as_instants
        return lambda values: values.cast(target)
    if old.root == "DATE" and newest.root == "TIMESTAMP":
        return partial(_midnights, newest=newest)
    if old.root == "TIMESTAMP" and newest.root == "DATE" and not old.is_nanos:
        return _days
    return None


def _midnights(values: pa.Array, newest: ColumnType) -> pa.Array:
    moments = values.cast(pa.timestamp("ms"))
    return timestamps_as_instants(moments) if newest.is_nanos else moments.cast(arrow_type(newest))


def _days(values: pa.Array) -> pa.Array:
    """Days since 1970, rounded towards zero after rounding milliseconds down, as Java does."""
    ticks: IntPart = values.view(pa.int64()).fill_null(0).to_numpy()
    millis = ticks // 1000 if values.type.unit == "us" else ticks
    days = np.trunc(millis / 86_400_000).astype(np.int32)
    return pa.array(days, mask=_nulls(values)).view(pa.date32())


def _nulls(values: pa.Array) -> npt.NDArray[np.bool_]:
    return cast(npt.NDArray[np.bool_], values.is_null().to_numpy(zero_copy_only=False))
