"""Statuses that a user with rights on status subresources may write: anything that the definitions allow."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from lithify.resources.modelling import json_schema

TIMES = (
    *("0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00-23:59", "1970-01-01T00:00:00Z"),
    *(
        "2026-01-01T12:00:00Z",
        "9999-12-31T23:59:59Z",
        "9999-12-31T23:59:59-23:59",
        "9999-12-31T23:59:59+23:59",
    ),
)
MOST_INTEGER = (1 << 63) - 1
TEXTS = st.sampled_from(
    ["", "a", "s3://[x/y", "\x1b[2J", "\u202e", "$(HOME)", "../../etc", "-1", "NaN", "x" * 64]
)


def statuses(kind: type[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Plain statuses of a model, with extremes of times and numbers."""
    schema = json_schema(kind)
    return _of(schema, schema.get("$defs", {}), "")


def _of(schema: dict[str, Any], parts: dict[str, Any], name: str) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _of(parts[schema["$ref"].rpartition("/")[2]], parts, name)
    if "anyOf" in schema:
        return st.one_of([_of(one, parts, name) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _object(schema, parts)
        case "object":
            return st.dictionaries(TEXTS, _of(schema["additionalProperties"], parts, name), max_size=2)
        case "array":
            most = min(schema.get("maxItems", 3), 3)
            return st.lists(_of(schema["items"], parts, name), max_size=most)
        case "integer" | "number":
            return _numbers(schema)
        case "string":
            return _texts(schema, name)
        case kind:
            return {"boolean": st.booleans(), "null": st.none()}[kind]


def _object(schema: dict[str, Any], parts: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    needed = set(schema.get("required", ()))
    fields = {name: _of(one, parts, name) for name, one in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: one for name, one in fields.items() if name in needed},
        optional={name: one for name, one in fields.items() if name not in needed},
    )


def _numbers(schema: dict[str, Any]) -> st.SearchStrategy[float]:
    least, most = schema.get("minimum", 0), schema.get("maximum", MOST_INTEGER)
    return st.sampled_from([least, least + 1, 50, most]).filter(lambda one: least <= one <= most)


def _texts(schema: dict[str, Any], name: str) -> st.SearchStrategy[str]:
    if schema.get("format") == "date-time":
        return st.sampled_from(TIMES)
    if name == "reason":
        return st.sampled_from(["Running", "Submitting", "Compacted", "BackingOff", "DriverFailed", "Odd"])
    if name == "type":
        return st.sampled_from(["Succeeded", "Ready", "Stalled", "CompactionNeeded", "Odd"])
    pattern, most = schema.get("pattern"), schema.get("maxLength", 64)
    found = TEXTS if pattern is None else (TEXTS | st.just("7")).filter(re.compile(pattern).search)
    return found.map(lambda text: text[:most])
