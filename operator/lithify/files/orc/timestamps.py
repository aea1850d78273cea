"""Timestamps of ORC files, which PyArrow reads as nanoseconds of 64 bits.

Called by `values`, and by the reader and the writer beside this module. Pure. Java's behaviour was observed
by running it (docs/design/0017-formats.md).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart, timestamps_as_instants

_NANOS = 1_000
_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_WRAP_MICROS, _WRAP_REST = divmod(1 << 64, _NANOS)
_EARLIEST, _LATEST = -6, 15
"""How often the nanoseconds of the years 0 to 9999 overflow 64 bits, with a margin."""

_DAY_MILLIS = 86_400_000
_NANOS_RANGE = ((-(2**63)) // 1_000_000 + _DAY_MILLIS, (2**63 - 1) // 1_000_000 - _DAY_MILLIS)
"""Range of milliseconds whose nanoseconds fit 64 bits, less a day at either end."""


def _wraps_by_rest() -> IntPart:
    """Number of overflows by the remainder of an overflowed value modulo 1000; 99 if impossible."""
    wraps = np.full(_NANOS, 99, dtype=np.int64)
    for count in range(_EARLIEST, _LATEST):
        wraps[-count * _WRAP_REST % _NANOS] = count
    return wraps


_WRAPS = _wraps_by_rest()


def keep_their_nanos(millis: tuple[int, int] | None) -> bool:
    """Whether 64-bit nanoseconds can hold all timestamps of a file with these bounds."""
    return millis is not None and _NANOS_RANGE[0] < millis[0] and millis[1] < _NANOS_RANGE[1]


def unwrapped(
    column: pa.Array,
    kind: pa.DataType,
    millis: tuple[int, int] | None = None,
    ahead: int = 0,
    *,
    drops_digits: bool = False,
) -> pa.Array:
    """Timestamps in the unit of their type, with overflows undone.

    PyArrow lets out-of-range timestamps wrap around. For microseconds the number of wraps can be recovered:
    2^64 is no multiple of 1000, so the last three digits determine it.

    Args:
        column: the column as PyArrow reads it.
        kind: milliseconds or microseconds.
        millis: bounds of the file's timestamps in the column, from its footer.
        ahead: as in `as_java_counts`.
        drops_digits: whether more digits than microseconds have are dropped, where the bounds of the file
            rule out that they come from overflows.

    Raises:
        ArrowInvalid: a timestamp has more digits than its type.
    """
    micros, rest = np.divmod(_ticks(column), _NANOS)
    is_whole = (rest == 0) | drops_digits
    wraps = np.where(is_whole, 0, 99) if keep_their_nanos(millis) else _WRAPS[rest]
    if (wraps == 99).any():
        raise pa.ArrowInvalid("a timestamp has more than six digits behind the second")
    micros = micros + wraps * np.int64(_WRAP_MICROS) + (rest + wraps * np.int64(_WRAP_REST)) // _NANOS
    whole = _column(as_java_counts(micros, 10**6, ahead), column)
    return whole.view(pa.timestamp("us", tz=kind.tz)).cast(kind)


def as_instants(column: pa.Array, ahead: int = 0) -> pa.Array:
    """Timestamps of nanoseconds, none of which overflowed."""
    if not ahead:
        return timestamps_as_instants(column)
    nanos = as_java_counts(_ticks(column), 10**9, ahead)
    return timestamps_as_instants(_column(nanos, column).view(pa.timestamp("ns")))


def as_java_counts(ticks: IntPart, per_second: int, ahead: int) -> IntPart:
    """Timestamps without time zone, shifted to the second that Java reads.

    Before 1970, files store the second after a fraction of at least a millisecond, and readers subtract one.
    C++ compares with the local epoch, Java with that of UTC, so they differ between the two midnights.

    Args:
        ticks: the timestamps as C++ reads them.
        per_second: ticks per second.
        ahead: seconds by which the writer's clock was ahead of UTC at the start of 1970.
    """
    if not ahead:
        return ticks
    seconds, rest = np.divmod(ticks, np.int64(per_second))
    is_fraction = rest >= per_second // 1000
    stored = seconds + (is_fraction & (seconds < -1))
    steps: IntPart = (stored < 0).astype(np.int64) - (stored < ahead)
    return ticks + steps * is_fraction * np.int64(per_second)


def is_writable(column: pa.Array, *, splits_seconds: bool = False) -> bool:
    """Whether Java can read the timestamps as PyArrow writes them: with negative fractions before 1970.

    Java's ORC library reads these correctly, but Java Paimon then uses the part below the millisecond
    separately, and Java Iceberg all below the second (`splits_seconds`), which must not be negative.
    """
    if column.type.unit == "ms" and not splits_seconds:
        return True
    ticks = _ticks(column)
    whole = _PER_SECOND[column.type.unit] if splits_seconds else 1_000
    return not ((ticks < 0) & (ticks % whole != 0)).any()


def _ticks(column: pa.Array) -> IntPart:
    ticks: IntPart = column.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return ticks


def _column(ticks: IntPart, like: pa.Array) -> pa.Array:
    """Integers as a column with the nulls of another column."""
    return pa.array(ticks, pa.int64(), mask=like.is_null().to_numpy(zero_copy_only=False))
