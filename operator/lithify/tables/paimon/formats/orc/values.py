"""Values that Java's ORC files hold in another form than Arrow reads or writes.

Called by the reader and the writer beside this module. Pure. What Java does was seen by running it
(docs/design/0017-formats.md).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.rewriting.order import INSTANT, timestamps_as_instants
from lithify.tables.paimon.formats.model import Unwritable
from lithify.tables.paimon.nesting import declared_struct, list_of, map_of, rebuilt, struct_of, with_fields
from lithify.tables.paimon.types import ColumnType, arrow_type

_NANOS = 1_000
_WRAP_MICROS, _WRAP_REST = divmod(1 << 64, _NANOS)
_EARLIEST, _LATEST = -6, 15
"""How often the nanoseconds of the years 0 to 9999 wrap around 64 bits, with room."""

_DAY_MILLIS = 86_400_000
_NANOS_RANGE = ((-(2**63)) // 1_000_000 + _DAY_MILLIS, (2**63 - 1) // 1_000_000 - _DAY_MILLIS)
"""Milliseconds whose nanoseconds fit, a day less at either end."""


def _wraps_by_rest() -> npt.NDArray[np.int64]:
    """For the rest of a wrapped number of nanoseconds by 1000: how often it was wrapped, 99 for never."""
    wraps = np.full(_NANOS, 99, dtype=np.int64)
    for count in range(_EARLIEST, _LATEST):
        wraps[-count * _WRAP_REST % _NANOS] = count
    return wraps


_WRAPS = _wraps_by_rest()


def as_java_reads(column: pa.Array, kind: ColumnType, millis: tuple[int, int] | None) -> pa.Array:
    """A column as the C++ library decodes it in the form that the merge works with.

    Args:
        column: the column.
        kind: its type in the schema that the file was written with.
        millis: bounds of the file's timestamps in the column, as its footer says.

    Raises:
        ArrowInvalid: a timestamp has more digits than its type, or a part is null that must not be.
    """
    if kind.is_nested:
        return _parts_as_java_reads(column, kind)
    if kind.is_nanos:
        return timestamps_as_instants(column)
    if kind.is_timestamp:
        return unwrapped(column, arrow_type(kind), millis)
    if kind.root == "CHAR":
        # Java pads what it writes and trims what it reads.
        return pc.utf8_rtrim(column, " ")
    return column.cast(arrow_type(kind))


def _parts_as_java_reads(column: pa.Array, kind: ColumnType) -> pa.Array:
    """A nested column; the C++ library has nulls in all parts of what is null, and footers tell nothing."""
    wanted = arrow_type(kind)
    if kind.root == "ROW":
        parts = [as_java_reads(column.field(part.name), part.type, None) for part in kind.fields]
        return declared_struct(column, wanted, parts)
    last = kind.fields[-1].type
    if kind.root == "ARRAY":
        return list_of(column, wanted, as_java_reads(column.values, last, None))
    keys = as_java_reads(column.keys, kind.fields[0].type, None)
    return map_of(column, wanted, keys, as_java_reads(column.items, last, None))


def as_written(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in a form that the C++ library knows.

    Raises:
        Unwritable: a timestamp cannot be written, or not so that Java could read it.
    """
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    kind = _written_type(column.type)
    return pa.chunked_array([_written(_from_its_beginning(chunk), kind) for chunk in column.chunks], kind)


def _from_its_beginning(values: pa.Array) -> pa.Array:
    """Nested values without an offset, which PyArrow forgets where it looks for the nulls of their parts."""
    return pa.concat_arrays([values]) if pa.types.is_nested(values.type) else values


def _written_type(kind: pa.DataType) -> pa.DataType:
    """What stands for a type; fields of nested ones keep their metadata."""
    if pa.types.is_time32(kind):
        return pa.int32()
    return with_fields(kind, lambda field: field.with_type(_written_type(field.type)))


def _written(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_struct(kind):
        # PyArrow writes what it finds in the parts of a null, unless they are null themselves.
        parts = zip(values.flatten(), kind, strict=True)
        return struct_of(values, kind, [_written(part, field.type) for part, field in parts])
    if pa.types.is_nested(kind):
        return rebuilt(values, kind, _written)
    if kind.equals(INSTANT):
        raise Unwritable("timestamps of nanoseconds are written to Parquet files")
    if pa.types.is_timestamp(kind) and not _is_writable(values):
        raise Unwritable("microseconds before 1970 cannot be written to ORC files yet")
    return values if values.type == kind else values.cast(kind)


def unwrapped(column: pa.Array, kind: pa.DataType, millis: tuple[int, int] | None = None) -> pa.Array:
    """Timestamps in the unit of their type.

    PyArrow reads them as nanoseconds and lets those that are out of range wrap around. Microseconds can be
    told from what is left: 2^64 is no multiple of 1000, so the last three digits say how often a value was
    wrapped.
    """
    values = column.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    micros, rest = np.divmod(values, _NANOS)
    wraps = np.where(rest == 0, 0, 99) if keep_their_nanos(millis) else _WRAPS[rest]
    if (wraps == 99).any():
        raise pa.ArrowInvalid("a timestamp has more than six digits behind the second")
    micros = micros + wraps * np.int64(_WRAP_MICROS) + (rest + wraps * np.int64(_WRAP_REST)) // _NANOS
    whole = pa.array(micros, pa.int64(), mask=column.is_null().to_numpy(zero_copy_only=False))
    return whole.view(pa.timestamp("us", tz=kind.tz)).cast(kind)


def keep_their_nanos(millis: tuple[int, int] | None) -> bool:
    """Whether PyArrow's nanoseconds hold all timestamps of a file, of which these are the bounds."""
    return millis is not None and _NANOS_RANGE[0] < millis[0] and millis[1] < _NANOS_RANGE[1]


def _is_writable(column: pa.Array) -> bool:
    """Whether Java can read what PyArrow writes, which has negative fractions of a second before 1970.

    Java's ORC library reads these right, but Java Paimon then takes the part below the millisecond by itself,
    and that must not be negative.
    """
    if column.type.unit == "ms":
        return True
    values = column.view(pa.int64()).fill_null(0).to_numpy()
    return not ((values < 0) & (values % 1_000 != 0)).any()
