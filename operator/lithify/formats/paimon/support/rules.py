"""The rows of the support table, and their verdict on a use of a column.

Created by `loading`, used by `checks` and `page`. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from lithify.engine.support.rules import OptionRule, RuleTable, Support


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
class PaimonRule(OptionRule):
    """A row of `options`. The head of support.yaml explains the fields."""

    when: When | None = None
    source: str = "paimon"


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
    """The whole table."""

    intro: str
    layouts: tuple[LayoutRule, ...]
    types: tuple[TypeRule, ...]
    options: RuleTable[PaimonRule]

    def type(self, name: str) -> TypeRule | None:
        """The rule of a type by its name or an alias."""
        return next((rule for rule in self.types if name in rule.names), None)
