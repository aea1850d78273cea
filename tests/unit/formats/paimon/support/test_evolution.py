"""What may change about a table while a run is under way, and which old files can be rewritten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.paimon.support.evolution import (
    file_problems,
    format_problems,
    old_format_problems,
    schema_conflict,
    type_changes,
)
from support.manifests import entry, schema

COLUMNS = [("id", "INT NOT NULL"), ("name", "STRING"), ("price", "DECIMAL(10, 2)")]
RUNNING = schema(COLUMNS, ["id"], number=3, **{"merge-engine": "deduplicate", "scan.mode": "latest"})

NEWER: dict[str, tuple[dict[str, Any], str | None]] = {
    "the same again": ({}, None),
    "a harmless option changed": ({"options": {**RUNNING.options, "scan.mode": "from-snapshot"}}, None),
    "a harmless option is gone": ({"options": {"merge-engine": "deduplicate"}}, None),
    "a harmless option is new": ({"options": {**RUNNING.options, "snapshot.time-retained": "1 d"}}, None),
    "an option that counts changed": (
        {"options": {**RUNNING.options, "merge-engine": "first-row"}},
        "merge-engine",
    ),
    "an option that counts is gone": ({"options": {"scan.mode": "latest"}}, "merge-engine"),
    "an option that counts is new": (
        {"options": {**RUNNING.options, "sequence.field": "price"}},
        "sequence.field",
    ),
    "an option nobody knows is new": (
        {"options": {**RUNNING.options, "no.such.option": "x"}},
        "no.such.option",
    ),
    "a column was added": ({"columns": schema([*COLUMNS, ("note", "STRING")], ["id"]).columns}, ""),
    "a column was dropped": ({"columns": RUNNING.columns[:2]}, ""),
    "columns were moved": ({"columns": RUNNING.columns[::-1]}, ""),
    "a column was renamed": (
        {"columns": schema([*COLUMNS[:2], ("cost", "DECIMAL(10, 2)")], ["id"]).columns},
        "",
    ),
    "a type changed": ({"columns": schema([*COLUMNS[:2], ("price", "DECIMAL(12, 2)")], ["id"]).columns}, ""),
    "a column became nullable": ({"columns": schema([("id", "INT"), *COLUMNS[1:]], ["id"]).columns}, ""),
    "the key changed": ({"primary_key": ("id", "name")}, ""),
}


@pytest.mark.parametrize(("changes", "named"), NEWER.values(), ids=NEWER)
def test_a_run_may_commit_under_a_newer_schema(changes: dict[str, Any], named: str | None) -> None:
    problem = schema_conflict(RUNNING, replace(RUNNING, id=4, **changes))
    assert (problem is None) == (named is None)
    assert named is None or named in str(problem)


def test_the_same_schema_is_not_compared() -> None:
    assert schema_conflict(RUNNING, replace(RUNNING, options={"merge-engine": "first-row"})) is None


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_writers_of_a_table_with_deletion_vectors_may_stop_compacting_but_not_begin(vectors: str) -> None:
    def table(number: int, write_only: str) -> Schema:
        options = {**RUNNING.options, "deletion-vectors.enabled": vectors, "write-only": write_only}
        return replace(RUNNING, id=number, options=options)

    problem = schema_conflict(table(3, "true"), table(4, "false"))
    assert (problem is not None) == (vectors == "true")
    assert schema_conflict(table(3, "false"), table(4, "true")) is None


FILES: dict[str, tuple[str, dict[str, Any], int]] = {
    "a plain file": ("data-1-0.parquet", {}, 0),
    "another format": ("data-1-0.mosaic", {}, 1),
    "orc": ("data-1-0.orc", {}, 0),
    "avro, with its codec in the name": ("data-1-0.zst.avro", {}, 0),
    "a side file": ("data-1-0.parquet", {"extra_files": ("data-1-0.changelog",)}, 1),
    "an index beside it": ("data-1-0.parquet", {"extra_files": ("data-1-0.parquet.index",)}, 0),
    "an embedded index": ("data-1-0.parquet", {"embedded_index": b""}, 0),
    "outside the table": ("data-1-0.parquet", {"external_path": "s3://elsewhere/f"}, 1),
    "outside, but within reach": ("data-1-0.parquet", {"external_path": "file:/there"}, 0),
    "row tracking": ("data-1-0.parquet", {"first_row_id": 0}, 1),
    "data evolution": ("data-1-0.parquet", {"write_columns": ("a",)}, 1),
    "several at once": ("data-1-0.mosaic", {"first_row_id": 5, "external_path": "x"}, 3),
}


@pytest.mark.parametrize(("name", "changes", "count"), FILES.values(), ids=FILES)
def test_files_that_cannot_be_rewritten(name: str, changes: dict[str, Any], count: int) -> None:
    problems = list(file_problems(entry(name, **changes), lambda path: path == "file:/there"))
    assert len(problems) == count
    assert all(name in problem for problem in problems)


def test_types_that_only_parquet_holds_yet() -> None:
    nested = schema(
        [
            ("id", "INT NOT NULL"),
            ("a", {"type": "ARRAY", "element": "TIMESTAMP(7)"}),
            ("b", {"type": "ARRAY", "element": "INT"}),
            ("m", {"type": "MULTISET", "element": "INT"}),
            ("t", "TIMESTAMP(9)"),
        ],
        ["id"],
    )
    assert list(format_problems(nested, ["parquet"])) == []
    assert list(format_problems(RUNNING, ["parquet", "orc", "avro"])) == []
    problems = list(format_problems(nested, ["parquet", "orc", "avro"]))
    avro, orc = (
        [problem.partition(":")[0] for problem in problems if kind in problem] for kind in ("AVRO", "ORC")
    )
    assert (avro, orc) == (["column a", "column m", "column t"], ["column m"])


VECTOR = {"type": "VECTOR", "element": "FLOAT", "length": 3}


def test_vectors_are_in_avro_files_only() -> None:
    columns = [*COLUMNS, ("v", VECTOR), ("a", {"type": "ARRAY", "element": VECTOR})]
    vectors = schema(columns, ["id"])
    assert list(format_problems(vectors, ["avro"])) == []
    problems = list(format_problems(vectors, ["parquet", "orc", "avro"]))
    named = [f"column {name}: VECTOR in {kind} files" for kind in ("ORC", "PARQUET") for name in ("v", "a")]
    assert problems == named


OLD: dict[str, tuple[Any, Any, list[str]]] = {
    "the column is new": ({}, {3: ("v", VECTOR)}, []),
    "the column is there no more": ({3: ("v", VECTOR)}, {}, []),
    "the column was renamed": ({3: ("v", VECTOR)}, {3: ("w", VECTOR)}, ["column w: VECTOR in PARQUET files"]),
    "digits were added": ({3: ("at", "TIMESTAMP(3)")}, {3: ("at", "TIMESTAMP(9)")}, []),
}


@pytest.mark.parametrize(("before", "after", "problems"), OLD.values(), ids=OLD)
def test_a_file_holds_what_its_own_schema_says(before: Any, after: Any, problems: list[str]) -> None:
    old, newest = (schema({0: COLUMNS[0], **columns}, ["id"]) for columns in (before, after))
    formats = ["avro"] if "at" in str(before) else ["parquet"]
    assert list(old_format_problems(old, newest, formats)) == problems


TYPES: dict[str, tuple[dict[int, tuple[str, Any]], list[str]]] = {
    "nothing changed": (dict(enumerate(COLUMNS)), []),
    "a rename": ({0: COLUMNS[0], 1: ("title", "STRING"), 2: COLUMNS[2]}, []),
    "an added column": ({**dict(enumerate(COLUMNS)), 9: ("note", "STRING")}, []),
    "a dropped column": ({0: COLUMNS[0]}, []),
    "another column of an old name": ({0: COLUMNS[0], 9: ("price", "STRING")}, []),
    "only nullability": ({0: ("id", "INT"), 1: ("name", "STRING NOT NULL")}, []),
    "a wider integer": ({0: ("id", "BIGINT NOT NULL")}, []),
    "a wider decimal": ({2: ("price", "DECIMAL(12, 2)")}, []),
    "a longer string": ({4: ("code", "VARCHAR(20)")}, []),
    "a string without bounds": ({4: ("code", "STRING")}, []),
    "a shorter string": ({4: ("code", "VARCHAR(9)")}, []),
    "text that is parsed": ({4: ("code", "DATE")}, ["code"]),
    "a longer binary": ({5: ("hash", "BYTES")}, []),
    "vectors, another length": ({6: ("v", {**VECTOR, "length": 4})}, ["v"]),
    "vectors, another element": ({6: ("v", {**VECTOR, "element": "DOUBLE"})}, ["v"]),
    "vectors, only nullability": ({6: ("v", {**VECTOR, "element": "FLOAT NOT NULL"})}, []),
    "from a vector": ({6: ("v", {"type": "ARRAY", "element": "FLOAT"})}, ["v"]),
    "renamed and changed": ({2: ("cost", "DATE")}, ["cost"]),
    "two of them": ({0: ("id", "DATE"), 1: ("name", "INT")}, ["id", "name"]),
}


@pytest.mark.parametrize(("columns", "changed"), TYPES.values(), ids=TYPES)
def test_types_that_changed_since_a_file_was_written(
    columns: dict[int, tuple[str, Any]], changed: list[str]
) -> None:
    others = [("left", "INT"), ("code", "VARCHAR(10)"), ("hash", "VARBINARY(16)"), ("v", VECTOR)]
    before = schema([*COLUMNS, *others], ["id"])
    problems = list(type_changes(before, schema(columns, [])))
    assert len(problems) == len(changed)
    assert all(f"column {name}" in problem for name, problem in zip(changed, problems, strict=True))
