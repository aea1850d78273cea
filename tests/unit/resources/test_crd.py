"""What stands in crds/ is what the models say, and says all that Kubernetes and people need."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from lithify.resources.crd import (
    CHART_FOLDER,
    DEFINITIONS,
    FOLDER,
    Definition,
    files,
    manifest,
    schema_of,
    write,
)
from lithify.resources.modelling import RULES, json_schema
from lithify.resources.structural import structural
from support.rule_cases import CASES, rules

Schema = Mapping[str, Any]
DEEPEST = 24
"""Levels that an object can have; Python's JSON decoder gives up at about a thousand."""
MOST_BYTES = 160 * 1024
"""Kubernetes lets all annotations of an object have 256 KiB together."""
each_kind = pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: each.kind.name)


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """All nodes but for metadata, which is Kubernetes' own."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        if name != "metadata":
            yield from nodes(child, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from nodes(schema[name], f"{path}[]")


@pytest.mark.parametrize("folder", [FOLDER, CHART_FOLDER], ids=["crds", "chart"])
def test_the_folders_hold_what_the_models_say(folder: Path) -> None:
    kept = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert kept == files(), "run `make crds`"


@pytest.mark.thorough
def test_files_are_read_back_as_they_were_meant(tmp_path: Path) -> None:
    write(tmp_path)
    for definition in DEFINITIONS:
        text = (tmp_path / f"{definition.kind.plural}.yaml").read_text(encoding="utf-8")
        assert yaml.load(text, Loader=yaml.CSafeLoader) == manifest(definition)


@each_kind
def test_a_definition_fits_into_the_annotation_of_kubectl_apply(definition: Definition) -> None:
    assert len(json.dumps(manifest(definition), separators=(",", ":"))) < MOST_BYTES


@each_kind
def test_every_field_is_described(definition: Definition) -> None:
    silent = [
        f"{path}.{name}"
        for path, node in nodes(schema_of(definition))
        for name, child in node.get("properties", {}).items()
        if name != "metadata" and not child.get("description") and not is_in_pod_template(path)
    ]
    assert silent == []


@each_kind
def test_descriptions_are_of_the_field_not_of_its_type(definition: Definition) -> None:
    processed = "The last generation of the spec that was processed."
    status = schema_of(definition)["properties"]["status"]["properties"]
    assert status["observedGeneration"]["description"] == processed


@each_kind
def test_everything_has_bounds(definition: Definition) -> None:
    boundless = [path for path, node in nodes(schema_of(definition)) if not is_bounded(path, node)]
    assert boundless == []


def is_in_pod_template(path: str) -> bool:
    """Kubernetes describes what is in there: `kubectl explain pod.spec`."""
    return ".podTemplate" in path


def is_bounded(path: str, node: Schema) -> bool:
    match node.get("type", "string"):
        case "string":
            known = path in {".apiVersion", ".kind"} or "enum" in node or node.get("format") == "date-time"
            return known or "maxLength" in node
        case "integer":
            # What is counted ends at 64 bits; what is set ends where it makes sense.
            return "minimum" in node and ("maximum" in node or path.startswith(".status"))
        case "number":
            return "minimum" in node and "maximum" in node
        case "array":
            return "maxItems" in node
        case "object" if "additionalProperties" in node:
            return "maxProperties" in node
        case "object":
            return "properties" in node
        case "boolean":
            return True
        case other:
            pytest.fail(f"{path} has the type {other}")


@each_kind
def test_nothing_unknown_is_kept(definition: Definition) -> None:
    assert "x-kubernetes-preserve-unknown-fields" not in json.dumps(manifest(definition))
    assert max(path.count(".") + path.count("[]") for path, _ in nodes(schema_of(definition))) < DEEPEST


@each_kind
def test_conditions_are_merged_by_their_type(definition: Definition) -> None:
    conditions = schema_of(definition)["properties"]["status"]["properties"]["conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


def test_every_rule_has_a_case() -> None:
    assert {case.key for case in CASES} == set(rules())


def patterns_in(node: Any) -> Iterator[Mapping[str, Any]]:
    """The parts of a model's own schema that have patterns."""
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node
        if "anyOf" in node and RULES in node:  # one of them is null, and the rules are of both
            node = {**node, "anyOf": [{**each, RULES: node[RULES]} for each in node["anyOf"]]}
        for name, child in node.items():
            if name != "default":
                yield from patterns_in(child)
    elif isinstance(node, list):
        for child in node:
            yield from patterns_in(child)


