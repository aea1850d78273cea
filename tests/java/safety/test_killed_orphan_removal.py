"""`lithify remove-orphans` is killed while it deletes; Java reads on, and the next one completes it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.expired_snapshots import answers, files_of
from support.holding import Hold
from support.orphan_files import make_old
from support.runs import DEADLINE, LITHIFY
from support.tables import append, stray_files

pytestmark = pytest.mark.oracle

LEFTOVERS = 17_500
"""More than are deleted between two looks for new snapshots."""


def started(table: Table, fault: str = "") -> subprocess.Popen[bytes]:
    """The command in a process of its own."""
    command = [LITHIFY, "remove-orphans", "--warehouse", str(table.warehouse), "--table", str(table.name)]
    return subprocess.Popen(
        [*command, "--older-than", "1d", "--delete", "--most-share", "1"],
        env={**os.environ, "LITHIFY_FAULTS": fault},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def remove(table: Table, fault: str = "") -> int:
    """Runs the command; returns its exit code."""
    with started(table, fault) as process:
        return process.wait(DEADLINE)


def test_kill_between_portions_leaves_a_table_that_the_next_one_completes(
    oracle: Oracle, table: Table
) -> None:
    before = files_of(table)
    folder = next(table.folder.rglob("bucket-*"))
    for _ in range(LEFTOVERS):
        (folder / f"data-{uuid4()}-0.parquet").touch()
    make_old(table.folder)
    rows = answers(oracle, table)

    assert remove(table, "orphans-removed=kill") == -signal.SIGKILL

    assert 0 < len(files_of(table) - before) < LEFTOVERS
    assert answers(oracle, table) == rows
    append(oracle, table)
    assert remove(table) == 0
    assert stray_files(oracle, table) == set()
    assert before <= files_of(table)


def test_commit_of_a_slow_writer_after_the_plan_keeps_its_files(
    oracle: Oracle, table: Table, tmp_path: Path
) -> None:
    """A job commits files that it wrote longer ago than any should: they are in the plan, and stay."""
    prepared = oracle.prepare(table, [["+I", 1000, "slow", 1]])
    (next(table.folder.rglob("bucket-*")) / f"data-{uuid4()}-0.parquet").touch()
    make_old(table.folder)
    hold = Hold(tmp_path / "hold")
    hold.arm()
    with started(table, f"orphans-planned=hold:{tmp_path / 'hold'}") as process:
        hold.reached()
        oracle.commit_prepared(prepared.token)
        rows = oracle.read(table)
        hold.release()
        assert process.wait(DEADLINE) == 0
    assert ["+I", 1000, "slow", 1] in rows
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()
