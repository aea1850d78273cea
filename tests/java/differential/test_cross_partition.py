"""Tables whose rows move between partitions: their buckets are compacted one by one, as Java does.

Java keeps no index of them: a writer reads all keys when it begins. A move is a delete in the old partition
and an insert in the new one, and the writer decides on both before they reach a file.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from support.comparing.updates import assert_compacted_as_by_java
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

PARTITIONS = ["a", "b", None, " ", "c/d"]
BUCKETS = 2


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    """Keys that wander about, as Paimon's assigner writes them down; some end up nowhere."""
    table = Table(tmp_path / "original", "db.t")
    columns = {"p": "STRING", "a": "INT NOT NULL", "b": "STRING NOT NULL", "v": "STRING"}
    oracle.create_table(table, columns, ["a", "b"], ["p"], options={"bucket": "-1"})
    random = Random(7)
    where: dict[int, str | None] = {}
    for commit in range(6):
        rows: list[Row] = []
        for key in random.sample(range(150), 90):
            target = random.choice(PARTITIONS)
            if key in where and (where[key] != target or random.random() < 0.1):
                rows.append(["-D", where.pop(key), key, f"{key}", None])
            if random.random() < 0.9 and (key not in where or where[key] == target):
                rows.append(["+I", target, key, f"{key}", f"{commit}"])
                where[key] = target
        oracle.write(table, rows, buckets=[row[2] % BUCKETS for row in rows])
        if commit == 3:
            oracle.compact(table, full=False, options={"num-sorted-run.compaction-trigger": "3"})
    assert {row[2]: row[1] for row in oracle.read(table)} == where
    return table


@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
def test_each_bucket_is_compacted_as_java_does(
    oracle: Oracle, table: Table, tmp_path: Path, full: bool
) -> None:
    rows = oracle.read(table)
    ours, java = copy_of(table, tmp_path / "ours"), copy_of(table, tmp_path / "java")
    options = {"num-sorted-run.compaction-trigger": "2"}

    assert run_inline(ours, full=full, options=options).status == "Compacted"
    oracle.manager_round(java, full=full, commit=True, options=options)

    assert oracle.read(ours) == oracle.read(java) == rows
    assert layout(oracle, ours) == layout(oracle, java)
    assert oracle.index_files(ours) == []
    assert stray_files(oracle, ours) == set()
    later: list[Row] = [["-D", *row[1:]] for row in rows[:10]]
    for each in (ours, java):
        oracle.write(each, later, buckets=[row[2] % BUCKETS for row in later])
        oracle.compact(each)
    assert oracle.read(ours) == oracle.read(java) == rows[10:]


def layout(oracle: Oracle, table: Table) -> list[tuple[object, ...]]:
    files = oracle.files(table)
    return sorted(
        (file.path.split("/")[-3], file.bucket, file.level, file.min_key, file.rows, file.min_sequence)
        for file in files
    )


@pytest.mark.parametrize("engine", ["partial-update", "first-row"])
def test_where_keys_stay_in_the_partition_that_they_came_to(
    oracle: Oracle, engine: str, tmp_path: Path
) -> None:
    """With these engines Paimon's assigner sends later rows of a key to its first partition."""
    table = Table(tmp_path / "original", "db.t")
    columns = {"p": "STRING", "a": "INT NOT NULL", "v": "STRING", "g": "INT", "w": "INT"}
    group = {"fields.g.sequence-group": "w"} if engine == "partial-update" else {}
    options = {"bucket": "-1", "merge-engine": engine, "write-only": "true", **group}
    oracle.create_table(table, columns, ["a"], ["p"], options=options)
    random = Random(7)
    for commit in range(5):
        keys = random.sample(range(60), 40)
        rows: list[Row] = [
            [random.choice(["+I", "-D"] if group else ["+I"]), PARTITIONS[key % len(PARTITIONS)], key]
            + [random.choice([None, commit, commit + 1]) for _ in "vgw"]
            for key in keys
        ]
        for row in rows:
            row[3] = None if row[3] is None else f"{row[3]}"
        oracle.write(table, rows, buckets=[row[2] % BUCKETS for row in rows])
        if commit == 2:
            oracle.manager_round(table, full=True, commit=True)
    for full in (False, True):
        assert_compacted_as_by_java(oracle, table, tmp_path, full=full)
