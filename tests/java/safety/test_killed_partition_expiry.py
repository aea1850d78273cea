"""`lithify expire-partitions` is killed at each point of its commit; the next one completes it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.runs import DEADLINE, LITHIFY
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

POINTS = (
    "journal-written",
    "manifests-merged",
    "manifests-written",
    "prepared",
    "snapshot-written",
    "hint-written",
)
OPTIONS = {
    "partition.expiration-time": "1 d",
    "deletion-vectors.enabled": "true",
    "bucket": "1",
    "write-only": "true",
    "manifest.merge-min-count": "2",
}


@pytest.fixture(scope="module")
def old(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Two old days and one to come, with deletion vectors."""
    table = Table(tmp_path_factory.mktemp("old"), "db.t")
    oracle.create_table(
        table, {"dt": "STRING NOT NULL", "id": "INT NOT NULL"}, ["dt", "id"], ["dt"], options=OPTIONS
    )
    days = ("2020-01-01", "2020-01-02", "2999-01-01")
    oracle.write(table, [["+I", day, key] for day in days for key in range(6)])
    oracle.compact(table, full=True)
    oracle.write(table, [["-D", day, 2] for day in days])
    oracle.compact(table, full=False)
    return table


def expire(table: Table, point: str | None = None) -> int:
    """Runs the command in a process, killed at a point; returns its exit code."""
    environment = {**os.environ, "LITHIFY_FAULTS": f"{point}=kill" if point else ""}
    command = [LITHIFY, "expire-partitions", "--warehouse", str(table.warehouse), "--table", str(table.name)]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=DEADLINE, check=False)
    return done.returncode


@pytest.mark.sampled(1)
@pytest.mark.parametrize("point", POINTS)
def test_kill_at_any_point_leaves_all_partitions_or_those_that_stay(
    oracle: Oracle, old: Table, tmp_path: Path, point: str
) -> None:
    table = copy_of(old, tmp_path / "killed")
    before = oracle.read(table)
    after = [row for row in before if row[1] == "2999-01-01"]
    assert len(after) == 5

    assert expire(table, point) == -signal.SIGKILL

    committed = point in ("snapshot-written", "hint-written")
    assert oracle.read(table) == (after if committed else before)
    assert expire(table) == 0
    assert oracle.read(table) == after
    assert oracle.snapshots(table)[-1]["commitKind"] == "OVERWRITE"


def test_java_writes_into_a_partition_that_was_dropped(oracle: Oracle, old: Table, tmp_path: Path) -> None:
    table = copy_of(old, tmp_path / "table")
    assert expire(table) == 0
    assert stray_files(oracle, table) == set()
    oracle.write(table, [["+I", "2020-01-01", 100]])
    oracle.compact(table, full=True)
    assert [row[2] for row in oracle.read(table) if row[1] == "2020-01-01"] == [100]
