"""Finds the reasons why a table cannot be compacted: every refused option, column and layout.

Called by `reasons`, which adds those that depend on several options. Raises nothing and reads nothing but
the support table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lithify.engine.support.refusals import Refusal, refused_options
from lithify.engine.support.rules import Support
from lithify.formats.paimon.model import POSTPONED
from lithify.formats.paimon.support.loading import load
from lithify.formats.paimon.support.rules import Role

UNKNOWN_OPTION = "Lithify does not know this option and cannot tell what a compaction has to do about it"
UNKNOWN_TYPE = "Lithify does not know this type"
_TYPE = re.compile(r"([A-Z_]+) ?(?:\( ?([0-9]+)[^)]*\))?( WITH LOCAL TIME ZONE)?")


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """One use of one column; `type` is SQL text, for example `DECIMAL(10, 2) NOT NULL`."""

    name: str
    type: str
    role: Role = Role.VALUE


def check_options(options: Mapping[str, str]) -> list[Refusal]:
    """Every option that this release refuses, by name."""
    return [*refused_options("option", options, load().options, UNKNOWN_OPTION)]


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


def _split_type(sql: str) -> tuple[str, int | None]:
    """The name of a type without its parameters, and its first parameter."""
    text = re.sub(r" (NOT )?NULL$", "", " ".join(sql.upper().split()))
    if constructed := re.match(r"([A-Z]+) ?<", text):
        return constructed[1], None
    match = _TYPE.fullmatch(text)
    return (match[1] + (match[3] or ""), int(match[2]) if match[2] else None) if match else (text, None)
