"""Attempts that fail show while they fail, and their table is left alone for longer each time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import Reason
from support.operators.objects import NO_RETRIES
from support.operators.scene import Care, compactions_of, proves, status_of
from support.operators.server import COMPACTIONS, EVENTS, PATIENCE, TABLES, Object
from support.operators.stage import Stage
from support.runs import LITHIFY

_RULES = {
    "triggers": {"primaryKey": {"sortedRuns": 2}},
    "retries": {"infrastructure": 2, "backoffSeconds": 2, "maxBackoffSeconds": 600},
}


@pytest.fixture
def small(stage: Stage) -> Iterator[Path]:
    """The folder of a disk of one megabyte."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts disks")
    folder = stage.folder / stage.name("disk")
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        stage.operator.kill_drivers()
        subprocess.run(["umount", "--lazy", folder], check=True)


@proves(Reason.BACKING_OFF, Reason.STORAGE_UNAVAILABLE, Reason.COMPACTED)
def test_a_full_disk_shows_before_the_run_ends_and_backs_off(
    oracle: Oracle, plain: Table, stage: Stage, small: Path
) -> None:
    table = stage.copied(plain, f"{small.name}/warehouse")
    filler = _filled(small)
    care = stage.care_for(table, under=_RULES)
    first = stage.first_run(care)

    stage.story.until(TABLES, care.lake, _fails_twice)
    assert not _is_over(stage, first)
    assert stage.story.wait(lambda: "CompactionsFailing" in _warnings(stage, care), PATIENCE)
    failed = status_of(stage.ended(first))
    held = stage.story.until(TABLES, care.lake, lambda found: "heldUntil" in found.get("status", {}))
    assert failed.attempts == 3
    assert held["status"]["consecutiveFailures"] == 1

    stage.story.until(TABLES, care.lake, lambda found: found["status"].get("consecutiveFailures") == 2)
    second = _second_run(stage, care, first)
    assert status_of(stage.ended(second)).attempts == 1
    filler.unlink()
    stage.story.until(TABLES, care.lake, lambda found: found["status"].get("health") == "Healthy")
    assert compactions_of(oracle, table) == 1


def _filled(folder: Path) -> Path:
    """A file that leaves no room beside it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return filler


def _fails_twice(found: Object) -> bool:
    status = found.get("status", {})
    why = status.get("due", "")
    return status.get("health") == "Failing" and "attempt 2 failed" in why and "no space left" in why


def _is_over(stage: Stage, run: str) -> bool:
    found = stage.story.now(COMPACTIONS, run)
    return found is not None and status_of(found).completion_time is not None


def _warnings(stage: Stage, care: Care) -> set[str]:
    """The reasons of the table's Warning Events."""
    told = [each for each in stage.server.list(EVENTS) if each["involvedObject"]["name"] == care.lake]
    return {each["reason"] for each in told if each["type"] == "Warning"}


def _second_run(stage: Stage, care: Care, first: str) -> str:
    names = sorted(
        run["metadata"]["name"]
        for run in stage.story.all(COMPACTIONS)
        if run["spec"]["tableRef"]["name"] == care.lake and run["metadata"]["name"] != first
    )
    return names[0]


def test_the_log_of_a_killed_driver_is_printed(plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain), under={"retries": NO_RETRIES})
    with stage.holds.armed("planned") as hold:
        run = stage.run(care)
        hold.reached()
        stage.operator.driver(run).kill()
    stage.ended(run)

    printed = _logs(stage, run)
    assert printed.returncode == 0
    assert printed.stdout == stage.operator.driver(run).folder.log_file.read_bytes()
    assert _logs(stage, "nowhere").returncode != 0


def _logs(stage: Stage, run: str) -> subprocess.CompletedProcess[bytes]:
    operator = stage.operator
    where = ("--namespace", operator.namespace, "--state", str(operator.state))
    command = [LITHIFY, "logs", run, *where, "--kubeconfig", str(operator.kubeconfig)]
    return subprocess.run(command, capture_output=True, check=False)
