"""Conversions of values: from texts of other programs to values of fields and options. Pure.

Named by the rules of `procedure_rules` and `amoro_rules`. Each returns None for a value that asks for nothing
beyond what is done anyway, raises `NotInField` for a value that the field cannot have but the option can, and
ValueError for a value that means nothing, or nothing here. The messages are clauses for notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from lithify.formats.protocol.importing import FieldValue

Convert: TypeAlias = Callable[[str], FieldValue | None]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_OFF_BY_DEFAULT = 2**31 - 1
"""Integer.MAX_VALUE, which Iceberg has for no limit."""
_MOST_DIGITS = 18
_UNITS = {"ms": 0.001, "s": 1, "sec": 1, "min": _MINUTE, "h": _HOUR, "hour": _HOUR, "d": _DAY, "day": _DAY}
_DURATION = re.compile(r"([0-9]{1,9})\s*(ms|sec|s|min|hour|h|day|d)s?", re.IGNORECASE)
_INTERVAL = re.compile(r"-\s*interval\s+'?([0-9]{1,6})'?\s+(second|minute|hour|day|week)s?\b", re.IGNORECASE)
_DAYS_BEFORE = re.compile(r"date_sub\s*\(.*,\s*([0-9]{1,6})\s*\)", re.IGNORECASE | re.DOTALL)
_INTERVAL_UNITS = {"second": 1, "minute": _MINUTE, "hour": _HOUR, "day": _DAY, "week": 7 * _DAY}
_CURVE = re.compile(r"(zorder)\s*\(([^()]*)\)", re.IGNORECASE)
_COLUMN = re.compile(r"[^\s(),`]+(?:\s+(?:asc|desc))?(?:\s+nulls\s+(?:first|last))?", re.IGNORECASE)


class NotInField(ValueError):
    """The field cannot have this value; the option can."""


def unchanged(text: str) -> FieldValue | None:
    """The text."""
    return text.strip()


def number(text: str) -> int:
    """A whole number of at most 18 digits, or -1 and the like.

    Raises:
        ValueError: it is none.
    """
    stripped = text.strip()
    if not re.fullmatch(rf"-?[0-9]{{1,{_MOST_DIGITS}}}", stripped, re.ASCII):
        raise ValueError("this is no whole number")
    return int(stripped)


def count(least: int, most: int, off: int | None = _OFF_BY_DEFAULT) -> Convert:
    """A whole number within the bounds of a field; `off` asks for nothing."""

    def convert(text: str) -> FieldValue | None:
        found = number(text)
        if found == off:
            return None
        if not least <= found <= most:
            raise NotInField(f"the field takes {least} to {most}")
        return found

    return convert


def size(text: str) -> FieldValue | None:
    """A number of bytes, as a quantity with a unit where it is whole: `512Mi`."""
    found = number(text)
    if found <= 0:
        raise ValueError("this is no size")
    for unit, factor in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if found % factor == 0:
            return f"{found // factor}{unit}"
    return str(found)


def amount(text: str) -> FieldValue | None:
    """A number from 0 on, as a text."""
    found = number(text)
    if found < 0:
        raise ValueError("this is below 0")
    return str(found)


def positive(text: str) -> FieldValue | None:
    """A positive number, as a text; a limit that Iceberg has by default asks for nothing."""
    found = number(text) if len(text.strip()) <= _MOST_DIGITS else None
    if found is None or found == _OFF_BY_DEFAULT:
        return None
    if found <= 0:
        raise ValueError("this is no number above 0")
    return str(found)


def percent(text: str) -> FieldValue | None:
    """A ratio up to 1, as per cent."""
    found = _ratio(text)
    rounded = round(found * 100)
    if not 1 <= rounded <= 100 or abs(rounded - found * 100) > 1e-6:
        raise NotInField("the field takes whole per cent from 1 to 100")
    return rounded


def _ratio(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise ValueError("this is no number") from None
    if not 0 < found <= 1:
        raise ValueError("this is no ratio above 0 and up to 1")
    return found


def seconds_of_millis(least: int, most: int) -> Convert:
    """Milliseconds as seconds, rounded up and within bounds; 0 and less turn off what they are for."""

    def convert(text: str) -> FieldValue | None:
        found = number(text)
        return None if found <= 0 else max(least, min(most, -(-found // 1000)))

    return convert


def seconds_of_minutes(least: int, most: int) -> Convert:
    """Minutes as seconds, within bounds."""
    return lambda text: max(least, min(most, number(text) * _MINUTE))


def minutes_as_millis(text: str) -> FieldValue | None:
    """Minutes in milliseconds."""
    return str(number(text) * _MINUTE * 1000)


def when(true: FieldValue | None = None, false: FieldValue | None = None) -> Convert:
    """The values for true and for false."""

    def convert(text: str) -> FieldValue | None:
        if text.strip().lower() not in {"true", "false"}:
            raise ValueError("this is neither true nor false")
        return true if text.strip().lower() == "true" else false

    return convert


def always(value: FieldValue | None) -> Convert:
    """The same for every text."""
    return lambda _: value


def duration_millis(text: str) -> FieldValue | None:
    """A duration as Amoro writes it (`720min`, `12h`, `7d`, or milliseconds), in milliseconds."""
    if text.strip().isdecimal():
        return str(number(text))
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError("this is no duration such as 12h")
    return str(int(int(found[1]) * _UNITS[found[2].lower()] * 1000))


def age_millis(text: str) -> FieldValue | None:
    """The age in an expression such as `now() - INTERVAL 5 DAYS`, in milliseconds."""
    return str(1000 * _age(text))


def age_seconds(least: int, most: int) -> Convert:
    """The same in seconds, within bounds."""
    return lambda text: max(least, min(most, _age(text)))


def _age(text: str) -> int:
    interval, days = _INTERVAL.search(text), _DAYS_BEFORE.fullmatch(text.strip())
    if interval:
        return int(interval[1]) * _INTERVAL_UNITS[interval[2].lower()]
    if days:
        return int(days[1]) * _DAY
    raise ValueError("this is a moment, and Lithify has ages, counted from each run")


def rows_order(text: str) -> FieldValue | None:
    """A sort order of Iceberg's procedure as `lithify.sort-order` has it: columns, or a z-order curve."""
    plain = text.replace("`", "").strip()
    curves = _CURVE.findall(plain)
    if curves and not re.sub(r"[\s,]", "", _CURVE.sub("", plain)):
        columns = [name.strip() for _, names in curves for name in names.split(",")]
        if all(re.fullmatch(r"[^\s(),]+", name) for name in columns):
            return f"zorder({', '.join(columns)})"
    parts = [part.strip() for part in plain.split(",")]
    if all(map(_COLUMN.fullmatch, parts)):
        return ", ".join(parts)
    raise ValueError("Lithify sorts by columns or along a curve through columns, not by transforms of them")
