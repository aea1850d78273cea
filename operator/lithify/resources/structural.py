"""Turns a model's JSON schema into the structural schema that a CustomResourceDefinition requires.

Used by `crd`. Kubernetes allows no references, no alternatives with null, no titles; it requires every type
explicitly, and sets defaults level by level, so that a part whose fields all have defaults defaults to an
empty object. Empty lists and maps are not defaults here: they would appear in every object without need, so
these fields are optional, and rules test `has()` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lithify.resources.modelling import RULES

Schema = dict[str, Any]

INT_OR_STRING = "x-kubernetes-int-or-string"

_KEPT = (
    "type",
    "format",
    "description",
    "enum",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    INT_OR_STRING,
    "anyOf",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
_LARGEST_INT32 = 2**31 - 1


def structural(node: Schema, parts: Mapping[str, Schema], *, defaults: bool) -> Schema:
    """The structural schema of a node of a JSON schema, whose references name `parts`.

    `defaults` says whether the API server sets defaults.
    """
    flat = _resolved(node, parts)
    made = {key: flat[key] for key in _KEPT if key in flat}  # patterns are among the rules, see `matching`
    if "description" in made:
        made["description"] = " ".join(made["description"].split())
    if made.get("type") == "integer":
        made["format"] = "int32" if flat.get("maximum", _LARGEST_INT32 + 1) <= _LARGEST_INT32 else "int64"
    if "properties" in flat:
        made["properties"] = {
            name: structural(child, parts, defaults=defaults) for name, child in flat["properties"].items()
        }
        if flat.get("required"):
            made["required"] = sorted(flat["required"])
    if (values := _map_values(flat)) is not None:
        made["additionalProperties"] = structural(values, parts, defaults=defaults)
    if "items" in flat:
        made["items"] = structural(flat["items"], parts, defaults=defaults)
        made.setdefault("x-kubernetes-list-type", "atomic")
    if RULES in flat:
        made[RULES] = flat[RULES]
    if defaults and flat.get("default") not in (None, [], {}):
        made["default"] = _without_nested(flat["default"], made)
    return made


def _resolved(node: Schema, parts: Mapping[str, Schema]) -> Schema:
    """The node with its reference, or its one alternative that is not null, resolved.

    Keywords beside a reference describe the field, and override those of the part; rules of both apply.
    """
    if INT_OR_STRING in node:
        return node
    beside = {key: value for key, value in node.items() if key not in ("$ref", "anyOf")}
    if "$ref" in node:
        inner = _resolved(parts[node["$ref"].rsplit("/", 1)[-1]], parts)
    elif "anyOf" in node:
        (alternative,) = (option for option in node["anyOf"] if option.get("type") != "null")
        inner = _resolved(alternative, parts)
    else:
        return node
    rules = [*inner.get(RULES, []), *beside.get(RULES, [])]
    return {**inner, **beside, **({RULES: rules} if rules else {})}


def _map_values(flat: Schema) -> Schema | None:
    """The schema of a map's values; patterns of its keys are left to rules."""
    if "properties" in flat:
        return None
    if "patternProperties" in flat:
        (values,) = flat["patternProperties"].values()
        return dict(values)
    values = flat.get("additionalProperties")
    return dict(values) if isinstance(values, dict) else None


def _without_nested(default: Any, schema: Schema) -> Any:
    """A default without values that equal the defaults of the schema's properties.

    A part with rules keeps its whole default: Kubernetes evaluates rules on defaults as they are written.
    """
    if not isinstance(default, dict) or "properties" not in schema:
        return default
    said = {name: value for name, value in default.items() if value not in (None, [], {})}
    within = schema["properties"]
    if RULES in schema:
        return {name: _without_nested(value, within[name]) for name, value in said.items()}
    return {
        name: _without_nested(value, within[name])
        for name, value in said.items()
        if not _follows(value, within[name])
    }


def _follows(value: Any, schema: Schema) -> bool:
    """Whether the API server derives this value from the schema's own default."""
    return "default" in schema and bool(_without_nested(value, schema) == schema["default"])