@each_kind
def test_every_pattern_is_a_rule_with_a_sentence(definition: Definition) -> None:
    """The API server shows a bare pattern as it is, which tells nobody what to write."""
    assert "pattern" not in {key for _, node in nodes(schema_of(definition)) for key in node}
    found = list(patterns_in(json_schema(definition.model)))
    assert found
    for node in found:
        said = [rule["message"] for rule in node.get(RULES, ()) if "matches(" in rule["rule"]]
        assert len(said) == 1, node
        assert " is " in said[0] or " has " in said[0] or " have " in said[0], said
        assert node["pattern"] not in said[0]


def test_rules_can_be_told_apart() -> None:
    assert [rule for rule, count in Counter(rules()).items() if count > 1] == []


def test_cases_can_be_told_apart() -> None:
    assert [name for name, count in Counter(case.id for case in CASES).items() if count > 1] == []


def test_kinds_have_names_of_their_own() -> None:
    names = [name for each in DEFINITIONS for name in (*each.short_names, each.singular, each.kind.plural)]
    assert len(names) == len(set(names))


class TestStructuralSchemas:
    """What a JSON schema becomes."""

    PART: Mapping[str, Any] = {
        "type": "object",
        "description": "A part.",
        "title": "Part",
        "properties": {
            "size": {"type": "integer", "default": 3, "maximum": 9, "title": "Size"},
            "names": {"type": "array", "default": [], "items": {"type": "string"}},
        },
        "required": [],
    }

    def test_a_reference_is_replaced_and_the_field_has_the_last_word(self) -> None:
        node = {"$ref": "#/$defs/Part", "description": "A field."}
        made = structural(node, {"Part": self.PART}, defaults=True)
        assert made["description"] == "A field."
        assert made["properties"]["size"] == {
            "type": "integer",
            "maximum": 9,
            "format": "int32",
            "default": 3,
        }

    def test_null_is_no_alternative(self) -> None:
        made = structural(
            {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, {}, defaults=True
        )
        assert made == {"type": "string"}

    @pytest.mark.parametrize(
        ("default", "expected"),
        [
            pytest.param({"size": 3, "names": []}, {}, id="nothing-new"),
            pytest.param({"size": 4, "names": []}, {"size": 4}, id="something-new"),
        ],
    )
    def test_a_default_says_what_nested_ones_do_not(self, default: Any, expected: Any) -> None:
        node = {"$ref": "#/$defs/Part", "default": default}
        assert structural(node, {"Part": self.PART}, defaults=True)["default"] == expected

    def test_a_default_is_whole_where_there_are_rules(self) -> None:
        rules = [{"rule": "self.size > 0", "message": "size is positive"}]
        node = {"$ref": "#/$defs/Part", "default": {"size": 3}, "x-kubernetes-validations": rules}
        assert structural(node, {"Part": self.PART}, defaults=True)["default"] == {"size": 3}

    def test_rules_of_the_part_and_of_the_field_both_hold(self) -> None:
        part = {**self.PART, "x-kubernetes-validations": [{"rule": "a", "message": "a"}]}
        node = {"$ref": "#/$defs/Part", "x-kubernetes-validations": [{"rule": "b", "message": "b"}]}
        made = structural(node, {"Part": part}, defaults=True)
        assert [rule["rule"] for rule in made["x-kubernetes-validations"]] == ["a", "b"]

    def test_without_defaults_there_are_none(self) -> None:
        made = structural(
            {"$ref": "#/$defs/Part", "default": {"size": 4}}, {"Part": self.PART}, defaults=False
        )
        assert "default" not in made
        assert "default" not in made["properties"]["size"]

    def test_a_map_keeps_what_its_values_are(self) -> None:
        node = {
            "type": "object",
            "additionalProperties": {"type": "string", "maxLength": 5},
            "propertyNames": {"maxLength": 3},
        }
        made = structural(node, {}, defaults=True)
        assert made == {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}}
