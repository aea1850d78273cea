"""Timestamps of ORC files, which PyArrow reads as nanoseconds of 64 bits.

Called by `values`, and by the reader and the writer beside this module. Pure. What Java does was seen by
running it (docs/design/0017-formats.md).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lithify.rewriting.order import IntPart, timestamps_as_instants

_NANOS = 1_000
_WRAP_MICROS, _WRAP_REST = divmod(1 << 64, _NANOS)
_EARLIEST, _LATEST = -6, 15
"""How often the nanoseconds of the years 0 to 9999 wrap around 64 bits, with room."""

_DAY_MILLIS = 86_400_000
_NANOS_RANGE = ((-(2**63)) // 1_000_000 + _DAY_MILLIS, (2**63 - 1) // 1_000_000 - _DAY_MILLIS)
"""Milliseconds whose nanoseconds fit, a day less at either end."""


def _wraps_by_rest() -> IntPart:
    """For the rest of a wrapped number of nanoseconds by 1000: how often it was wrapped, 99 for never."""
    wraps = np.full(_NANOS, 99, dtype=np.int64)
    for count in range(_EARLIEST, _LATEST):
        wraps[-count * _WRAP_REST % _NANOS] = count
    return wraps


_WRAPS = _wraps_by_rest()


def keep_their_nanos(millis: tuple[int, int] | None) -> bool:
    """Whether PyArrow's nanoseconds hold all timestamps of a file, of which these are the bounds."""
    return millis is not None and _NANOS_RANGE[0] < millis[0] and millis[1] < _NANOS_RANGE[1]


def unwrapped(
    column: pa.Array, kind: pa.DataType, millis: tuple[int, int] | None = None, ahead: int = 0
) -> pa.Array:
    """Timestamps in the unit of their type.

    PyArrow lets those that are out of range wrap around. Microseconds can be told from what is left: 2^64 is
    no multiple of 1000, so the last three digits say how often a value was wrapped.

    Args:
        column: what PyArrow reads.
        kind: milliseconds or microseconds.
        millis: bounds of the file's timestamps in the column, as its footer says.
        ahead: as in `as_java_counts`.

    Raises:
        ArrowInvalid: a timestamp has more digits than its type.
    """
    micros, rest = np.divmod(_ticks(column), _NANOS)
    wraps = np.where(rest == 0, 0, 99) if keep_their_nanos(millis) else _WRAPS[rest]
    if (wraps == 99).any():
        raise pa.ArrowInvalid("a timestamp has more than six digits behind the second")
    micros = micros + wraps * np.int64(_WRAP_MICROS) + (rest + wraps * np.int64(_WRAP_REST)) // _NANOS
    whole = _column(as_java_counts(micros, 10**6, ahead), column)
    return whole.view(pa.timestamp("us", tz=kind.tz)).cast(kind)


def as_instants(column: pa.Array, ahead: int = 0) -> pa.Array:
    """Timestamps of nanoseconds, none of which was wrapped."""
    if not ahead:
        return timestamps_as_instants(column)
    nanos = as_java_counts(_ticks(column), 10**9, ahead)
    return timestamps_as_instants(_column(nanos, column).view(pa.timestamp("ns")))


def as_java_counts(ticks: IntPart, per_second: int, ahead: int) -> IntPart:
    """Timestamps without time zone on the second on which Java sees them.

    Before 1970, files hold the second after a fraction of at least a millisecond, and readers go back by one.
    C++ goes by the clock on the wall, Java by that of UTC, so that both differ between the two midnights.

    Args:
        ticks: the timestamps as C++ reads them.
        per_second: their unit.
        ahead: seconds by which the writer's clock was ahead of UTC when 1970 began.
    """
    if not ahead:
        return ticks
    seconds, rest = np.divmod(ticks, np.int64(per_second))
    is_fraction = rest >= per_second // 1000
    stored = seconds + (is_fraction & (seconds < -1))
    steps: IntPart = (stored < 0).astype(np.int64) - (stored < ahead)
    return ticks + steps * is_fraction * np.int64(per_second)


def is_writable(column: pa.Array) -> bool:
    """Whether Java can read what PyArrow writes, which has negative fractions of a second before 1970.

    Java's ORC library reads these right, but Java Paimon then takes the part below the millisecond by itself,
    and that must not be negative.
    """
    if column.type.unit == "ms":
        return True
    ticks = _ticks(column)
    return not ((ticks < 0) & (ticks % 1_000 != 0)).any()


def _ticks(column: pa.Array) -> IntPart:
    ticks: IntPart = column.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return ticks


def _column(ticks: IntPart, like: pa.Array) -> pa.Array:
    """Whole numbers with the nulls of another column."""
    return pa.array(ticks, pa.int64(), mask=like.is_null().to_numpy(zero_copy_only=False))
