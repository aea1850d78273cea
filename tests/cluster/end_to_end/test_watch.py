"""`lithify watch`: the operator over a folder, without any cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from infrastructure.oracle.client import Oracle
from support.tables import make_plain

OBJECTS = """
apiVersion: lithify.dev/v1alpha1
kind: Catalog
metadata: {{name: lake}}
spec: {{warehouse: {warehouse}}}
---
apiVersion: lithify.dev/v1alpha1
kind: CompactionPolicy
metadata: {{name: default}}
spec: {{checkIntervalSeconds: 1}}
---
apiVersion: lithify.dev/v1alpha1
kind: LakeTable
metadata: {{name: orders}}
spec: {{catalogRef: {{name: lake}}, identifier: {identifier}}}
"""


def watch_once(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lithify", "watch", "--once", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def write_objects(folder: Path, warehouse: Path, identifier: str) -> str:
    folder.mkdir()
    text = OBJECTS.format(warehouse=warehouse, identifier=identifier)
    (folder / "lakehouse.yaml").write_text(text)
    return text


def stored(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The objects of a kind in the state file."""
    items = yaml.safe_load((folder / ".lithify" / "state.yaml").read_text())["items"]
    return [item for item in items if item["kind"] == kind]


@pytest.mark.oracle
@pytest.mark.spark
@pytest.mark.timeout(700)
def test_a_folder_is_reconciled_until_nothing_is_due(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "warehouse", commits=6, **{"write-only": "true"})
    before = oracle.digest(table)
    folder = tmp_path / "examples"
    text = write_objects(folder, tmp_path / "warehouse", "db.t")
    ended = watch_once(folder)
    assert ended.returncode == 0, ended.stderr
    assert oracle.digest(table) == before
    assert len(oracle.files(table)) == 1
    assert (folder / "lakehouse.yaml").read_text() == text, "the user's files are only read"
    [run] = stored(folder, "Compaction")
    [summary] = [each for each in run["status"]["conditions"] if each["type"] == "Succeeded"]
    assert summary["reason"] == "Compacted", "and no other run followed it"
    [status] = stored(folder, "LakeTable")
    assert status["status"]["lastCompaction"]["reason"] == "Compacted"
    again = watch_once(folder)
    assert again.returncode == 0, again.stderr
    assert stored(folder, "Compaction") == [run], "nothing was due any more"


@pytest.mark.timeout(300)
def test_a_table_that_is_not_well_and_a_wrong_document_are_told(tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    folder = tmp_path / "examples"
    write_objects(folder, tmp_path / "warehouse", "db.missing")
    (folder / "wrong.yaml").write_text(
        "kind: LakeTable\napiVersion: lithify.dev/v1alpha1\nmetadata: {name: x}\n"
    )
    ended = watch_once(folder)
    assert ended.returncode == 1
    assert "wrong.yaml" in ended.stderr
    assert "default/orders: " in ended.stderr
    [status] = [each for each in stored(folder, "LakeTable") if "orders" in str(each)]
    [ready] = [each for each in status["status"]["conditions"] if each["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "TableNotFound")


@pytest.mark.timeout(300)
def test_a_catalog_without_tables_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    spec = "{format: Iceberg, warehouse: /lake, options: {foo.bar: x}, discovery: {include: ['a.*']}}"
    head = "apiVersion: lithify.dev/v1alpha1\nkind: Catalog\nmetadata: {name: lake}\n"
    (tmp_path / "lakehouse.yaml").write_text(f"{head}spec: {spec}\n")
    ended = watch_once(tmp_path)
    assert ended.returncode == 1
    assert "default/lake: " in ended.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "catalog",
    [
        pytest.param("", id="no document has the Catalog"),
        pytest.param(
            "apiVersion: lithify.dev/v1alpha1\nkind: Catalog\n"
            "metadata: {name: lake}\nspec: {warehouse: relative}\n",
            id="the Catalog is invalid",
        ),
    ],
)
def test_a_table_without_a_valid_catalog_does_not_keep_the_command_from_ending(
    tmp_path: Path, catalog: str
) -> None:
    table = OBJECTS.format(warehouse="", identifier="db.t").split("---\n")[2]
    (tmp_path / "lakehouse.yaml").write_text("---\n".join(filter(None, (catalog, table))))
    ended = watch_once(tmp_path)
    assert ended.returncode == 1
    assert "default/orders: CatalogNotFound: there is no Catalog lake" in ended.stderr
    assert bool(catalog) == ("Catalog lake: spec.warehouse" in ended.stderr)
