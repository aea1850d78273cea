"""Tables of examples/: Java makes them, Lithify compacts them, Java reads what they promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from infrastructure.oracle.client import Oracle, Table
from support.comparing.updates import assert_compacted_as_by_java
from support.comparing.vectors import cardinality
from support.runs import run_inline

pytestmark = pytest.mark.oracle

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
Example = dict[str, Any]


def of(folder: str) -> pytest.MarkDecorator:
    """A case for each example of a folder."""
    found = sorted(EXAMPLES.glob(f"{folder}/*.yaml"))
    assert found
    return pytest.mark.parametrize("path", found, ids=lambda path: path.stem)


def read(path: Path) -> Example:
    return dict(yaml.safe_load(path.read_text()))


def created(oracle: Oracle, example: Example, folder: Path) -> Table:
    """The table without rows."""
    table = Table(folder, "db.t")
    keys, partitions = example.get("primaryKey", ()), example.get("partitionKeys", ())
    oracle.create_table(table, example["columns"], keys, partitions, options=example["options"])
    return table


def written(oracle: Oracle, example: Example, folder: Path) -> Table:
    """The table with all commits."""
    table = created(oracle, example, folder)
    for rows in example["commits"]:
        oracle.write(table, rows)
    if "deleted" in example:
        oracle.delete(table, example["deleted"])
    return table


@of("merge-engines")
def test_a_table_becomes_what_its_example_says(oracle: Oracle, path: Path, tmp_path: Path) -> None:
    example = read(path)
    table = written(oracle, example, tmp_path / "original")
    assert_compacted_as_by_java(oracle, table, tmp_path, full=True)
    assert run_inline(table).status == "Compacted"
    assert sorted(oracle.read(table)) == example["rows"]


@of("postponed-buckets")
def test_postponed_rows_come_to_the_buckets_that_the_example_says(
    oracle: Oracle, path: Path, tmp_path: Path
) -> None:
    example = read(path)
    table = written(oracle, example, tmp_path)
    assert oracle.read(table) == []
    assert run_inline(table).status == "Compacted"
    assert sorted(oracle.read(table)) == example["rows"]
    count = int(example["options"]["postpone.default-bucket-num"])
    assert {file.total_buckets for file in oracle.files(table)} == {count}


@of("append")
def test_an_append_table_has_the_files_that_its_example_says(
    oracle: Oracle, path: Path, tmp_path: Path
) -> None:
    example = read(path)
    table = written(oracle, example, tmp_path)
    assert run_inline(table, full=False).status == "Compacted"
    has_order = "clustering.columns" in example["options"]
    rows = oracle.read(table, in_order=has_order)
    assert (rows if has_order else sorted(rows)) == example["rows"]
    assert len(oracle.files(table)) == example["files"]
    assert cardinality(oracle, table) == example.get("deletedRows", 0)


@of("expiring-rows")
def test_rows_are_dropped_when_the_example_says(oracle: Oracle, path: Path, tmp_path: Path) -> None:
    example = read(path)
    table = written(oracle, example, tmp_path)
    assert run_inline(table).status == "Compacted"
    assert sorted(oracle.read(table)) == example["rows"]
    assert sum(file.rows for file in oracle.files(table)) == len(example["rows"])


@of("changelogs")
def test_streams_get_the_changelog_that_the_example_says(oracle: Oracle, path: Path, tmp_path: Path) -> None:
    example = read(path)
    table = compacted_between(oracle, example, tmp_path)
    assert list(oracle.changelog(table, from_snapshot=1).values()) == example["changelog"]
    assert sorted(oracle.read(table)) == example["rows"]


@of("deletion-vectors")
def test_vectors_delete_the_rows_that_the_example_says(oracle: Oracle, path: Path, tmp_path: Path) -> None:
    example = read(path)
    table = compacted_between(oracle, example, tmp_path)
    assert sorted(oracle.read(table)) == example["rows"]
    assert cardinality(oracle, table) == example["deletedRows"]


@of("file-indexes")
def test_searches_skip_what_the_example_says(oracle: Oracle, path: Path, tmp_path: Path) -> None:
    example = read(path)
    table = written(oracle, example, tmp_path)
    assert run_inline(table, full=False).status == "Compacted"
    assert sorted(oracle.read(table)) == example["rows"]
    expected = [search.pop("rows") for search in example["searches"]]
    kept = oracle.file_index_rows(table, example["searches"])
    assert [sum(of_file.values()) for of_file in kept] == expected


def compacted_between(oracle: Oracle, example: Example, folder: Path) -> Table:
    """The table with all commits, compacted after some of them."""
    table = created(oracle, example, folder)
    for number, rows in enumerate(example["commits"], 1):
        oracle.write(table, rows)
        if number in example["compactedAfter"]:
            assert run_inline(table, full=example.get("full", False)).status == "Compacted"
    return table
