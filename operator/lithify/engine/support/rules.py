"""How options of tables are classified, and the verdict on their values. Pure.

Made by `reading`; used by `refusals`, by `page` and by what adapters add for their formats.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Generic, TypeVar

_NUMBER = "0*[1-9][0-9]{0,17}"
"""What `<n>` stands for in values: a whole number from 1 on, which fits into a long."""


class Support(StrEnum):
    """How an option, or a kind of table, is classified; in the order of pages."""

    SUPPORTED = "supported"
    REFUSED = "refused"
    HARMLESS = "harmless"


@dataclass(frozen=True, slots=True)
class OptionRule:
    """How options are classified; the names of a rule share all other fields.

    Attributes:
        names: names of options, or globs in which `*` stands for any characters.
        group: the heading under which pages list it.
        support: its class.
        why: a clause for users, without a full stop.
        values: the only accepted values; empty for any, or none if it is refused.
        exact_case: whether values in another case are others.
    """

    names: tuple[str, ...]
    group: str
    support: Support
    why: str
    values: tuple[str, ...] = ()
    exact_case: bool = False

    def accepts(self, value: str) -> bool:
        """Whether the option may be set to `value`."""
        if not self.values:
            return self.support is not Support.REFUSED
        flags = re.ASCII if self.exact_case else re.ASCII | re.IGNORECASE
        patterns = (re.escape(allowed).replace("<n>", _NUMBER) for allowed in self.values)
        return any(re.fullmatch(pattern, value, flags) for pattern in patterns)


Rule = TypeVar("Rule", bound=OptionRule, covariant=True)


class RuleTable(Generic[Rule]):
    """The rules of all options that a format classifies.

    Raises:
        ValueError: a name is classified twice.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._by_name = {name: rule for rule in self._rules for name in rule.names}
        check_unique(name for rule in self._rules for name in rule.names)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def rule(self, name: str) -> Rule | None:
        """The rule of an option: by its exact name, else by the longest glob that matches."""
        if "*" not in name and name in self._by_name:
            return self._by_name[name]
        globs = (glob for glob in self._by_name if "*" in glob and _glob(glob).fullmatch(name))
        longest = max(globs, key=lambda glob: (len(glob), glob), default=None)
        return self._by_name[longest] if longest else None


def check_unique(names: Iterable[str]) -> None:
    """Checks that no name is classified twice.

    Raises:
        ValueError: one is.
    """
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"classified twice: {', '.join(twice)}")


@cache
def _glob(glob: str) -> re.Pattern[str]:
    return re.compile(re.escape(glob).replace(r"\*", ".*"), re.DOTALL)
