"""The rules of `properties.yaml`. Used by `reasons` and `page`; a mistake in the file is a ValueError."""

from __future__ import annotations

from functools import cache

from lithify.engine.support.reading import option_rows, parsed, text_of
from lithify.engine.support.rules import OptionRule, RuleTable


@cache
def load() -> RuleTable[OptionRule]:
    """The table of this package, read and checked once."""
    return parse(text_of(__package__, "properties.yaml"))


def parse(text: str) -> RuleTable[OptionRule]:
    """Parses a table.

    Raises:
        ValueError: a row is not as the head of the file says.
    """
    return RuleTable(OptionRule(**fields) for _, fields in option_rows(parsed(text)))
