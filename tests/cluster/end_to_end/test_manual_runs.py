"""Runs that people ask for, approve, hold, and give up; and how long they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import FailureCounts, Reason
from support.operators.objects import HASTY, QUIET
from support.operators.scene import compactions_of, proves, status_of
from support.operators.server import COMPACTIONS, TABLES
from support.operators.stage import Stage
from support.tables import journals, stray_files

REQUESTED = "lithify.dev/requested-at"


@pytest.fixture(scope="session")
def days(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Two days with two buckets each, three sorted runs in each bucket."""
    table = Table(tmp_path_factory.mktemp("days"), "db.days")
    columns = {"dt": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}
    options = {"bucket": "2", "write-only": "true"}
    oracle.create_table(table, columns, primary_key=["dt", "id"], partition_keys=["dt"], options=options)
    for commit in range(3):
        rows = [["+I", day, key, f"{commit}"] for day in ("a", "b") for key in range(commit, 20)]
        oracle.write(table, rows)
    return table


@proves(Reason.COMPACTED)
def test_only_what_was_asked_for_is_compacted(oracle: Oracle, days: Table, stage: Stage) -> None:
    table = stage.copied(days)
    rows = oracle.read(table)
    care = stage.care_for(table)

    done = stage.ended(stage.run(care, partitions=[{"dt": "b"}], buckets=[1]))

    result = status_of(done).result
    assert result is not None
    assert (result.buckets, status_of(done).files) == (1, "3→1")
    compacted = {(file.partition["dt"], file.bucket) for file in oracle.files(table) if file.level > 0}
    assert compacted == {("b", 1)}
    assert oracle.read(table) == rows


@proves(Reason.COMPACTED)
def test_an_annotation_asks_for_a_run(oracle: Oracle, plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain))
    stage.ready(care)
    full = "lithify.dev/requested-strategy=Full"

    stage.kubectl("annotate", f"laketable/{care.lake}", f"{REQUESTED}=tuesday", full)

    run = stage.first_run(care)
    assert stage.ended(run)["spec"]["strategy"] == "Full"
    stage.story.until(TABLES, care.lake, lambda found: found["status"].get("handledRequest") == "tuesday")
    stage.table_says(care, "CompactionNeeded", "False", "UpToDate")
    assert [one["metadata"]["name"] for one in stage.story.all(COMPACTIONS)] == [run]
    assert compactions_of(oracle, care.table) == 1


@proves(Reason.PLANNED, Reason.NOTHING_TO_DO)
def test_a_dry_run_only_plans(oracle: Oracle, plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain))
    files = _files(care.table)

    planned = stage.run(care, "full", dryRun=True)
    resting = stage.run(care, "minor", dryRun=True, strategy="Minor")

    plan = stage.ended(planned)["status"]["plan"]
    assert (plan["files"], plan["buckets"], plan["tasks"]) == (4, 1, 1)
    stage.stands(planned, Reason.PLANNED)
    stage.ended(resting)
    stage.stands(resting, Reason.NOTHING_TO_DO)
    assert _files(care.table) == files
    assert len(oracle.snapshots(care.table)) == 4


@proves(Reason.AWAITING_APPROVAL, Reason.COMPACTED)
def test_a_run_waits_for_approval(oracle: Oracle, plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain))
    run = stage.run(care, approval="Manual")

    waiting = stage.stands(run, Reason.AWAITING_APPROVAL, "4 files")
    assert waiting["status"]["plan"]["files"] == 4
    assert compactions_of(oracle, care.table) == 0

    stage.server.patch(COMPACTIONS, run, {"spec": {"approved": True}})
    assert stage.ended(run)["status"]["attempts"] == 2
    stage.stands(run, Reason.COMPACTED)
    assert compactions_of(oracle, care.table) == 1


@proves(Reason.SUSPENDED, Reason.COMPACTED)
def test_a_run_is_suspended_and_goes_on(oracle: Oracle, plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain))
    with stage.holds.armed("tasks-done") as hold:
        run = stage.run(care)
        hold.reached()
        driver = stage.operator.driver(run)
        stage.server.patch(COMPACTIONS, run, {"spec": {"suspend": True}})
        stage.stands(run, Reason.SUSPENDED)
        driver.until_dead()
    assert (compactions_of(oracle, care.table), stray_files(oracle, care.table)) == (0, set())

    stage.server.patch(COMPACTIONS, run, {"spec": {"suspend": False}})

    assert status_of(stage.ended(run)).failures == FailureCounts()
    stage.stands(run, Reason.COMPACTED)
    assert compactions_of(oracle, care.table) == 1


@proves(Reason.CANCELLED)
def test_a_run_that_is_cancelled_leaves_nothing(oracle: Oracle, plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain))
    rows = oracle.read(care.table)
    with stage.holds.armed("tasks-done") as hold:
        run = stage.run(care)
        hold.reached()
        driver = stage.operator.driver(run)
        stage.server.patch(COMPACTIONS, run, {"spec": {"cancel": True}})
        stage.stands(run, Reason.CANCELLED)
        stage.story.until(TABLES, care.lake, lambda found: "lastCompaction" in found["status"])
    assert "consecutiveFailures" not in stage.server.get(TABLES, care.lake)["status"]
    assert not driver.is_alive
    assert oracle.read(care.table) == rows
    assert (stray_files(oracle, care.table), journals(care.table)) == (set(), set())


@proves(Reason.COMPACTED)
def test_a_run_that_is_deleted_leaves_nothing(oracle: Oracle, plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain))
    with stage.holds.armed("tasks-done") as hold:
        run = stage.run(care)
        hold.reached()
        driver = stage.operator.driver(run)
        uid = driver.uid
        stage.kubectl("delete", f"compaction/{run}")
        driver.until_dead()
    assert (compactions_of(oracle, care.table), stray_files(oracle, care.table)) == (0, set())

    again = stage.run(care)

    stage.ended(again)
    assert stage.operator.driver(again).uid != uid
    assert compactions_of(oracle, care.table) == 1


def test_finished_runs_go_but_for_the_last_success(plain: Table, stage: Stage) -> None:
    history = {"successfulRuns": 1, "failedRuns": 0}
    care = stage.care_for(stage.copied(plain), under={"triggers": QUIET, "history": history})
    old = stage.run(care, "old", strategy="Minor")
    stage.ended(old)
    kept = stage.run(care, "kept", strategy="Minor", ttlSecondsAfterFinished=1)
    stage.ended(kept)
    stage.story.until_gone(COMPACTIONS, old)
    failed = stage.run(care, "failed", dryRun=True, partitions=[{"nowhere": "x"}])
    stage.story.until_gone(COMPACTIONS, failed)
    assert [run["metadata"]["name"] for run in stage.story.all(COMPACTIONS)] == [kept]
    stage.stands(kept, Reason.NOTHING_TO_DO)


def test_a_finished_run_lives_for_its_time(plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain), under={"triggers": QUIET, "retries": HASTY})
    kept = stage.run(care, "kept", strategy="Minor")
    stage.ended(kept)
    gone = stage.run(care, "gone", dryRun=True, ttlSecondsAfterFinished=2)
    stage.ended(gone)

    stage.story.until_gone(COMPACTIONS, gone)
    assert [run["metadata"]["name"] for run in stage.story.all(COMPACTIONS)] == [kept]


def _files(table: Table) -> set[Path]:
    return set(table.folder.rglob("*"))
