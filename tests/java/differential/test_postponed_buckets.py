"""Postponed rows move to the buckets that Java chooses, and get the same sequence numbers as in Java."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.engine.rewrite.budget import Budget
from lithify.errors import UnsupportedTable
from lithify.formats.protocol.tasks import Sizing
from support.comparing.postponed import contents, described
from support.runs import NOTHING_TO_DO, run_inline
from support.tables import copy_of

pytestmark = pytest.mark.oracle

POSTPONED = -2
NO_COMPACTION = {"write-only": "true"}

Row = list[Any]


@dataclass(frozen=True)
class Case:
    """A table with postponed rows: some commits, a part of which is moved by Java before the rest comes."""

    name: str
    columns: Mapping[str, str] = field(
        default_factory=lambda: {"id": "INT NOT NULL", "v": "STRING", "w": "BIGINT"}
    )
    key: tuple[str, ...] = ("id",)
    partition: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("+I", "+I", "+U", "-D")
    commits: int = 4
    moved_by_java: tuple[int, ...] = ()
    keys: int = 60

    @property
    def buckets(self) -> int:
        """The number of buckets of a partition."""
        return int(self.options.get("postpone.default-bucket-num", 3))

    def make(self, oracle: Oracle, folder: Path) -> Table:
        """Makes the table."""
        table = Table(folder, "db.t")
        options = {"bucket": "-2", "postpone.default-bucket-num": "3", **self.options}
        oracle.create_table(table, self.columns, list(self.key), list(self.partition), options=options)
        rng = random.Random(self.name)
        for number in range(self.commits):
            oracle.write(table, [self.row(rng) for _ in range(80)])
            if number in self.moved_by_java:
                oracle.move_postponed(table)
        return table

    def row(self, rng: random.Random) -> Row:
        """A row with any key."""
        return [rng.choice(self.kinds), *(self.value(name, rng) for name in self.columns)]

    def value(self, name: str, rng: random.Random) -> Any:
        """A value of a column by its name."""
        match name:
            case "id":
                return rng.randrange(self.keys)
            case "text":
                return "key " * rng.randrange(1, 4) + str(rng.randrange(20))
            case "day":
                return rng.choice(["2026-01-01", "2026-01-02"])
            case "v":
                return rng.choice([None, "x" * rng.randrange(30)])
        return rng.randrange(1000)


CASES = [
    Case("never moved before"),
    Case("moved before", moved_by_java=(0, 2)),
    Case(
        "partitions", {"day": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}, ("day", "id"), ("day",)
    ),
    Case(
        "partitions of which one is new",
        {"day": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"},
        ("day", "id"),
        ("day",),
        moved_by_java=(0,),
    ),
    Case(
        "a key of several columns",
        {"text": "STRING NOT NULL", "id": "BIGINT NOT NULL", "v": "STRING"},
        ("text", "id"),
    ),
    Case(
        "a bucket key",
        {"text": "STRING NOT NULL", "id": "BIGINT NOT NULL", "v": "STRING"},
        ("text", "id"),
        options={"bucket-key": "id", "bucket-function.type": "mod"},
    ),
    Case("one bucket by default", options={"postpone.default-bucket-num": "1"}, moved_by_java=(1,)),
    Case("many buckets", options={"postpone.default-bucket-num": "29"}, keys=400, moved_by_java=(1,)),
    Case("a sequence field", options={"sequence.field": "w"}, moved_by_java=(1,)),
    Case("deletes are ignored", options={"ignore-delete": "true"}, moved_by_java=(1,)),
    Case("first rows", options={"merge-engine": "first-row"}, kinds=("+I",), moved_by_java=(1,)),
    Case(
        "partial updates", options={"merge-engine": "partial-update"}, kinds=("+I", "+U"), moved_by_java=(1,)
    ),
    Case(
        "aggregation",
        options={
            "merge-engine": "aggregation",
            "fields.w.aggregate-function": "sum",
            "fields.v.aggregate-function": "last_non_null_value",
        },
        moved_by_java=(1,),
    ),
    Case(
        "thin files in orc", options={"file.format": "orc", "data-file.thin-mode": "true"}, moved_by_java=(1,)
    ),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rows_are_moved_as_java_moves_them(oracle: Oracle, case: Case, tmp_path: Path) -> None:
    original = case.make(oracle, tmp_path / "original")
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    before = oracle.snapshots(original)[-1]["id"]

    oracle.move_postponed(java, options=NO_COMPACTION)
    report = run_inline(ours, full=False, options=NOTHING_TO_DO, max_rounds=1)

    assert report.status == "Compacted"
    assert {group.trigger for group in report.groups} == {"PostponedFiles"}
    assert contents(oracle, ours) == contents(oracle, java)
    assert described(oracle.files(ours)) == described(oracle.files(java))
    assert oracle.read(ours) == oracle.read(java)
    theirs, mine = (oracle.snapshots(table)[-1] for table in (java, ours))
    assert (mine["id"], mine["commitKind"]) == (before + 1, "COMPACT")
    for name in ("commitKind", "totalRecordCount", "deltaRecordCount"):
        assert mine[name] == theirs[name]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_full_compaction_moves_rows_and_compacts_them(oracle: Oracle, case: Case, tmp_path: Path) -> None:
    original = case.make(oracle, tmp_path / "original")
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    oracle.move_postponed(java, options=NO_COMPACTION)
    oracle.compact(java, options={"bucket": str(case.buckets)})

    report = run_inline(ours, full=True, sizing=Sizing(1, Budget(1 << 20)))

    assert report.status == "Compacted"
    assert oracle.read(ours) == oracle.read(java)
    files = oracle.files(ours)
    assert all(file.bucket >= 0 and file.level > 0 for file in files)
    assert {(str(file.partition), file.bucket, file.total_buckets) for file in files} == {
        (str(file.partition), file.bucket, file.total_buckets) for file in oracle.files(java)
    }


def schema_changes(oracle: Oracle, table: Table) -> None:
    """Columns are added, renamed, moved and widened between two commits that are both postponed."""
    oracle.alter_table(
        table,
        {"rename_column": ["v", "text"]},
        {"add_column": {"name": "more", "type": "DOUBLE", "first": True}},
        {"update_type": ["w", "DECIMAL(30, 2)"]},
    )
    oracle.write(table, [["+I", 0.5, key, "new", "7.25"] for key in range(20, 70)])


def test_rows_of_older_schemas_are_moved_as_rows_of_the_newest(oracle: Oracle, tmp_path: Path) -> None:
    original = Case("older schemas", kinds=("+I",), moved_by_java=(1,)).make(oracle, tmp_path / "original")
    schema_changes(oracle, original)
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    oracle.move_postponed(java, options=NO_COMPACTION)
    run_inline(ours, full=False, options=NOTHING_TO_DO, max_rounds=1)
    assert contents(oracle, ours) == contents(oracle, java)
    assert described(oracle.files(ours)) == described(oracle.files(java))


TYPES = {
    "id": "BIGINT NOT NULL",
    "b": "BOOLEAN",
    "t": "TINYINT",
    "f": "FLOAT",
    "x": "BYTES",
    "d": "DECIMAL(38, 9)",
    "m": "TIMESTAMP(3)",
    "u": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "a": "ARRAY<INT>",
    "r": "ROW<a INT, b STRING>",
    "p": "MAP<STRING, BIGINT>",
}
VALUES = [True, -7, 1.5, "AAEC", "-1.000000001", "2026-01-02T03:04:05.006", "2026-01-02T03:04:05.000001"]
NESTED = [[1, None, 3], [5, "five"], [["k", 1], ["l", None]]]


def test_values_of_every_kind_come_through(oracle: Oracle, tmp_path: Path) -> None:
    original = Table(tmp_path / "original", "db.t")
    oracle.create_table(original, TYPES, ["id"], options={"bucket": "-2", "postpone.default-bucket-num": "2"})
    nothing: Row = [None] * (len(TYPES) - 1)
    oracle.write(original, [["+I", 1, *VALUES, *NESTED], ["+I", 2, *nothing], ["-U", 3, *nothing]])
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    oracle.move_postponed(java, options=NO_COMPACTION)
    run_inline(ours, full=False, options=NOTHING_TO_DO, max_rounds=1)
    assert contents(oracle, ours) == contents(oracle, java)


def test_files_that_avro_cannot_hold_are_moved_too(oracle: Oracle, tmp_path: Path) -> None:
    """Java postpones rows in the table's own format if Avro does not have one of their types."""
    original = Table(tmp_path / "original", "db.t")
    columns = {"id": "TIMESTAMP(9) NOT NULL", "v": "STRING"}
    oracle.create_table(
        original, columns, ["id"], options={"bucket": "-2", "postpone.default-bucket-num": "3"}
    )
    for word in ("old", "new"):
        oracle.write(original, [["+I", f"2026-01-01T00:00:00.{n:09}", word] for n in range(30)])
    assert {Path(file.name).suffix for file in oracle.files(original)} == {".parquet"}
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    oracle.move_postponed(java, options=NO_COMPACTION)
    run_inline(ours, full=False, options=NOTHING_TO_DO, max_rounds=1)
    assert contents(oracle, ours) == contents(oracle, java)


