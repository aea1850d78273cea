"""A bucket that cannot be compacted: the others are, the LakeTable names it, no run is made for it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.resources.compaction import Reason
from lithify.resources.names import ANNOTATION_REQUESTED
from support.operators.scene import Care, compactions_of, message, proves, status_of
from support.operators.server import COMPACTIONS, TABLES, Object, condition
from support.operators.stage import Stage

DUE = {"triggers": {"primaryKey": {"sortedRuns": 2}}}
SEVERAL_LOOKS = 5.0
"""Seconds; tables are looked at every second, and back-offs take one."""
GOOD, BAD = "dt=a-good/bucket-0", "dt=b-lost/bucket-0"
KIND = "BucketsBlocked"


def rows_of(dt: str, commit: int) -> list[Row]:
    return [["+I", dt, key, f"{commit}"] for key in range(commit * 5, commit * 5 + 20)]


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    """Two partitions with three sorted runs each; a data file of one is gone."""
    table = Table(tmp_path / "warehouse", "db.t")
    columns = {"dt": "STRING NOT NULL", "k": "INT NOT NULL", "v": "STRING"}
    options = {"bucket": "1", "write-only": "true"}
    oracle.create_table(table, columns, primary_key=["dt", "k"], partition_keys=["dt"], options=options)
    for commit in range(3):
        oracle.write(table, [*rows_of("a-good", commit), *rows_of("b-lost", commit)])
    victim(table).rename(hidden(table))
    return table


def victim(table: Table) -> Path:
    return min((table.folder / BAD).glob("data-*"))


def hidden(table: Table) -> Path:
    """Where the file is that is gone."""
    return table.folder.parent / "hidden.parquet"


def compactions(stage: Stage, care: Care) -> list[str]:
    """The names of a table's Compactions, in the order in which they were made."""
    found = [run for run in stage.story.all(COMPACTIONS) if run["spec"]["tableRef"]["name"] == care.lake]
    return sorted(run["metadata"]["name"] for run in found)


def runs_of(stage: Stage, care: Care, number: int) -> list[str]:
    """The Compactions, as soon as there are `number` of them and all have ended."""
    assert stage.story.wait(lambda: len(compactions(stage, care)) >= number, 240), stage.told(care)
    names = compactions(stage, care)
    for name in names:
        stage.ended(name)
    return names


def settled(stage: Stage, care: Care, number: int) -> Object:
    """The LakeTable once it has counted its runs; no more of them come."""

    def is_counted(found: Object) -> bool:
        last = found["status"].get("lastCompaction", {}).get("name")
        return last in compactions(stage, care)[-1:] and condition(found, KIND).get("status") is not None

    stage.story.until(TABLES, care.lake, is_counted)
    assert not stage.story.wait(lambda: len(compactions(stage, care)) != number, SEVERAL_LOOKS)
    found = stage.story.now(TABLES, care.lake)
    assert found is not None
    return found


@proves(Reason.COMPACTED)
def test_the_others_are_compacted_and_it_is_left_alone_until_its_files_change(
    oracle: Oracle, table: Table, stage: Stage
) -> None:
    lost = {file.name for file in oracle.files(table)} - {path.name for path in table.folder.rglob("data-*")}
    care = stage.care_for(table, under=DUE)
    (first,) = runs_of(stage, care, 1)
    done = status_of(stage.ended(first))
    assert done.result is not None
    assert (done.result.buckets, done.result.skipped_buckets, done.result.blocked_buckets) == (1, 1, 1)
    (block,) = done.blocked_buckets
    assert (block.bucket, block.reason) == (BAD, "CorruptFiles")
    assert [word for word in (BAD, *lost) if word not in message(stage.ended(first))] == []

    told = settled(stage, care, 1)
    assert (condition(told, KIND)["status"], condition(told, KIND)["reason"]) == ("True", "CorruptFiles")
    assert [word for word in (BAD, *lost) if word not in message(told, KIND)] == []
    assert condition(told, "Ready")["status"] == "True"
    assert condition(told, "CompactionNeeded")["status"] == "False"
    assert told["status"]["blockedBucketCount"] == 1

    # A run for others does not try it, either.
    for commit in (3, 4):
        oracle.write(table, rows_of("a-good", commit))
    *_, second = runs_of(stage, care, 2)
    done = status_of(stage.ended(second))
    assert done.result is not None
    assert (done.result.tasks, done.result.buckets, done.result.blocked_buckets) == (1, 1, 1)
    assert condition(settled(stage, care, 2), KIND)["status"] == "True"

    # Its rows are written again, so it has other files.
    oracle.write(table, rows_of("b-lost", 0), overwrite_partition={"dt": "b-lost"})
    for commit in (1, 2):
        oracle.write(table, rows_of("b-lost", commit))
    *_, third = runs_of(stage, care, 3)
    told = stage.table_says(care, KIND, "False", "NoneBlocked")
    assert stage.reasons(third)[-1] is Reason.COMPACTED
    assert "blockedBuckets" not in told["status"] or told["status"]["blockedBuckets"] == []
    assert compactions_of(oracle, table) == 3
    assert len(oracle.read(table)) == 70


@proves(Reason.CORRUPT_TABLE, Reason.COMPACTED)
def test_a_run_with_nothing_else_to_do_fails_once_and_a_restored_file_is_for_a_request(
    oracle: Oracle, table: Table, stage: Stage
) -> None:
    oracle.compact(table, partitions=[{"dt": "a-good"}])
    (name,) = {file.name for file in oracle.files(table)} - {
        path.name for path in table.folder.rglob("data-*")
    }
    care = stage.care_for(table, under=DUE)
    (first,) = runs_of(stage, care, 1)
    assert stage.reasons(first)[-1] is Reason.CORRUPT_TABLE
    assert [word for word in ("db.t", BAD, name) if word not in message(stage.ended(first))] == []
    told = settled(stage, care, 1)
    assert (condition(told, KIND)["status"], condition(told, "Ready")["reason"]) == (
        "True",
        "CompactionsFailing",
    )

    hidden(table).rename(table.folder / BAD / name)
    stage.server.patch(
        TABLES, care.lake, {"metadata": {"annotations": {ANNOTATION_REQUESTED: "the file is back"}}}
    )

    *_, second = runs_of(stage, care, 2)
    assert stage.reasons(second)[-1] is Reason.COMPACTED
    stage.table_says(care, KIND, "False", "NoneBlocked")
