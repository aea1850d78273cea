"""The rows of `properties.yaml`, and their verdict on a value. Pure but for reading that file.

Used by `reasons` and `page`. A mistake in the file is a ValueError that names its row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

import yaml

_FIELDS = frozenset({"keys", "class", "values", "why"})


class Support(StrEnum):
    """How a property is classified."""

    SUPPORTED = "supported"
    HARMLESS = "harmless"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PropertyRule:
    """A row; its names share all other fields. The head of properties.yaml explains the fields."""

    names: tuple[str, ...]
    group: str
    support: Support
    why: str
    values: tuple[str, ...] = ()

    def accepts(self, value: str) -> bool:
        """Whether the property may have a value."""
        if not self.values:
            return self.support is not Support.REFUSED
        return any(re.fullmatch(_pattern(allowed), value, re.IGNORECASE) for allowed in self.values)


@dataclass(frozen=True, slots=True)
class PropertyTable:
    """All rows."""

    rules: tuple[PropertyRule, ...]
    by_name: Mapping[str, PropertyRule]

    def rule(self, name: str) -> PropertyRule | None:
        """The rule of a property: by its exact name, else by the longest beginning."""
        if name in self.by_name:
            return self.by_name[name]
        fitting = [key for key in self.by_name if key.endswith("*") and name.startswith(key[:-1])]
        return self.by_name[max(fitting, key=len)] if fitting else None


@cache
def load() -> PropertyTable:
    """The table of this package, read and checked once."""
    return parse(resources.files(__package__).joinpath("properties.yaml").read_text(encoding="utf-8"))


def parse(text: str) -> PropertyTable:
    """Parses a table.

    Raises:
        ValueError: a row is not as the head of the file says.
    """
    groups = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  # only text and lists
    rules = tuple(_rule(str(group["group"]), row) for group in groups for row in group["rows"])
    by_name: dict[str, PropertyRule] = {}
    for rule in rules:
        for name in rule.names:
            if name in by_name:
                raise ValueError(f"properties.yaml classifies {name} twice")
            by_name[name] = rule
    return PropertyTable(rules, by_name)


def _rule(group: str, row: Mapping[str, Any]) -> PropertyRule:
    if not {"keys", "class", "why"} <= row.keys() <= _FIELDS:
        raise ValueError(f"properties.yaml has a row with other fields: {str(row)[:200]}")
    names, values = tuple(map(str, row["keys"])), tuple(map(str, row.get("values", ())))
    return PropertyRule(names, group, Support(row["class"]), str(row["why"]), values)


def _pattern(allowed: str) -> str:
    return re.escape(allowed).replace("<n>", "[0-9]{1,18}")