@pytest.mark.parametrize("budget", [1 << 20, Budget().total], ids=["over local disk", "in memory"])
def test_many_rows_in_little_memory(oracle: Oracle, tmp_path: Path, budget: int) -> None:
    """Rows of several spills become one sorted series of files in each bucket, as with Java's one buffer."""
    original = Table(tmp_path / "original", "db.t")
    options = {"bucket": "-2", "postpone.default-bucket-num": "4"}
    oracle.create_table(original, {"id": "INT NOT NULL", "v": "STRING"}, ["id"], options=options)
    spec = {"v": {"kind": "random", "min": 20, "max": 40}}
    oracle.generate(original, rows=9000, commits=3, key={"mode": "uniform", "range": 7000}, columns=spec)
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    oracle.move_postponed(java, options=NO_COMPACTION)
    run_inline(ours, full=False, options=NOTHING_TO_DO, max_rounds=1, sizing=Sizing(1 << 40, Budget(budget)))
    assert contents(oracle, ours) == contents(oracle, java)
    assert described(oracle.files(ours)) == described(oracle.files(java))


@pytest.mark.parametrize("name", ["never moved before", "a sequence field", "aggregation"])
def test_several_tasks_give_the_rows_of_one(oracle: Oracle, tmp_path: Path, name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    original = case.make(oracle, tmp_path / "original")
    java, ours = (copy_of(original, tmp_path / name) for name in ("java", "ours"))
    oracle.move_postponed(java, options=NO_COMPACTION)
    report = run_inline(ours, full=False, options=NOTHING_TO_DO, max_rounds=1, sizing=Sizing(1))
    files = sum(file.bucket < 0 for file in oracle.files(original))
    assert (files > 1, report.tasks) == (True, 1 if name == "aggregation" else files)
    assert oracle.read(ours) == oracle.read(java)


REFUSED = {
    "bucket-function.type": "hive",
    "changelog-producer": "input",
    "deletion-vectors.enabled": "true",
    "force-lookup": "true",
    "sequence.snapshot-ordering": "true",
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_cannot_be_moved_yet_is_refused_by_name(oracle: Oracle, tmp_path: Path, option: str) -> None:
    table = Table(tmp_path / "original", "db.t")
    options = {"bucket": "-2", option: REFUSED[option]}
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "STRING"}, ["id"], options=options)
    with pytest.raises(UnsupportedTable) as refused:
        run_inline(table)
    assert any(option in reason for reason in refused.value.reasons)


def test_partitions_outside_the_key_and_default_values_are_refused(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path / "original", "db.t")
    columns = {"day": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}
    oracle.create_table(table, columns, ["id"], ["day"], options={"bucket": "-2"})
    (file,) = (table.folder / "schema").iterdir()
    schema = json.loads(file.read_text())
    schema["fields"][2]["defaultValue"] = "x"
    file.write_text(json.dumps(schema))
    with pytest.raises(UnsupportedTable) as refused:
        run_inline(table)
    assert any("primary key" in reason for reason in refused.value.reasons)
    assert any("column v" in reason for reason in refused.value.reasons)
