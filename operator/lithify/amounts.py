"""Formats counts, times, durations and sizes for people, the same in all messages.

Called wherever a sentence has a number. Pure. Nothing here depends on the current time: a message about an
unchanged thing never changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

_SIZES = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_KIBI = 1024
_CAPITAL = re.compile(r"(?=[A-Z])")
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def count_of(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def figures_text(figures: Mapping[str, int]) -> str:
    """Figures that are not zero, by their names in camelCase: `3 snapshots, 12 data files, 6.1Gi`."""
    told = (
        bytes_text(number) if name == "bytes" else count_of(number, figure_noun(name))
        for name, number in figures.items()
        if number
    )
    return ", ".join(told)


def figure_noun(name: str) -> str:
    """What a figure counts, in the singular: `data file` for `dataFiles`."""
    return words_of(name, " ").removesuffix("s")


def words_of(name: str, joint: str) -> str:
    """The words of a name in camelCase, in small letters."""
    return joint.join(_CAPITAL.split(name)).lower()


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
    """A size as columns of `kubectl get` show it, with a unit also where that is bytes: `6.1Gi`, `512 B`."""
    return f"{size} B" if size < _KIBI else size_text(size)


def size_text(size: int) -> str:
    """Bytes in the largest binary unit that fits, with one decimal: `6.1Gi`; `512` below 1Ki."""
    if size < _KIBI:
        return str(size)
    # Integer rounding, half up: 1023.96 of a unit must become 1.0 of the next.
    tenths, unit = (size * 10 + _KIBI // 2) // _KIBI, 0
    while tenths >= _KIBI * 10 and unit + 1 < len(_SIZES):
        unit += 1
        scale = _KIBI ** (unit + 1)
        tenths = (size * 10 + scale // 2) // scale
    return f"{tenths // 10}.{tenths % 10}{_SIZES[unit]}"
