"""Merges of manifests beside Spark's commits, and killed at points: nothing is lost, nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from infrastructure.iceberg.tables import LINEAGE, SparkTable
from lithify.engine.attempts.clean_up import recover
from lithify.formats.iceberg.attempts.remains import IcebergRemains
from lithify.formats.iceberg.table.opening import open_iceberg_table
from support.iceberg_runs import address_of, options_of
from support.runs import DEADLINE, LITHIFY, Held, ShiftedClock


def merging(table: SparkTable, faults: str = "") -> subprocess.Popen[str]:
    """Starts the command on a table."""
    warehouse, options = options_of(table.catalog)
    words = [f"--catalog-option={name}={value}" for name, value in options.items()]
    command = [LITHIFY, "merge-manifests", "--format", "iceberg", "--warehouse", warehouse, *words]
    command += ["--table", table.identifier, "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env={**os.environ, "LITHIFY_FAULTS": faults}, text=True, **pipes)


def ended(process: subprocess.Popen[str], table: SparkTable) -> tuple[int, dict[str, Any]]:
    """The exit code of the command, and its report."""
    out, _ = process.communicate(timeout=DEADLINE)
    table.run(f"REFRESH TABLE {table.name}")
    return process.returncode, json.loads(out) if process.returncode == 0 else {}


def metadata_files(table: SparkTable) -> set[str]:
    folder = Path(table.load().location().removeprefix("file:")) / "metadata"
    return {path.name for path in folder.glob("*.avro")}


def named(table: SparkTable) -> set[str]:
    """The manifests and lists of all snapshots."""
    loaded = table.load()
    lists = {each.manifest_list for each in loaded.metadata.snapshots}
    paths = {
        each.manifest_path for snapshot in loaded.metadata.snapshots for each in snapshot.manifests(loaded.io)
    }
    return {path.rpartition("/")[2] for path in lists | paths}


@pytest.mark.parametrize("point", [pytest.param("manifests-merged", marks=pytest.mark.thorough), "prepared"])
def test_commits_of_spark_during_a_merge_are_kept(sql_table: SparkTable, tmp_path: Path, point: str) -> None:
    """An append and a delete, by vectors, of rows whose entries the merge has written."""
    table = sql_table.create(3).append_many(6, 10)
    table.delete("id = 3")
    ids = dict(
        zip(*(table.read("id", LINEAGE[0])[name].to_pylist() for name in ("id", LINEAGE[0])), strict=True)
    )
    held = Held(tmp_path)
    process = merging(table, f"{point}={held.action}")
    held.reached()
    table.append(100, 10)
    table.delete("id = 5")
    held.release()

    code, report = ended(process, table)

    assert (code, report["status"]) == (0, "Done")
    after = table.read("id", LINEAGE[0]).to_pylist()
    assert [row["id"] for row in after] == sorted(({*range(60)} - {3, 5}) | {*range(100, 110)})
    assert {row["id"]: row[LINEAGE[0]] for row in after if row["id"] < 60} == {
        key: value for key, value in ids.items() if key != 5
    }
    assert len({row[LINEAGE[0]] for row in after}) == len(after)
    assert metadata_files(table) == named(table)


@pytest.mark.thorough
def test_compaction_of_spark_during_a_merge_is_kept(sql_table: SparkTable, tmp_path: Path) -> None:
    """It removes the files whose entries the merge has written."""
    table = sql_table.create(2, "identity").append_many(6, 20)
    rows = table.read().combine_chunks()
    held = Held(tmp_path)
    process = merging(table, f"prepared={held.action}")
    held.reached()
    table.procedure("rewrite_data_files", "options => map('rewrite-all', 'true')")
    files = {task.file.path for task in table.spark.scan(table.name)}
    held.release()

    code, _ = ended(process, table)

    assert code == 0
    assert table.read().combine_chunks() == rows
    assert {task.file.path for task in table.spark.scan(table.name)} == files
    assert metadata_files(table) == named(table)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "point",
    [
        pytest.param("manifests-merged", marks=pytest.mark.thorough),
        pytest.param("manifests-written", marks=pytest.mark.thorough),
        "prepared",
        pytest.param("snapshot-written", marks=pytest.mark.thorough),
    ],
)
def test_killed_merge_is_done_again_and_its_files_are_found(sql_table: SparkTable, point: str) -> None:
    table = sql_table.create(2, "identity").append_many(6, 20)
    table.delete("id % 10 = 3")
    rows = table.read().combine_chunks()

    code, _ = ended(merging(table, f"{point}=kill"), table)

    assert code == -signal.SIGKILL
    assert table.read().combine_chunks() == rows
    is_done = point == "snapshot-written"
    code, report = ended(merging(table), table)
    assert (code, report["status"]) == (0, "NothingToDo" if is_done else "Done")
    assert table.read().combine_chunks() == rows
    opened = open_iceberg_table(address_of(table))
    for hours in (40, 44, 48):
        recover(IcebergRemains(opened), ShiftedClock(timedelta(hours=hours)))
    assert metadata_files(table) == named(table)
    assert not [*Path(table.load().location().removeprefix("file:")).glob("lithify/attempts/*.json")]
