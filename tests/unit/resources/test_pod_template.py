"""The schema of pod templates has all that Kubernetes has, and is understood alike in two ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kubernetes import client

from lithify.errors import InvalidResource
from lithify.resources.names import POLICY
from lithify.resources.pod_template.misfits import misfits
from lithify.resources.pod_template.template import SCHEMA
from lithify.resources.pod_template.volumes import CONTAINED, FORMER, OF_THE_NODE
from lithify.resources.validating import validated
from support.cases import case

Schema = dict[str, Any]

SET_BY_SERVERS = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
OF_CLAIMS = ("name", "generateName", "namespace", "finalizers", "ownerReferences")
LEFT_OUT = {
    *(f".metadata.{name}" for name in SET_BY_SERVERS),
    *(
        f".spec.volumes.ephemeral.volumeClaimTemplate.metadata.{name}"
        for name in (*SET_BY_SERVERS, *OF_CLAIMS)
    ),
}
"""What Kubernetes sets itself, or does not accept in there either."""
NOT_LOOKED_INTO = {
    ".metadata.ownerReferences",
    ".spec.ephemeralContainers",
    *(f".spec.volumes.{kind}" for kind in FORMER),
}
"""What is refused whatever is inside."""


def differences(schema: Schema, model: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Fields that only one of a schema and a model of the Kubernetes client has, or that differ in shape."""
    names = model.attribute_map
    yield from (("only ours", f"{path}.{name}") for name in schema["properties"].keys() - names.values())
    for attribute, kind in model.openapi_types.items():
        field = f"{path}.{names[attribute]}"
        node = schema["properties"].get(names[attribute])
        if node is None:
            yield "missing", field
            continue
        items = re.fullmatch(r"List\[(.*)\]", kind)
        if (node.get("type") == "array") is not (items is not None):
            yield "a list or not", field
            continue
        item, inner = (node["items"], items[1]) if items else (node, kind)
        if (item.get("additionalProperties") is not None) is not inner.startswith("Dict"):
            yield "a map or not", field
        elif hasattr(found := getattr(client, inner, None), "openapi_types"):
            yield from differences(item, found, field) if item["properties"] else [("opaque", field)]


def test_no_field_of_kubernetes_is_missing() -> None:
    found = set(differences(SCHEMA, client.V1PodTemplateSpec))
    expected = {("missing", path) for path in LEFT_OUT} | {("opaque", path) for path in NOT_LOOKED_INTO}
    assert found == expected


def test_volumes_are_of_one_of_three_sorts() -> None:
    kinds = SCHEMA["properties"]["spec"]["properties"]["volumes"]["items"]["properties"].keys() - {"name"}
    assert sorted(kinds) == sorted([*CONTAINED, *OF_THE_NODE, *FORMER])


def valid(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that a schema allows, small ones."""
    match schema.get("type"):
        case "string":
            return st.text(max_size=3)
        case "integer":
            return st.integers(schema["minimum"], schema["maximum"])
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(valid(schema["items"]), max_size=2)
        case "object" if "additionalProperties" in schema:
            return st.dictionaries(st.text(max_size=3), valid(schema["additionalProperties"]), max_size=2)
        case "object":
            fields = sorted(schema["properties"])
            chosen = st.lists(st.sampled_from(fields), max_size=2) if fields else st.just([])
            return chosen.flatmap(
                lambda names: st.fixed_dictionaries(
                    {name: valid(schema["properties"][name]) for name in names}
                )
            )
        case _:
            return st.integers(-5, 5) | st.text(max_size=3)


FRACTIONS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FRACTIONS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A template in which one value was replaced by any other."""
    template = draw(valid(SCHEMA))
    places = list(_places(template))
    if not places:
        return draw(JSON)
    holder, name = draw(st.sampled_from(places))
    holder[name] = draw(JSON)
    return template


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    names = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for name in names:
        yield value, name
        yield from _places(value[name])


def is_accepted(template: Any) -> bool:
    """Whether an API server would store it just so: it drops what is unknown, `validated` refuses it."""
    body = {
        "apiVersion": POLICY.api_version,
        "kind": "CompactionPolicy",
        "metadata": {"name": "any"},
        "spec": {"spark": {"driver": {"podTemplate": template}}},
    }
    try:
        validated(POLICY, body)
    except InvalidResource:
        return False
    return True


@settings(deadline=None)
@given(valid(SCHEMA))
def test_what_fits_is_accepted(template: Any) -> None:
    assert list(misfits(template)) == []
    assert is_accepted(template)


@settings(deadline=None)
@given(damaged())
def test_what_does_not_fit_is_found_as_by_the_api_server(template: Any) -> None:
    found = [path for path, why in misfits(template)]
    assert (found == []) is is_accepted(without_fieldless(SCHEMA, template))


def without_fieldless(schema: Any, value: Any) -> Any:
    """A template without what is in objects of which no field is known: these are refused by name later."""
    if isinstance(value, list) and "items" in schema:
        return [without_fieldless(schema["items"], entry) for entry in value]
    if not isinstance(value, dict) or schema.get("type") != "object":
        return value
    if "additionalProperties" in schema:
        inner = schema["additionalProperties"]
        return {name: without_fieldless(inner, entry) for name, entry in value.items()}
    known = schema["properties"]
    return {name: without_fieldless(known.get(name, {}), entry) for name, entry in value.items() if known}


def test_entries_of_an_object_without_fields_are_left_to_its_refusal_by_name() -> None:
    template = {"spec": {"ephemeralContainers": [{"": None}]}}
    assert list(misfits(template)) == []
    assert is_accepted(without_fieldless(SCHEMA, template))


def nested(depth: int, *, lists: bool) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value] if lists else {"a": value}
    return value


@pytest.mark.thorough
@pytest.mark.parametrize("lists", [case(True, id="lists"), case(False, id="maps")])
@pytest.mark.parametrize(
    ("place", "field"),
    [
        case(lambda deep: deep, "", id="all"),
        case(lambda deep: {"metadata": deep}, "metadata", id="metadata"),
        case(lambda deep: {"metadata": {"labels": {"x": deep}}}, "metadata.labels[x]", id="label"),
        case(lambda deep: {"spec": {"affinity": {"nodeAffinity": deep}}}, "spec.affinity", id="affinity"),
        case(lambda deep: {"spec": {"volumes": [{"csi": deep}]}}, "spec.volumes[0].csi", id="volume"),
    ],
)
def test_depth_is_found_without_going_down(place: Any, field: str, lists: bool) -> None:
    template = place(nested(100_000, lists=lists))
    (path, _), *_ = misfits(template)
    assert path.startswith(field)
