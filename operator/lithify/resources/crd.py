"""Generates `crds/`: the CustomResourceDefinitions of the four kinds, from their models.

`python -m lithify.resources.crd` writes them there and into the chart (`make crds`); a unit test checks that
they are current. `validating` checks objects against them where there is no API server.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lithify.formats.declarations import Kind
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import Compaction
from lithify.resources.figures import BLOCKS
from lithify.resources.modelling import RULES, json_schema
from lithify.resources.names import (
    CATALOG,
    CATEGORY,
    COMPACTION,
    GROUP,
    LAKE_TABLE,
    POLICY,
    VERSION,
    ResourceKind,
)
from lithify.resources.policy import CompactionPolicy
from lithify.resources.structural import INT_OR_STRING, structural
from lithify.resources.table import NOT_OBSERVED, LakeTable, TableHealth

_ROOT = Path(__file__).resolve().parents[3]
FOLDER = _ROOT / "crds"
CHART_FOLDER = _ROOT / "charts" / "lithify" / "files" / "crds"
"""The chart's copy: Helm reads no files from outside a chart."""
_LONGEST_FOLDED = 250
"""Maximum characters of a node that is written on one line."""
HEADER = "# Generated from operator/lithify/resources by `make crds`; changes belong there.\n"


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`; wide ones are shown by `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False

    def as_plain(self) -> dict[str, Any]:
        """The column in a CRD's form."""
        priority = {"priority": 1} if self.wide else {}
        return {"name": self.name, "type": self.type, "jsonPath": self.path, **priority}


@dataclass(frozen=True, slots=True)
class Definition:
    """Parts of a CRD that the model of its kind does not contain.

    Attributes:
        initial: status of a new object beside its generation, so that the operator need not write it.
    """

    kind: ResourceKind
    model: type[Any]
    singular: str
    short_names: tuple[str, ...]
    columns: tuple[PrinterColumn, ...]
    selectable: tuple[str, ...]
    initial: Mapping[str, str] = field(default_factory=dict)


