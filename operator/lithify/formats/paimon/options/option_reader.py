"""Parses table options as Paimon writes them: sizes, durations, lists, values per column and level.

Called by `table_options` and `file_options`, which know what the options mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeVar

from pypaimon.common.time_utils import parse_duration

from lithify.errors import InvalidOption
from lithify.sizes import parse_size

T = TypeVar("T")

_LARGEST_LONG = (1 << 63) - 1
_SMALLEST_INT, _LARGEST_INT = -(1 << 31), (1 << 31) - 1
_LONGEST_MILLIS = 100 * 365 * 86_400_000
_OLDEST_MILLIS = 10_000 * 366 * 86_400_000
"""Older than any date."""
_HIGHEST_LEVEL = 9_999
"""The highest level that options can name individually."""
_LONGEST_TEXT = 65_536
"""Maximum characters of a value; a list for every level is the longest."""


def parse_millis(text: str) -> int:
    """Parses a duration as Paimon writes it, for example `1 h`, as milliseconds.

    Limited to a hundred years: calendars end before any number of days does.

    Raises:
        ValueError: it is not a duration.
    """
    return min(int(parse_duration(text)), _LONGEST_MILLIS)


def parse_age(text: str) -> int:
    """Parses the age of rows that expire, as milliseconds.

    Unlike other durations it may be centuries: dates in rows and partitions may be as old.

    Raises:
        ValueError: it is not a duration.
    """
    return min(int(parse_duration(text)), _OLDEST_MILLIS)


class OptionReader:
    """Looks up and parses options.

    Every method raises InvalidOption, which names the option, if a value cannot be parsed.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def optional(self, key: str, parse: Callable[[str], T]) -> T | None:
        """A parsed value, None if it is not set."""
        text = self._options.get(key)
        return None if text is None else _parsed(key, text, parse)

    def text(self, key: str, default: str, *, stripped: bool = True) -> str:
        """A value as text."""
        text = self._options.get(key, default)
        return text.strip() if stripped else text

    def by_level(self, key: str) -> dict[int, str]:
        """Values by level: `<key> = 0:avro,5:parquet`, or else `<key>.0 = avro` and so on."""
        found = self.optional(key, _by_level)
        if found is not None:
            return found
        levels = {name: name.removeprefix(f"{key}.") for name in self._options if name.startswith(f"{key}.")}
        return {_parsed(name, text, _level): self.text(name, "").lower() for name, text in levels.items()}

    def by_column(self, key: str, parse: Callable[[str], T]) -> dict[str, T]:
        """Values by column, as in `<key>#<column>`."""
        prefix = f"{key}#"
        found = ((name, self.optional(name, parse)) for name in self._options if name.startswith(prefix))
        return {name.removeprefix(prefix): value for name, value in found if value is not None}

    def integer(self, key: str, default: int, low: int | None = None, high: int | None = None) -> int:
        """A number within bounds."""
        least = _SMALLEST_INT if low is None else low
        most = _LARGEST_INT if high is None else high
        value = self.optional(key, lambda text: bounded(_whole(text), least, most))
        return default if value is None else value

    def boolean(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.optional(key, as_boolean)
        return default if value is None else value

    def size(self, key: str, default: int, low: int | None = None) -> int:
        """A number of bytes."""
        value = self.optional(key, lambda text: bounded(parse_size(text), low, None))
        return default if value is None else value

    def duration(self, key: str, default_millis: int) -> int:
        """A number of milliseconds."""
        value = self.optional(key, parse_millis)
        return default_millis if value is None else value


def _parsed(key: str, text: str, parse: Callable[[str], T]) -> T:
    if len(text) > _LONGEST_TEXT:
        raise InvalidOption(key, f"its value has {len(text)} characters")
    try:
        return parse(text.strip())
    except (ValueError, OverflowError) as error:
        raise InvalidOption(key, f"'{text}' is not allowed: {error}") from error


def bounded(number: int, low: int | None, high: int | None) -> int:
    """Returns a number if it is within bounds; None is no bound.

    Raises:
        ValueError: it is not.
    """
    if low is not None and number < low:
        raise ValueError(f"it must be at least {low}")
    if high is not None and number > high:
        raise ValueError(f"it must be at most {high}")
    return number


def as_positive(text: str) -> int:
    """A positive number that fits into 32 bits.

    Raises:
        ValueError: it is none.
    """
    return bounded(_whole(text), 1, _LARGEST_INT)


def as_positive_long(text: str) -> int:
    """A positive number that fits into 64 bits.

    Raises:
        ValueError: it is none.
    """
    return bounded(_whole(text), 1, _LARGEST_LONG)


def _by_level(text: str) -> dict[int, str]:
    pairs = [pair.split(":") for pair in text.split(",") if pair.strip()]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("it must be written as 0:avro,5:parquet")
    return {_level(level): value.strip().lower() for level, value in pairs}


def _level(text: str) -> int:
    return bounded(_whole(text), 0, _HIGHEST_LEVEL)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ValueError("it must be a whole number") from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError("it must be a number") from error


def as_share(text: str) -> float:
    """A number between 0 and 1, both excluded.

    Raises:
        ValueError: it is none.
    """
    share = _number(text)
    if not 0 < share < 1:
        raise ValueError("it must be between 0 and 1")
    return share


def as_ratio(text: str) -> float:
    """A finite number that is not negative.

    Raises:
        ValueError: it is none.
    """
    ratio = _number(text)
    if not 0 <= ratio < math.inf:
        raise ValueError("it must be a number from 0 on")
    return ratio


def as_boolean(text: str) -> bool:
    """True or false, case-insensitive.

    Raises:
        ValueError: it is neither.
    """
    if text.lower() not in ("true", "false"):
        raise ValueError("it must be true or false")
    return text.lower() == "true"
