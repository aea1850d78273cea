"""The rows of the support table, and their verdict on a value or a use of a column.

Created by `loading`, used by `checks` and `page`. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache


class Support(StrEnum):
    """How an option or a layout is classified."""

    SUPPORTED = "supported"
    HARMLESS = "harmless"
    REFUSED = "refused"


class When(StrEnum):
    """Whether a later release is planned to support what is refused."""

    PLANNED = "planned"
    UNPLANNED = "unplanned"


class Role(StrEnum):
    """The role of a column."""

    VALUE = "value"
    PART = "part"
    KEY = "key"
    SEQUENCE = "sequence"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class OptionRule:
    """A row of `options`; its names share all other fields. The head of support.yaml explains the fields."""

    names: tuple[str, ...]
    group: str
    support: Support
    why: str
    when: When | None
    values: tuple[str, ...]
    exact_case: bool
    source: str

    def accepts(self, value: str) -> bool:
        """Whether the option may be set to `value`."""
        if not self.values:
            return self.support is not Support.REFUSED
        flags = re.ASCII if self.exact_case else re.ASCII | re.IGNORECASE
        patterns = (re.escape(allowed).replace("<n>", "0*[1-9][0-9]*") for allowed in self.values)
        return any(re.fullmatch(pattern, value, flags) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class TypeRule:
    """A row of `types`: the uses of a type that are refused, and the precisions that are accepted."""

    names: tuple[str, ...]
    refused: Mapping[Role, str]
    precision: tuple[int, int] | None
    precision_why: str
    when: When | None

    def problem(self, role: Role, precision: int | None) -> str:
        """Why the type cannot be used in this role, empty if it can. No precision means Paimon's default."""
        if self.precision and precision is not None:
            low, high = self.precision
            if not low <= precision <= high:
                return self.precision_why
        return self.refused.get(Role.VALUE) or self.refused.get(role, "")


@dataclass(frozen=True, slots=True)
class LayoutRule:
    """A row of `layouts`: a kind of table by its keys and buckets."""

    name: str
    title: str
    support: Support
    why: str
    when: When | None


@dataclass(frozen=True, slots=True)
class SupportTable:
    """The whole table; `by_name` has the rule of every option name and glob."""

    intro: str
    layouts: tuple[LayoutRule, ...]
    types: tuple[TypeRule, ...]
    options: tuple[OptionRule, ...]
    by_name: Mapping[str, OptionRule]

    def option(self, name: str) -> OptionRule | None:
        """The rule of an option: by its exact name, else by the longest glob that matches."""
        if "*" not in name and name in self.by_name:
            return self.by_name[name]
        globs = (glob for glob in self.by_name if "*" in glob and _glob(glob).fullmatch(name))
        longest = max(globs, key=lambda glob: (len(glob), glob), default=None)
        return self.by_name[longest] if longest else None

    def type(self, name: str) -> TypeRule | None:
        """The rule of a type by its name or an alias."""
        return next((rule for rule in self.types if name in rule.names), None)


@cache
def _glob(glob: str) -> re.Pattern[str]:
    return re.compile(re.escape(glob).replace(r"\*", ".*"), re.DOTALL)
