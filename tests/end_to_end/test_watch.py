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


def beside(folder: Path, pattern: str) -> list[dict[str, Any]]:
    """What was written beside the user's files."""
    return [yaml.safe_load(path.read_text()) for path in sorted((folder / ".lithify").glob(pattern))]


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
    [run] = beside(folder, "objects/compactions/*.yaml")
    [summary] = [each for each in run["status"]["conditions"] if each["type"] == "Succeeded"]
    assert summary["reason"] == "Compacted", "and no other run followed it"
    [status] = beside(folder, "status/laketables/*.yaml")
    assert status["status"]["lastCompaction"]["reason"] == "Compacted"
    again = watch_once(folder)
    assert again.returncode == 0, again.stderr
    assert beside(folder, "objects/compactions/*.yaml") == [run], "nothing was due any more"


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
    [status] = [each for each in beside(folder, "status/laketables/*.yaml") if "orders" in str(each)]
    [ready] = [each for each in status["status"]["conditions"] if each["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "TableNotFound")
