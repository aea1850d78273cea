"""What settings become, as objects that an API server would take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from lithify.cli.render_import import imported_yaml
from lithify.controller.deciding.overrides import table_overrides
from lithify.formats.declared import declared
from lithify.formats.iceberg.importing.importer import import_settings
from lithify.formats.iceberg.planning.options import PlanningOptions, planning_options
from lithify.formats.protocol.importing import ImportedSettings
from lithify.resources.crd import definition_of
from lithify.resources.modelling import read
from lithify.resources.names import LAKE_TABLE, POLICY
from lithify.resources.policy import CompactionPolicy
from lithify.resources.table import LakeTable
from lithify.resources.validating import validated

KINDS = {"CompactionPolicy": POLICY, "LakeTable": LAKE_TABLE}


def imported(text: str, table: str | None = None) -> ImportedSettings:
    found = import_settings(text, table)
    assert found is not None
    return found


def objects(settings: ImportedSettings) -> list[dict[str, Any]]:
    """The objects of the YAML, each as an API server would take it, and as the operator reads it."""
    found = list(yaml.safe_load_all(imported_yaml(settings, "one")))
    for each in found:
        kind = KINDS[each["kind"]]
        whole = validated(kind, each)
        whole["metadata"]["namespace"] = "default"
        read(definition_of(kind).model, whole)
    return found


def plan_of(policy: Mapping[str, Any], table: Mapping[str, Any]) -> PlanningOptions:
    """The options of plans that the operator makes of two objects."""
    for each in (policy, table):
        each["metadata"]["namespace"] = "default"
    spec = read(CompactionPolicy, validated(POLICY, policy)).spec
    return planning_options(
        table_overrides(spec, read(LakeTable, validated(LAKE_TABLE, table)), declared("iceberg")), {}
    )


def meaning(settings: ImportedSettings, name: str) -> str:
    (found,) = (note.meaning for note in settings.notes if note.name == name)
    return found


def rewrite(options: Mapping[str, str], table: str = "db.t") -> str:
    entries = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
    return f"CALL lake.system.rewrite_data_files(table => '{table}', options => map({entries}));\n"


def properties(found: Mapping[str, str]) -> str:
    return "\n".join(f"{name}={value}" for name, value in found.items())
