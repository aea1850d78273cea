"""A run in steps that is killed, or in conflict, between and in them: each step is a whole compaction."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.engine.run.steps import Commits
from support.crashes import SETTLED
from support.runs import Held, run_inline, start
from support.tables import copy_of, journals, make_plain, stray_files, upserts

pytestmark = pytest.mark.oracle

ONE_BY_ONE = ("--run", "run-a", "--commit-every", "1")


@pytest.fixture(scope="module")
def model(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return make_plain(oracle, tmp_path_factory.mktemp("model"), buckets=3, commits=3)


def compactions(oracle: Oracle, table: Table) -> list[str | None]:
    """What each compaction had to come."""
    snapshots = [each for each in oracle.snapshots(table) if each["commitKind"] == "COMPACT"]
    return [each["properties"].get("lithify.to-come") for each in snapshots]


def levels(oracle: Oracle, table: Table) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for file in oracle.files(table):
        found.setdefault(file.bucket, set()).add(file.level)
    return found


def assert_goes_on(oracle: Oracle, table: Table, rows: list[object], left: int) -> None:
    """Started again, the run does what is left, and only that; in the end nothing lies about."""
    assert oracle.read(table) == rows
    again = run_inline(table, run="run-a", commits=Commits(most_bytes=1))
    assert (again.status, len(again.groups)) == ("Compacted", left)
    assert compactions(oracle, table) == ["2", "1", None]
    assert set(map(frozenset, levels(oracle, table).values())) == {frozenset({5})}
    for later in (SETTLED, 2 * SETTLED, 3 * SETTLED):
        assert run_inline(table, run="run-a", shift=later).status == "AlreadyCommitted"
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


@pytest.mark.parametrize("point", ["snapshot-written", "step-done"])
def test_killed_after_the_first_step(oracle: Oracle, table: Table, point: str) -> None:
    rows: list[object] = list(oracle.read(table))

    killed = start(table, *ONE_BY_ONE, faults={point: "kill"}).wait()

    assert killed.code == -signal.SIGKILL
    assert_goes_on(oracle, table, rows, left=2)


@pytest.mark.parametrize("point", ["file-written", "manifests-written"])
def test_killed_in_the_second_step(oracle: Oracle, table: Table, tmp_path: Path, point: str) -> None:
    rows: list[object] = list(oracle.read(table))
    held = Held(tmp_path)
    run = start(table, *ONE_BY_ONE, faults={point: held.action})
    held.reached()
    held.release(for_good=False)
    held.reached()

    assert run.kill().code == -signal.SIGKILL

    assert_goes_on(oracle, table, rows, left=2)


def test_conflict_in_the_second_step(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    twin = copy_of(table, tmp_path / "twin")
    held = Held(tmp_path)
    run = start(table, *ONE_BY_ONE, faults={"tasks-done": held.action})
    held.reached()
    held.release(for_good=False)
    held.reached()
    for each in (table, twin):
        oracle.compact(each, full=True, buckets=[1])
        oracle.write(each, upserts(range(30, 45), "late"))
    held.release()

    outcome = run.wait()

    assert outcome.code == 0, outcome.error
    assert (outcome.report["rounds"], outcome.report["skipped"]) == (2, {})
    assert oracle.read(table) == oracle.read(twin)
    assert stray_files(oracle, table) == set()
