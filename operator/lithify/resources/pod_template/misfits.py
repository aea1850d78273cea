"""Checks a pod template against its schema, for templates that no API server has validated against it.

Called by `launching.template`. Such templates were stored under an older definition of the kind, or come from
an API server that still has one. They may be of any depth: the walk ends where the schema does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lithify.resources.pod_template.nodes import Schema
from lithify.resources.pod_template.template import SCHEMA

Misfit = tuple[str, str]
"""A field below the template, and what is wrong with it."""

_UNKNOWN = "templates have no such field"
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
}
_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a number",
    "boolean": "true or false",
}


def misfits(template: object) -> Iterator[Misfit]:
    """The unknown fields, and those of a wrong type, too long or with too many items."""
    yield from _misfits(SCHEMA, template, "")


def _misfits(schema: Schema, value: Any, path: str) -> Iterator[Misfit]:
    problem = _problem(schema, value)
    if problem is not None:
        yield path, problem
    elif schema.get("type") == "array":
        for index, entry in enumerate(value):
            yield from _misfits(schema["items"], entry, f"{path}[{index}]")
    elif "additionalProperties" in schema:
        for name, entry in value.items():
            yield from _misfits(schema["additionalProperties"], entry, f"{path}[{name}]")
    elif schema.get("type") == "object":
        known = schema["properties"]
        for name, entry in value.items():
            inner = f"{path}.{name}".removeprefix(".")
            if name in known:
                yield from _misfits(known[name], entry, inner)
            elif known:
                yield inner, _UNKNOWN


def _problem(schema: Schema, value: Any) -> str | None:
    """Why a value is invalid in its place, apart from what it contains."""
    kind = schema.get("type")
    if kind is None:
        is_amount = isinstance(value, int | str) and not isinstance(value, bool)
        if not is_amount:
            return "it is neither a whole number nor text; write 500m for half a core"
    elif not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        return f"it is not {_WORDS[kind]}"
    if isinstance(value, int):
        return _beyond(schema, value)
    most = schema.get("maxLength", schema.get("maxItems", schema.get("maxProperties")))
    return (
        f"it has {len(value)} entries or characters, and {most} at most" if _is_above(value, most) else None
    )


def _beyond(schema: Schema, value: int) -> str | None:
    least, most = schema.get("minimum", value), schema.get("maximum", value)
    return None if least <= value <= most else f"it is not between {least} and {most}"


def _is_above(value: Any, most: int | None) -> bool:
    return most is not None and len(value) > most
