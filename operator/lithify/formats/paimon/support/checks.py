"""Finds the reasons why a table cannot be compacted: every refused option, column and layout.

Called by `reasons`, which adds those that depend on several options. Raises nothing and reads nothing but
the support table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lithify.formats.paimon.model import POSTPONED
from lithify.formats.paimon.support.loading import load
from lithify.formats.paimon.support.rules import Role, Support
from lithify.redaction import REDACTED, is_telling

UNKNOWN_OPTION = "Lithify does not know this option and cannot tell what a compaction has to do about it"
UNKNOWN_TYPE = "Lithify does not know this type"
_TYPE = re.compile(r"([A-Z_]+) ?(?:\( ?([0-9]+)[^)]*\))?( WITH LOCAL TIME ZONE)?")


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """One use of one column; `type` is SQL text, for example `DECIMAL(10, 2) NOT NULL`."""

    name: str
    type: str
    role: Role = Role.VALUE


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a table cannot be compacted; `str()` turns it into a clause for people.

    Attributes:
        kind: what is refused: "option", "column" or "table".
        name: the option, the column, or "layout".
        value: its value, shortened, and hidden if it may be a secret.
        why: what would go wrong, or that support is planned.
        accepted: the values that would be accepted.
        unclassified: whether the support table does not know it at all.
    """

    kind: str
    name: str
    value: str
    why: str
    accepted: tuple[str, ...] = ()
    unclassified: bool = False

    def __str__(self) -> str:
        accepted = f" (accepted: {', '.join(v or 'empty' for v in self.accepted)})" if self.accepted else ""
        return f"{self.kind} {self.name} = {self.value or 'empty'}{accepted}: {self.why}"


def check_options(options: Mapping[str, str]) -> list[Refusal]:
    """Every option that this release refuses, by name."""
    refusals = []
    for name, value in sorted(options.items()):
        rule, shown = load().option(name), _shown(name, value)
        if rule is None:
            refusals.append(Refusal("option", name, shown, UNKNOWN_OPTION, unclassified=True))
        elif not rule.accepts(value):
            refusals.append(Refusal("option", name, shown, rule.why, rule.values))
    return refusals


def check_types(columns: Iterable[ColumnUse]) -> list[Refusal]:
    """Every use of a column whose type this release refuses, by name."""
    refusals = []
    for column in sorted(columns, key=lambda c: (c.name, c.role, c.type)):
        name, precision = _split_type(column.type)
        rule, shown = load().type(name), f"{column.type} as {column.role}"
        if rule is None:
            refusals.append(Refusal("column", column.name, shown, UNKNOWN_TYPE, unclassified=True))
        elif problem := rule.problem(column.role, precision):
            refusals.append(Refusal("column", column.name, shown, problem))
    return refusals


def check_layout(primary_key: Sequence[str], partition_keys: Sequence[str], bucket: int) -> list[Refusal]:
    """The kind of the table, if it is refused."""
    if not primary_key:
        name = "append" if bucket == -1 else "bucketed-append"
    elif bucket == -1:
        name = "dynamic-bucket" if set(partition_keys) <= set(primary_key) else "key-dynamic-bucket"
    else:
        name = "postpone-bucket" if bucket == POSTPONED else "fixed-bucket"
    rule = next(rule for rule in load().layouts if rule.name == name)
    return [Refusal("table", "layout", name, rule.why)] if rule.support is Support.REFUSED else []


def _shown(name: str, value: str) -> str:
    """A value for a message: without secrets, one short line."""
    text = " ".join(value.split())
    return REDACTED if is_telling(name) else text if len(text) <= 80 else f"{text[:79]}…"


def _split_type(sql: str) -> tuple[str, int | None]:
    """The name of a type without its parameters, and its first parameter."""
    text = re.sub(r" (NOT )?NULL$", "", " ".join(sql.upper().split()))
    if constructed := re.match(r"([A-Z]+) ?<", text):
        return constructed[1], None
    match = _TYPE.fullmatch(text)
    return (match[1] + (match[3] or ""), int(match[2]) if match[2] else None) if match else (text, None)
