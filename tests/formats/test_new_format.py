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

import pytest
import yaml

import lithify
from formats.memory import MemoryTables
from lithify.formats import adapters

OBJECTS = """
apiVersion: lithify.dev/v1alpha1
kind: Catalog
metadata: {{name: lake}}
spec: {{format: {format}, warehouse: {warehouse}}}
---
apiVersion: lithify.dev/v1alpha1
kind: CompactionPolicy
metadata: {{name: default}}
spec: {{checkIntervalSeconds: 1}}
---
apiVersion: lithify.dev/v1alpha1
kind: LakeTable
metadata: {{name: orders}}
spec: {{catalogRef: {{name: lake}}, identifier: sales.eu.t}}
"""


@dataclass(frozen=True, slots=True)
class Product:
    """The package in a folder of its own, with a format more."""

    root: Path

    def python(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs a module of this package."""
        environment = {**os.environ, "PYTHONPATH": str(self.root / "operator")}
        command = [sys.executable, "-m", *arguments]
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
    entry = '"stone": Adapter(f"{_FOLDER}.stone.adapter", f"{_FOLDER}.stone.observing"),\n'
    names = package / "formats" / Path(adapters.__file__).name
    text, count = re.subn(r'(?=^ +"memory": Adapter)', entry, names.read_text(), flags=re.MULTILINE)
    assert count == 1
    names.write_text(text)
    return Product(tmp_path)


def stored(folder: Path, kind: str) -> dict[str, object]:
    """The status of the only object of a kind."""
    items = yaml.safe_load((folder / ".lithify" / "state.yaml").read_text())["items"]
    [found] = [item["status"] for item in items if item["kind"] == kind]
    assert isinstance(found, dict)
    return found


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
    folder = tmp_path / "objects"
    folder.mkdir()
    (folder / "objects.yaml").write_text(OBJECTS.format(format="Stone", warehouse=table.warehouse))
    product.python("lithify", "watch", "--once", str(folder))

    assert "Stone" in (tmp_path / "crds/catalogs.yaml").read_text()
    assert [group["due"] for group in shown["buckets"]] == ["SmallFiles", "SmallFiles"]
    assert len(planned["units"]) == 2
    assert stored(folder, "Compaction")["conditions"][0]["reason"] == "Compacted"
    assert stored(folder, "LakeTable")["observation"]["files"] == 2
    assert tables.rows(table) == rows
    assert (tables.strays(table), tables.notes(table)) == (set(), set())
    product.python("lithify", "compact", *which)


def test_the_reference_is_not_offered(tmp_path: Path) -> None:
    table = MemoryTables().make(tmp_path)
    which = ["--format", "memory", "--warehouse", str(table.warehouse), "--table", table.name]
    refused = subprocess.run(
        [sys.executable, "-m", "lithify", "inspect", *which], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
