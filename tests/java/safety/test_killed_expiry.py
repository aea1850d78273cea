"""`lithify expire` is killed at each point of its deletion; Java reads on, and the next one completes it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.faults import EXPIRY_POINTS
from support.expired_snapshots import (
    Answers,
    answers,
    files_of,
    hint,
    now_millis,
    numbers,
    set_ages,
    set_consumer,
)
from support.runs import DEADLINE, LITHIFY
from support.tables import append, copy_of, make_plain, stray_files

pytestmark = pytest.mark.oracle

STAY = 2
WORDS = ["--option", f"snapshot.num-retained.min={STAY}", "--option", f"snapshot.num-retained.max={STAY}"]
AGE = 120


@pytest.fixture(scope="module")
def aged(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Commits, compactions, changelogs and a tag of two hours ago; the first snapshot has expired before."""
    table = make_plain(oracle, tmp_path_factory.mktemp("aged"), **{"changelog-producer": "input"})
    for commit in range(4):
        append(oracle, table, f"late {commit}")
        if commit == 1:
            oracle.create_tag(table, "kept")
        oracle.compact(table, full=commit % 2 == 0)
    fewer = len(numbers(table)) - 1
    oracle.expire_snapshots(table, retain_max=fewer, retain_min=fewer, older_than=now_millis())
    set_ages(table, dict.fromkeys(numbers(table), AGE))
    assert hint(table) == "2"
    return table


def expire(table: Table, point: str | None = None) -> int:
    """Runs the command in a process, killed at a point; returns its exit code."""
    environment = {**os.environ, "LITHIFY_FAULTS": f"{point}=kill" if point else ""}
    command = [LITHIFY, "expire", "--warehouse", str(table.warehouse), "--table", str(table.name), *WORDS]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=DEADLINE, check=False)
    return done.returncode


def kept(oracle: Oracle, table: Table, snapshots: list[int]) -> Answers:
    """What Java reads of some snapshots, the tag, and the table as it is now."""
    found: Answers = {f"snapshot {each}": oracle.read(table, snapshot_id=each) for each in snapshots}
    return {**found, "tag": oracle.read(table, tag="kept"), "now": oracle.read(table)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", [each for each in EXPIRY_POINTS if "changelog" not in each])
def test_kill_at_any_point_leaves_a_table_that_the_next_expiry_completes(
    oracle: Oracle, aged: Table, tmp_path: Path, point: str
) -> None:
    table, whole = copy_of(aged, tmp_path / "killed"), copy_of(aged, tmp_path / "whole")
    stay = numbers(table)[-STAY:]
    before = kept(oracle, table, stay)
    assert expire(whole) == 0
    assert files_of(whole) < files_of(table)

    assert expire(table, point) == -signal.SIGKILL

    assert files_of(whole) <= files_of(table)
    assert kept(oracle, table, stay) == before
    assert expire(table) == 0
    assert (files_of(table), hint(table)) == (files_of(whole), hint(whole))
    assert answers(oracle, table) == answers(oracle, whole)
    assert stray_files(oracle, table) == set()


@pytest.fixture(scope="module")
def outlived(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """As above, with changelogs that outlive their snapshots, some of which have; and an idle consumer."""
    options = {
        "changelog.num-retained.min": "4",
        "changelog.num-retained.max": "1000",
        "consumer.expiration-time": "1 h",
    }
    table = make_plain(
        oracle, tmp_path_factory.mktemp("outlived"), **{"changelog-producer": "input", **options}
    )
    for commit in range(4):
        append(oracle, table, f"late {commit}")
        oracle.compact(table, full=commit % 2 == 0)
    set_ages(table, dict.fromkeys(numbers(table), AGE))
    fewer = str(len(numbers(table)) - 2)
    kept = {"snapshot.num-retained.min": fewer, "snapshot.num-retained.max": fewer}
    oracle.expire_by_options(table, {**kept, "changelog.num-retained.min": str(int(fewer) + 2)})
    assert len(changelogs(table)) == 2
    set_consumer(table, "idle", 1, minutes=AGE)
    return table


@pytest.fixture(scope="module")
def outlived_whole(outlived: Table, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """What one expiry leaves of it."""
    whole = copy_of(outlived, tmp_path_factory.mktemp("whole") / "table")
    assert expire(whole) == 0
    return whole


def changelogs(table: Table) -> list[int]:
    names = (path.name for path in (table.folder / "changelog").glob("changelog-*"))
    return sorted(int(name.removeprefix("changelog-")) for name in names)


def kept_stream(oracle: Oracle, table: Table, first: int) -> dict[int, list[Row]]:
    """What Java streams from a snapshot on; it reads changelogs only if options say that they outlive."""
    return oracle.changelog(table, from_snapshot=first, options={"snapshot.num-retained.min": str(STAY)})


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", EXPIRY_POINTS)
def test_kill_leaves_changelogs_that_the_next_expiry_completes(
    oracle: Oracle, outlived: Table, outlived_whole: Table, tmp_path: Path, point: str
) -> None:
    table, whole = copy_of(outlived, tmp_path / "killed"), outlived_whole
    latest = numbers(table)[-1]
    assert changelogs(whole) == [latest - 3, latest - 2]
    stream = kept_stream(oracle, outlived, latest - 3)
    rows = oracle.read(table)

    assert expire(table, point) == -signal.SIGKILL

    assert oracle.read(table) == rows
    assert kept_stream(oracle, table, latest - 3) == stream
    assert expire(table) == 0
    assert files_of(table) == files_of(whole)
    for name in ("snapshot/EARLIEST", "changelog/EARLIEST", "changelog/LATEST"):
        assert hint(table, name) == hint(whole, name)
    assert kept_stream(oracle, table, latest - 3) == stream
    assert stray_files(oracle, table) == set()


def test_java_commits_to_a_table_whose_expiry_was_killed(oracle: Oracle, aged: Table, tmp_path: Path) -> None:
    table, unexpired = copy_of(aged, tmp_path / "killed"), copy_of(aged, tmp_path / "whole")
    assert expire(table, "expired-lists-deleted") == -signal.SIGKILL
    for each in (table, unexpired):
        append(oracle, each, "after the kill")
        oracle.compact(each, full=True)
    assert expire(table) == 0
    assert oracle.read(table) == oracle.read(unexpired)
    assert stray_files(oracle, table) == set()
