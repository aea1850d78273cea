"""Postponed rows are moved to the buckets, and get the sequence numbers, that Java gives them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import DataFile, KeyValue, Oracle, Table
from lithify.rewriting.budget import Budget
from lithify.tables.format import Sizing
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


def contents(oracle: Oracle, table: Table) -> dict[tuple[Any, int, int], list[list[KeyValue]]]:
    """The records of all files by partition, bucket and level."""
    found: dict[tuple[Any, int, int], list[list[KeyValue]]] = {}
    for file in sorted(oracle.files(table), key=lambda file: (file.min_sequence, file.max_sequence)):
        rows = oracle.kv_rows(table, file.name, file.partition, file.bucket)
        found.setdefault((str(file.partition), file.bucket, file.level), []).append(rows)
    return found


def described(files: Sequence[DataFile]) -> list[tuple[Any, ...]]:
    """What manifests say of files, without names, sizes and times."""
    return sorted(
        (
            str(file.partition),
            file.bucket,
            file.total_buckets,
            file.level,
            file.rows,
            str(file.min_key),
            str(file.max_key),
            file.min_sequence,
            file.max_sequence,
            file.delete_rows,
            file.file_source,
            file.schema_id,
        )
        for file in files
    )


@pytest.mark.sampled(6)
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


@pytest.mark.sampled(4)
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