def _of_condition(kind: str, field: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{field}'


def _declared_columns() -> Iterator[PrinterColumn]:
    """The columns of figures that only some kinds of tables have; kubectl leaves cells of others empty."""
    for block in BLOCKS:
        for figure in block.figures:
            if figure.column is not None:
                path = f".status.observation.{block.name}.{figure.name}"
                kind = "string" if figure.kind is Kind.GROUP else "integer"
                yield PrinterColumn(figure.column, path, kind, wide=True)


AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")

DEFINITIONS = (
    Definition(
        kind=CATALOG,
        model=Catalog,
        singular="catalog",
        short_names=("lcat",),
        columns=(
            PrinterColumn("Format", ".spec.format"),
            PrinterColumn("Metastore", ".spec.metastore"),
            PrinterColumn("Warehouse", ".spec.warehouse"),
            PrinterColumn("Ready", _of_condition("Ready", "status")),
            PrinterColumn("Tables", ".status.tables", "integer"),
            AGE,
            PrinterColumn("URI", ".spec.uri", wide=True),
            PrinterColumn("Discovered", ".status.discoveredTables", "integer", wide=True),
            PrinterColumn("Message", _of_condition("Ready", "message"), wide=True),
        ),
        selectable=(".spec.format", ".spec.metastore"),
    ),
    Definition(
        kind=LAKE_TABLE,
        model=LakeTable,
        singular="laketable",
        short_names=("lt",),
        columns=(
            PrinterColumn("Table", ".spec.identifier"),
            PrinterColumn("Ready", _of_condition("Ready", "status")),
            PrinterColumn("Health", ".status.health"),
            PrinterColumn("Due", _of_condition("CompactionNeeded", "reason")),
            PrinterColumn("Files", ".status.observation.files", "integer"),
            PrinterColumn("Small", ".status.observation.smallFiles", "integer"),
            PrinterColumn("Size", ".status.size"),
            PrinterColumn("Debt", ".status.debt"),
            PrinterColumn("Last", ".status.lastSuccessTime", "date"),
            AGE,
            PrinterColumn("Catalog", ".spec.catalogRef.name", wide=True),
            PrinterColumn("Policy", ".spec.policyRef.name", wide=True),
            PrinterColumn("Snapshot", ".status.observation.snapshotId", wide=True),
            *_declared_columns(),
            PrinterColumn("Active", ".status.activeCompaction", wide=True),
            # The column WHY is the field `.status.due`; `controller.deciding.sentences` makes its sentence.
            PrinterColumn("Why", ".status.due", wide=True),
            PrinterColumn("Message", _of_condition("Ready", "message"), wide=True),
        ),
        selectable=(".spec.catalogRef.name", ".spec.policyRef.name", ".spec.identifier", ".spec.suspend"),
        initial={"health": TableHealth.UNKNOWN.value, "due": NOT_OBSERVED},
    ),
    Definition(
        kind=POLICY,
        model=CompactionPolicy,
        singular="compactionpolicy",
        short_names=("cpol",),
        columns=(
            PrinterColumn("Check", ".spec.checkIntervalSeconds", "integer"),
            PrinterColumn("Full-Every", ".spec.full.intervalSeconds", "integer"),
            PrinterColumn("Full-At", ".spec.full.schedule"),
            PrinterColumn("Suspend", ".spec.suspend", "boolean"),
            PrinterColumn("Ready", _of_condition("Ready", "status")),
            PrinterColumn("Tables", ".status.tables", "integer"),
            AGE,
            PrinterColumn("Time-Zone", ".spec.timeZone", wide=True),
            PrinterColumn("Active-Runs", ".spec.limits.activeRuns", "integer", wide=True),
            PrinterColumn("Priority", ".spec.priority", "integer", wide=True),
            PrinterColumn("Message", _of_condition("Ready", "message"), wide=True),
        ),
        selectable=(".spec.suspend",),
    ),
    Definition(
        kind=COMPACTION,
        model=Compaction,
        singular="compaction",
        short_names=("cmp",),
        columns=(
            PrinterColumn("Table", ".status.identifier"),
            PrinterColumn("Kind", ".spec.kind"),
            PrinterColumn("Strategy", ".spec.strategy"),
            PrinterColumn("Status", _of_condition("Succeeded", "reason")),
            PrinterColumn("Files", ".status.files"),
            PrinterColumn("Bytes", ".status.bytes"),
            PrinterColumn("Attempts", ".status.attempts", "integer"),
            PrinterColumn("Duration", ".status.duration"),
            AGE,
            PrinterColumn("LakeTable", ".spec.tableRef.name", wide=True),
            PrinterColumn("Progress", ".status.progress", wide=True),
            PrinterColumn("Snapshot", ".status.committedSnapshotId", wide=True),
            PrinterColumn("Driver", ".status.driver.name", wide=True),
            PrinterColumn("Message", _of_condition("Succeeded", "message"), wide=True),
        ),
        selectable=(".spec.tableRef.name", ".spec.kind", ".spec.strategy"),
    ),
)


def definition_of(kind: ResourceKind) -> Definition:
    """The definition of one of our kinds."""
    return next(definition for definition in DEFINITIONS if definition.kind == kind)


def schema_of(definition: Definition) -> dict[str, Any]:
    """The structural schema of a kind; of metadata it holds only rules, Kubernetes has the rest."""
    whole = json_schema(definition.model)
    parts, fields = whole["$defs"], whole["properties"]
    spec = structural(fields["spec"], parts, defaults=True)
    # Fields that the operator has not set are omitted, and read as the model's defaults.
    status = structural(fields["status"], parts, defaults=False)
    status["default"] = {"observedGeneration": -1, **definition.initial}
    return {
        "type": "object",
        "description": " ".join(whole["description"].split()),
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}"},
            "kind": {"type": "string", "description": "The kind of the object."},
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": spec,
            "status": status,
        },
        **({RULES: whole[RULES]} if RULES in whole else {}),
    }


def manifest(definition: Definition) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind."""
    kind = definition.kind
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": definition.singular,
                "shortNames": list(definition.short_names),
                "categories": [CATEGORY],
            },
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [column.as_plain() for column in definition.columns],
                    "selectableFields": [{"jsonPath": path} for path in definition.selectable],
                    "schema": {"openAPIV3Schema": schema_of(definition)},
                }
            ],
        },
    }


def files() -> dict[str, str]:
    """The content of each file of `crds/` by file name."""
    return {
        f"{definition.kind.plural}.yaml": HEADER
        + yaml.dump(manifest(definition), Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
        for definition in DEFINITIONS
    }


def write(folder: Path) -> None:
    """Writes the files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (folder / name).write_text(content, encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Repeats equal values instead of writing anchors; small nodes without descriptions take one line."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        """Writes nodes without descriptions on one line: pod templates would mostly be indentation."""
        is_folded = {"type", INT_OR_STRING} & mapping.keys() and _is_short(mapping)
        return super().represent_mapping(tag, mapping, flow_style or bool(is_folded))


def _is_short(mapping: Any) -> bool:
    text = json.dumps(mapping)
    return len(text) <= _LONGEST_FOLDED and '"description"' not in text


if __name__ == "__main__":
    for place in map(Path, sys.argv[1:] or (FOLDER, CHART_FOLDER)):
        write(place)
