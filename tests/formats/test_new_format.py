"""A new format is one folder and one entry in the list of adapters: from there on the product knows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import lithify
from formats.memory import MemoryTables
from lithify.formats import adapters

OBJECTS = """
apiVersion: lithify.dev/v1alpha1
kind: Catalog
metadata: {{name: lake}}
spec: {{format: {format}, metastore: Shelf, warehouse: {warehouse}}}
---
apiVersion: lithify.dev/v1alpha1
kind: CompactionPolicy
metadata: {{name: default}}
spec: {{checkIntervalSeconds: 1, triggers: {{stone: {{smallFileSize: {small}}}}}}}
---
apiVersion: lithify.dev/v1alpha1
kind: LakeTable
metadata: {{name: orders}}
spec: {{catalogRef: {{name: lake}}, identifier: sales.eu.t}}
"""

METRICS = """
import json, sys
from prometheus_client import generate_latest
from lithify.controller.telemetry.metrics import Metrics, new_registry
from lithify.resources.modelling import read
from lithify.resources.names import ObjectKey
from lithify.resources.table import LakeTableStatus
metrics = Metrics(new_registry(), per_table=True)
status = read(LakeTableStatus, json.loads(sys.argv[1]))
metrics.table_changed(ObjectKey("default", "orders"), status, "sales.eu.t")
print(generate_latest(metrics.registry).decode())
"""
"""Prints what Prometheus scrapes once a table has the status in the first argument."""

PIN = "credential_options=('shelf.pin',), "
CATALOG = """
import json, sys
from lithify.resources.names import CATALOG
from lithify.resources.validating import validated
body = {"apiVersion": CATALOG.api_version, "kind": CATALOG.name, "metadata": {"name": "lake"}}
validated(CATALOG, {**body, "spec": json.loads(sys.argv[1])})
"""
"""Checks a Catalog with the spec in the first argument, as an API server does."""


@dataclass(frozen=True, slots=True)
class Product:
    """The package in a folder of its own, with a format more."""

    root: Path

    def python(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs a module of this package."""
        return self.run("-m", *arguments, status=status)

    def run(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs the interpreter with this package."""
        environment = {**os.environ, "PYTHONPATH": str(self.root / "operator")}
        command = [sys.executable, *arguments]
        ended = subprocess.run(
            command, env=environment, cwd=self.root, capture_output=True, text=True, check=False
        )
        assert ended.returncode == status, ended.stdout + ended.stderr
        return ended


@pytest.fixture
def product(tmp_path: Path) -> Product:
    """The package with a copy of the reference format, named `stone`, and an entry for it."""
    package = tmp_path / "operator" / "lithify"
    shutil.copytree(Path(lithify.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(package / "formats" / "memory", package / "formats" / "stone")
    for module in (package / "formats" / "stone").glob("*.py"):
        module.write_text(module.read_text().replace("lithify.formats.memory", "lithify.formats.stone"))
    declarations = package / "formats" / "stone" / "declarations.py"
    text = (
        declarations.read_text().replace('"memory"', '"stone"').replace("    FILESYSTEM,", "    Metastore,")
    )
    text = text.replace("(FILESYSTEM,)", '(Metastore("Shelf", "shelf"),)')
    assert "FILESYSTEM" not in text
    declarations.write_text(text.replace("FORMAT = Format(", f"FORMAT = Format({PIN}"))
    entry = '"stone": Adapter(f"{_FOLDER}.stone.adapter", f"{_FOLDER}.stone.observing"),\n'
    names = package / "formats" / Path(adapters.__file__).name
    text, count = re.subn(r'(?=^ +"memory": Adapter)', entry, names.read_text(), flags=re.MULTILINE)
    assert count == 1
    names.write_text(text)
    return Product(tmp_path)


def stored(folder: Path, kind: str) -> dict[str, Any]:
    """The status of the only object of a kind."""
    items = yaml.safe_load((folder / ".lithify" / "state.yaml").read_text())["items"]
    [found] = [item["status"] for item in items if item["kind"] == kind]
    assert isinstance(found, dict)
    return found


def objects(root: Path, *, warehouse: Path, small: str = "128Mi") -> Path:
    """A folder with a catalog, a policy and a table."""
    folder = root / "objects"
    folder.mkdir(exist_ok=True)
    (folder / "objects.yaml").write_text(OBJECTS.format(format="Stone", warehouse=warehouse, small=small))
    return folder


@pytest.mark.spark
def test_the_whole_product_serves_a_format_that_was_added(product: Product, tmp_path: Path) -> None:
    tables = MemoryTables("stone")
    table = tables.make(tmp_path)
    rows = tables.rows(table)
    which = ["--format", "stone", "--warehouse", str(table.warehouse), "--table", table.name]

    (tmp_path / "crds").mkdir()
    (tmp_path / "charts/lithify/files/crds").mkdir(parents=True)
    product.python("lithify.resources.crd")
    shown = json.loads(product.python("lithify", "inspect", *which, "--json").stdout)
    planned = json.loads(product.python("lithify", "plan", *which, "--json").stdout)
    folder = objects(tmp_path, warehouse=table.warehouse)
    product.python("lithify", "watch", "--once", str(folder))

    assert "Stone" in (tmp_path / "crds/catalogs.yaml").read_text()
    assert [group["due"] for group in shown["buckets"]] == ["SmallFiles", "SmallFiles"]
    assert len(planned["units"]) == 2
    assert stored(folder, "Compaction")["conditions"][0]["reason"] == "Compacted"
    assert stored(folder, "LakeTable")["observation"]["files"] == 2
    assert tables.rows(table) == rows
    assert (tables.strays(table), tables.notes(table)) == (set(), set())
    product.python("lithify", "compact", *which)


def test_what_the_format_declares_is_shown_everywhere(product: Product, tmp_path: Path) -> None:
    """No line outside of its folder and its entry names the figures, the trigger or the metastore."""
    tables = MemoryTables("stone")
    table = tables.make(tmp_path)
    which = ["--format", "stone", "--warehouse", str(table.warehouse), "--table", table.name]
    product.python("lithify.resources.crd", str(tmp_path / "crds"))
    folder = objects(tmp_path, warehouse=table.warehouse, small="1")
    product.python("lithify", "watch", "--once", str(folder))

    seen = stored(folder, "LakeTable")["observation"]
    assert seen["stone"] == {"maxRows": 30, "maxRowsGroup": "a"}
    assert (seen["groups"], seen["dueGroups"]) == (2, 0)
    assert seen["smallFiles"] == 0, "the policy's trigger is followed: no file is below one byte"

    definition = yaml.safe_load((tmp_path / "crds/laketables.yaml").read_text())
    [version] = definition["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    figures = status["observation"]["properties"]["stone"]["properties"]
    assert figures["maxRows"] == {
        "type": "integer",
        "description": "Most rows in a group.",
        "minimum": 0,
        "format": "int64",
    }
    columns = {each["name"]: each["jsonPath"] for each in version["additionalPrinterColumns"]}
    assert columns["Group-Rows"] == ".status.observation.stone.maxRows"

    [group, _] = json.loads(product.python("lithify", "inspect", *which, "--json").stdout)["buckets"]
    assert group["rows_per_file"] == 10
    assert "10 rows per file, 3 files" in product.python("lithify", "inspect", *which).stdout

    assert "`lithify_max_group_rows`" in product.python("lithify.controller.telemetry.page").stdout
    shown = product.run("-c", METRICS, json.dumps(stored(folder, "LakeTable"))).stdout.splitlines()
    assert "lithify_max_group_rows 30.0" in shown
    assert [line for line in shown if line.startswith("lithify_table_max_group_rows{")] != []


@pytest.mark.parametrize(
    ("table_format", "metastore", "more", "problem"),
    [
        ("Stone", "Shelf", {}, ""),
        ("Paimon", "Filesystem", {}, ""),
        ("Stone", "Filesystem", {}, "the metastore of a catalog of the format Stone is Shelf"),
        (
            "Paimon",
            "Shelf",
            {},
            "the metastore of a catalog of the format Paimon is Filesystem, Rest or Jdbc",
        ),
        ("Stone", "Shelf", {"uri": "http://x"}, "has no meaning for Filesystem, Glue and Shelf"),
        ("Stone", "Shelf", {"options": {"shelf.pin": "1"}}, "credentials belong into a Secret"),
    ],
)
def test_each_format_has_its_own_catalogs(
    product: Product, table_format: str, metastore: str, more: dict[str, Any], problem: str
) -> None:
    spec = {"format": table_format, "metastore": metastore, "warehouse": "/lake", **more}
    ended = product.run("-c", CATALOG, json.dumps(spec), status=1 if problem else 0)
    assert problem in ended.stderr


def test_the_reference_is_not_offered(tmp_path: Path) -> None:
    table = MemoryTables().make(tmp_path)
    which = ["--format", "memory", "--warehouse", str(table.warehouse), "--table", table.name]
    refused = subprocess.run(
        [sys.executable, "-m", "lithify", "inspect", *which], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
