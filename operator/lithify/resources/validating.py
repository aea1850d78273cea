"""Validates objects against our CustomResourceDefinitions where there is no API server to do it.

Called for `lithify watch`, whose objects are files. In the order of the API server: unknown fields, defaults,
the schema, and only then the rules, which may rely on the schema. Unknown fields are refused, because in a
file they are typing mistakes. Only those of a status, which another release may have stored, are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from lithify.errors import InvalidResource
from lithify.resources.crd import definition_of, schema_of
from lithify.resources.names import ResourceKind

Object = Mapping[str, Any]
Schema = Mapping[str, Any]
Problem = tuple[str, str]

_NOT_JSON_SCHEMA = ("x-kubernetes-", "default", "description", "format")
_MOST_TEXT = 200


def validated(kind: ResourceKind, body: Object, before: Object | None = None) -> dict[str, Any]:
    """Returns the object with defaults and known status fields only; `before` is its old state, if any.

    Raises:
        InvalidResource: the API server would have refused it.
    """
    schema = _schema(kind)
    found = deepcopy(dict(body))
    drop_unknown(schema["properties"]["status"], found.get("status"))
    problems = list(_unknown(schema, found, ""))
    fill_in(schema, found)
    problems += _misfits(kind, found)
    if not problems:
        from lithify.resources.rules import broken  # an operator in a cluster needs no CEL

        problems = list(broken(schema, found, before))
    if problems:
        name = str((body.get("metadata") or {}).get("name", ""))
        raise InvalidResource(kind.name, name, tuple(problems))
    return found


def fill_in(schema: Schema, value: Any) -> None:
    """Sets the defaults in a value, level by level; a null where there is a default counts as missing."""
    if isinstance(value, dict):
        for name, child in schema.get("properties", {}).items():
            if value.get(name) is None and "default" in child:
                value[name] = deepcopy(child["default"])
            if name in value:
                fill_in(child, value[name])
        if "additionalProperties" in schema:
            for entry in value.values():
                fill_in(schema["additionalProperties"], entry)
    elif isinstance(value, list) and "items" in schema:
        for entry in value:
            fill_in(schema["items"], entry)


def drop_unknown(schema: Schema, value: Any) -> None:
    """Removes fields that a schema does not define from a value, level by level."""
    if isinstance(value, dict) and "properties" in schema:
        for name in value.keys() - schema["properties"].keys():
            del value[name]
        for name, entry in value.items():
            drop_unknown(schema["properties"][name], entry)
    elif isinstance(value, dict) and "additionalProperties" in schema:
        for entry in value.values():
            drop_unknown(schema["additionalProperties"], entry)
    elif isinstance(value, list) and "items" in schema:
        for entry in value:
            drop_unknown(schema["items"], entry)


@cache
def _schema(kind: ResourceKind) -> Schema:
    return schema_of(definition_of(kind))


def _unknown(schema: Schema, value: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, dict) and "properties" in schema:
        for name, entry in value.items():
            inner = f"{path}.{name}" if path else name
            if inner == "metadata":
                continue  # Kubernetes defines more of it
            if name in schema["properties"]:
                yield from _unknown(schema["properties"][name], entry, inner)
            else:
                yield inner, "there is no such field"
    elif isinstance(value, dict) and "additionalProperties" in schema:
        for name, entry in value.items():
            yield from _unknown(schema["additionalProperties"], entry, f"{path}[{name}]")
    elif isinstance(value, list) and "items" in schema:
        for index, entry in enumerate(value):
            yield from _unknown(schema["items"], entry, f"{path}[{index}]")


def _misfits(kind: ResourceKind, value: Any) -> Iterator[Problem]:
    for error in _validator(kind).iter_errors(value):
        path = error.json_path.removeprefix("$").removeprefix(".")
        message = error.message
        yield path, message if len(message) <= _MOST_TEXT else f"{message[:_MOST_TEXT]}…"


@cache
def _validator(kind: ResourceKind) -> Any:
    from jsonschema import Draft202012Validator, validators

    extend: Any = validators.extend
    return extend(Draft202012Validator, {"pattern": _pattern})(_as_json_schema(_schema(kind)))


def _pattern(_validator: object, pattern: str, value: object, _schema: object) -> Iterator[Exception]:
    """A pattern in Go's meaning: Python's $ also matches before a line break at the end."""
    from jsonschema import ValidationError

    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield ValidationError(f"{value!r} does not match {pattern}")


def _as_json_schema(node: Any) -> Any:
    """The schema without keywords that Kubernetes interprets differently, or that only Kubernetes knows."""
    if isinstance(node, list):
        return [_as_json_schema(entry) for entry in node]
    if not isinstance(node, Mapping):
        return node
    kept = {key: value for key, value in node.items() if not key.startswith(_NOT_JSON_SCHEMA)}
    return {
        key: {name: _as_json_schema(child) for name, child in value.items()}
        if key == "properties"
        else _as_json_schema(value)
        for key, value in kept.items()
    }
