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
