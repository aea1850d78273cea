"""Evaluates the validation rules of a structural schema on an object.

Called by `validating`, after the schema itself has been checked. A rule with `oldSelf` is about a change: it
is evaluated only where there is an old value, and never on items of a list, which cannot be matched with old
ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import cel

from lithify.resources.modelling import RULES

Schema = Mapping[str, Any]
Problem = tuple[str, str]


def broken(schema: Schema, value: Any, before: Any = None, path: str = "") -> Iterator[Problem]:
    """The fields whose rules do not hold, with the messages of these rules."""
    for rule in schema.get(RULES, ()):
        if ("oldSelf" not in rule["rule"] or before is not None) and not _holds(rule["rule"], value, before):
            yield f"{path}{rule.get('fieldPath', '')}".removeprefix("."), rule["message"]
    if isinstance(value, Mapping):
        for name, entry in value.items():
            inner, inner_path = _child(schema, name, path)
            if inner is not None:
                old = before.get(name) if isinstance(before, Mapping) else None
                yield from broken(inner, entry, old, inner_path)
    elif isinstance(value, list) and "items" in schema:
        for index, entry in enumerate(value):
            yield from broken(schema["items"], entry, None, f"{path}[{index}]")


def _child(schema: Schema, name: str, path: str) -> tuple[Schema | None, str]:
    if "properties" in schema:
        return schema["properties"].get(name), f"{path}.{name}".removeprefix(".")
    return schema.get("additionalProperties"), f"{path}[{name}]"


def _holds(expression: str, value: Any, before: Any) -> bool:
    try:
        return _program(expression).execute({"self": value, "oldSelf": before}) is True
    except (RuntimeError, TypeError, ValueError):
        return False  # as in Kubernetes: a rule whose evaluation fails does not hold


@cache
def _program(expression: str) -> cel.Program:
    return cel.compile(expression)
