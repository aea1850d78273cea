"""Formats counts, times, durations and sizes for people, the same in all messages.

Called wherever a sentence has a number. Pure. Nothing here depends on the current time: a message about an
unchanged thing never changes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
_SIZES = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_UNIT = 1024


def count_of(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def moment_text(moment: datetime) -> str:
    """A time to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def wall_text(millis: int) -> str:
    """A local time (milliseconds since 1970 without a zone) to the second; tables store no zone with it."""
    return (datetime(1970, 1, 1) + timedelta(milliseconds=millis)).isoformat(" ", "seconds")


def seconds_text(seconds: int) -> str:
    """A duration in the largest unit that leaves it a whole number."""
    for length, unit in _UNITS:
        if seconds and seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def bytes_text(size: int) -> str:
    """A size to one decimal, as Kubernetes writes its units."""
    value, unit = float(size), ""
    for larger in _SIZES:
        if value < _UNIT:
            break
        value, unit = value / _UNIT, larger
    return f"{value:.1f} {unit}B" if unit else f"{size} B"
