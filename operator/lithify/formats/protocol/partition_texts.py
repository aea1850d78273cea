"""Reads values of partitions that users wrote, for adapters that have no spelling of their own. Pure.

All functions raise ValueError if a text is no value of their type. They are stricter than Python's
conversions, which take blanks, underscores and digits of other scripts.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{0,40})?")
_FLOAT = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?(?:[eE][+-]?[0-9]{1,4})?|NaN|Infinity)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?")
_TIMESTAMP = re.compile(rf"({_DATE.pattern})[T ]({_TIME.pattern})")
_EPOCH = date(1970, 1, 1)
_SECOND_NANOS = 1_000_000_000
_DAY_SECONDS = 86_400


def read_boolean(text: str) -> bool:
    """`true` or `false`, in any case."""
    found = {"true": True, "false": False}.get(text.lower())
    if found is None:
        raise ValueError(text)
    return found


def read_integer(text: str) -> int:
    """A whole number; leading zeros do not matter."""
    return int(_matched(_INTEGER, text)[0])


def read_decimal(text: str) -> Decimal:
    """A decimal number; trailing zeros do not matter."""
    return Decimal(_matched(_DECIMAL, text)[0])


def read_float(text: str) -> float:
    """A floating-point number, `NaN`, `Infinity` or `-Infinity`."""
    return float(_matched(_FLOAT, text)[0])


def read_date(text: str) -> int:
    """The days since 1970 of a date such as `2026-01-31`."""
    return (date.fromisoformat(_matched(_DATE, text)[0]) - _EPOCH).days


def read_time(text: str) -> int:
    """The nanoseconds since midnight of a time such as `23:59`, `23:59:00` or `23:59:00.5`."""
    hours, minutes, seconds, fraction = _matched(_TIME, text).groups()
    whole = int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)
    if int(hours) > 23 or int(minutes) > 59 or int(seconds or 0) > 59:
        raise ValueError(text)
    return whole * _SECOND_NANOS + int((fraction or "").ljust(9, "0"))


def read_timestamp(text: str) -> int:
    """The nanoseconds since 1970 of a date and a time, with a blank or a T between them."""
    day, moment = _matched(_TIMESTAMP, text).group(1, 2)
    return read_date(day) * _DAY_SECONDS * _SECOND_NANOS + read_time(moment)


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return found
