"""Tables of examples/: Java makes them, Lithify compacts them, Java reads what they promise."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from infrastructure.oracle.client import Oracle, Table
from support.comparing.updates import assert_compacted_as_by_java
from support.runs import run_inline

pytestmark = pytest.mark.oracle

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("merge-engines/*.yaml")), ids=lambda path: path.stem)
def test_a_table_becomes_what_its_example_says(oracle: Oracle, path: Path, tmp_path: Path) -> None:
    example = yaml.safe_load(path.read_text())
    table = Table(tmp_path / "original", "db.t")
    oracle.create_table(table, example["columns"], example["primaryKey"], options=example["options"])
    for rows in example["commits"]:
        oracle.write(table, rows)
    assert_compacted_as_by_java(oracle, table, tmp_path, full=True)
    assert run_inline(table).status == "Compacted"
    assert sorted(oracle.read(table)) == example["rows"]


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("postponed-buckets/*.yaml")), ids=lambda path: path.stem
)
def test_postponed_rows_come_to_the_buckets_that_the_example_says(
    oracle: Oracle, path: Path, tmp_path: Path
) -> None:
    example = yaml.safe_load(path.read_text())
    table = Table(tmp_path / "original", "db.t")
    keys, partitions = example["primaryKey"], example["partitionKeys"]
    oracle.create_table(table, example["columns"], keys, partitions, options=example["options"])
    for rows in example["commits"]:
        oracle.write(table, rows)
    assert oracle.read(table) == []
    assert run_inline(table).status == "Compacted"
    assert sorted(oracle.read(table)) == example["rows"]
    count = int(example["options"]["postpone.default-bucket-num"])
    assert {file.total_buckets for file in oracle.files(table)} == {count}


def test_an_append_table_has_the_files_that_its_example_says(oracle: Oracle, tmp_path: Path) -> None:
    example = yaml.safe_load((EXAMPLES / "append" / "events.yaml").read_text())
    table = Table(tmp_path, "db.t")
    oracle.create_table(
        table, example["columns"], partition_keys=example["partitionKeys"], options=example["options"]
    )
    for rows in example["commits"]:
        oracle.write(table, rows)
    assert run_inline(table, full=False).status == "Compacted"
    assert sorted(oracle.read(table)) == example["rows"]
    assert len(oracle.files(table)) == example["files"]


def test_a_clustered_table_has_the_order_that_its_example_says(oracle: Oracle, tmp_path: Path) -> None:
    example = yaml.safe_load((EXAMPLES / "append" / "clustered.yaml").read_text())
    table = Table(tmp_path, "db.t")
    oracle.create_table(
        table, example["columns"], partition_keys=example["partitionKeys"], options=example["options"]
    )
    for rows in example["commits"]:
        oracle.write(table, rows)
    assert run_inline(table, full=False).status == "Compacted"
    assert oracle.read(table, in_order=True) == example["rows"]
    assert len(oracle.files(table)) == example["files"]
