"""Reads numbers and booleans of table properties, of options of runs, and of summaries of snapshots. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from lithify.errors import InvalidOption

_MOST_DIGITS = 19
"""Those of the largest 64-bit number."""


def number_in(
    options: Mapping[str, str], name: str, default: int, least: int | None = None, most: int | None = None
) -> int:
    """The whole number of an option.

    Raises:
        InvalidOption: it is none, or outside of the bounds.
    """
    text = options.get(name)
    try:
        value = default if text is None else int(text)
    except ValueError as error:
        raise InvalidOption(name, f"{text} is no whole number") from error
    if (least is not None and value < least) or (most is not None and value > most):
        limit = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidOption(name, f"{value} has to be {limit}")
    return value


def digits_in(options: Mapping[str, str], name: str, default: int = 0) -> int:
    """The number of an option of digits; the default for everything else, since anyone may write them.

    Python refuses to convert thousands of digits.
    """
    text = options.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else default


def is_true(options: Mapping[str, str], name: str, default: str = "false") -> bool:
    """Whether an option is `true`, in any case; everything else means false, as in Java."""
    return options.get(name, default).lower() == "true"
