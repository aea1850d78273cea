"""Formats times, durations, sizes and findings for messages, the same in all of status.

Nothing here depends on the current time: a message about an unchanged thing never changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from lithify.tables.observation import Finding

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
_SIZES = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_UNIT = 1024


def count_of(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def names_text(names: Iterable[str], most: int = 3) -> str:
    """The first names in alphabetical order, and the number of the others."""
    found = sorted(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return f"{', '.join(found[:most])}{more}"


def moment_text(moment: datetime) -> str:
    """A time to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


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


def finding_text(finding: Finding) -> str:
    """A finding as a sentence, with the number of other buckets that it applies to."""
    others = finding.buckets - 1
    more = f" (and {count_of(others, 'more bucket')})" if others > 0 else ""
    return f"{finding.trigger}: {finding.detail}{more}"
