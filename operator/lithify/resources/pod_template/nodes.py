"""Bounded nodes of a schema, from which the modules of this package build the pod template's schema.

Used by this package only. Each node has a bound, so no template can be deep or large without a limit.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

LARGEST_INT32 = 2**31 - 1
NAME_LENGTH = 253
LABEL_LENGTH = 63
PATH_LENGTH = 4096
TEXT_LENGTH = 32768
"""Characters of values, arguments and scripts."""


def text(longest: int = NAME_LENGTH) -> Schema:
    """A string of at most `longest` characters."""
    return {"type": "string", "maxLength": longest}


def number(least: int = 0, most: int = LARGEST_INT32) -> Schema:
    """An integer."""
    return {"type": "integer", "minimum": least, "maximum": most}


def flag() -> Schema:
    """True or false."""
    return {"type": "boolean"}


def amount() -> Schema:
    """A quantity or a port: an integer, or a string, for example `500m` or `http`."""
    return {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "maxLength": 63,
    }


def listed(items: Schema, most: int = 16) -> Schema:
    """A list of at most `most` items."""
    return {"type": "array", "items": items, "maxItems": most}


def mapped(values: Schema, most: int = 64) -> Schema:
    """A map with any keys, at most `most` of them."""
    return {"type": "object", "additionalProperties": values, "maxProperties": most}


def fields(**properties: Schema) -> Schema:
    """An object with these fields. Without any, only its presence is kept: its contents are dropped."""
    return {"type": "object", "properties": properties}


def label_selector() -> Schema:
    """A LabelSelector."""
    requirement = fields(key=text(317), operator=text(32), values=listed(text(LABEL_LENGTH), 64))
    return fields(matchLabels=mapped(text(LABEL_LENGTH), 32), matchExpressions=listed(requirement, 16))
