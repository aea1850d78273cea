"""Parses texts by a pattern of Java's `DateTimeFormatter`, as far as partitions of tables use them.

Used for the expiry of partitions. Pure. The letters y, u, M, d, H, m and s are known, with literals and
quoted texts; any other letter is an error, because a wrong guess would delete rows. Parsing is that of Java's
resolver style SMART, its default: the 31st of a short month is its last day, and 24:00 the next midnight.
What Java accepts in addition, signs before years, is not parsed: such years are out of reach of an expiry.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

_FIELDS = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second"}
_RANGES = {
    "year": (1, 9999),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 24),
    "minute": (0, 59),
    "second": (0, 59),
}
_MOST_DIGITS = 19
_MIDNIGHT = 24
_TIMESTAMP = re.compile(
    r"([0-9]{1,10})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.[0-9]{1,9})?)?"
)
_RESERVED = "{}#[]"
_DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class _Number:
    """A number in a text.

    Attributes:
        field: what it is.
        least: its fewest digits.
        most: its most digits.
        following: digits of numbers of fixed length that follow at once, which it leaves to them.
    """

    field: str
    least: int
    most: int
    following: int = 0


class DatePattern:
    """A pattern of dates and times.

    Args:
        text: the pattern, in the letters of Java's `DateTimeFormatter`.

    Raises:
        ValueError: it has a letter that this release does not know, or is no pattern.
    """

    def __init__(self, text: str) -> None:
        self._parts = _with_following([*_parts(text)])

    def parse(self, text: str) -> datetime | None:
        """The local time that a text says; None if it says none."""
        found: dict[str, int] = {}
        at = 0
        for part in self._parts:
            length = _literal(part, text, at) if isinstance(part, str) else _number(part, text, at)
            if length is None:
                return None
            if isinstance(part, _Number):
                value = int(text[at : at + length])
                if found.setdefault(part.field, value) != value:
                    return None
            at += length
        return _resolved(found) if at == len(text) else None


def _parts(text: str) -> Iterator[str | _Number]:
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == "'":
            literal, at = _quoted(text, at)
            yield literal
        elif letter.isascii() and letter.isalpha():
            count = len(next("".join(same) for _, same in groupby(text[at:])))
            yield _field(letter, count)
            at += count
        elif letter in _RESERVED:
            raise ValueError(f"this release does not know '{letter}' in a pattern of times")
        else:
            yield letter
            at += 1


def _quoted(text: str, start: int) -> tuple[str, int]:
    """The literal in quotes that begins at a place, and the place after it; two quotes stand for one."""
    found, at = "", start + 1
    while at < len(text):
        if text[at] != "'":
            found, at = found + text[at], at + 1
        elif text[at : at + 2] == "''":
            found, at = found + "'", at + 2
        else:
            return found or "'", at + 1
    raise ValueError("a quote is not closed")


def _field(letter: str, count: int) -> _Number:
    name = _FIELDS.get(letter)
    if name is not None and letter in "yu" and count == 4:
        return _Number(name, 4, _MOST_DIGITS)
    if name is not None and letter not in "yu" and count <= 2:
        return _Number(name, count, 2 if count == 2 else _MOST_DIGITS)
    known = "yyyy, uuuu, M, MM, d, dd, H, HH, m, mm, s and ss"
    raise ValueError(f"this release does not know '{letter * count}' in a pattern of times, only {known}")


def _with_following(parts: list[str | _Number]) -> list[str | _Number]:
    """The parts, where numbers leave digits to those of fixed length that follow at once.

    Source: adjacent value parsing of `DateTimeFormatterBuilder`. A first number of fixed length takes part
    in it, too, but then there is nothing to leave.
    """
    found: list[str | _Number] = []
    following = 0
    for part in reversed(parts):
        if isinstance(part, str):
            following = 0
            found.append(part)
        else:
            is_fixed = part.least == part.most
            found.append(_Number(part.field, part.least, part.most, 0 if is_fixed else following))
            following = following + part.most if is_fixed else 0
    return found[::-1]


def _literal(literal: str, text: str, at: int) -> int | None:
    return len(literal) if text.startswith(literal, at) else None


def _number(part: _Number, text: str, at: int) -> int | None:
    """How many digits a number has at a place of a text; None if too few, or a year has more than four."""
    most = part.most + part.following
    digits = 0
    while digits < most and at + digits < len(text) and text[at + digits] in _DIGITS:
        digits += 1
    if part.following:
        digits = max(part.least, digits - part.following)
    is_there = text[at : at + digits].isdecimal() and at + digits <= len(text)
    if not is_there or digits < part.least or (part.field == "year" and digits > part.least):
        return None
    return digits


def _resolved(found: Mapping[str, int]) -> datetime | None:
    if not all(_RANGES[field][0] <= value <= _RANGES[field][1] for field, value in found.items()):
        return None
    if not {"year", "month", "day"} <= found.keys():
        return None
    year, month = found["year"], found["month"]
    time = _time(found.get("hour"), found.get("minute"), found.get("second"))
    day = min(found["day"], monthrange(year, month)[1])
    return None if time is None else _after(year, month, day, time)


def _time(hour: int | None, minute: int | None, second: int | None) -> timedelta | None:
    """The time of the day; midnight without hours, and for seconds without minutes. None if it is none."""
    is_of_seconds_only = minute is None and second is not None
    if hour == _MIDNIGHT and (is_of_seconds_only or minute or second):
        return None
    if hour is None or is_of_seconds_only:
        return timedelta()
    return timedelta(hours=hour, minutes=minute or 0, seconds=second or 0)


def parse_timestamp(text: str) -> datetime | None:
    """The local time of a text without a pattern, `2025-1-31` or `2025-1-31 23:05:09.5`; None if it is none.

    The resolver style is Java's LENIENT (`PartitionTimeExtractor`): months after the twelfth are those of the
    next year, and so on.
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hours, minutes, seconds = (int(each or 0) for each in found.groups())
    years, months = divmod(month - 1, 12)
    time = timedelta(days=day - 1, hours=hours, minutes=minutes, seconds=seconds)
    return _after(year + years, months + 1, 1, time)


def _after(year: int, month: int, day: int, time: timedelta) -> datetime | None:
    """A time after the beginning of a day; None outside of Python's calendar."""
    try:
        return datetime(year, month, day) + time  # local, as in Java
    except (ValueError, OverflowError):
        return None
