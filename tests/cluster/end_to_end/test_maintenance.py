"""Maintenance as people meet it: snapshots that the operator expires, and runs that they ask for."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import Reason
from support.operators.objects import QUIET, lake_table
from support.operators.scene import Care, message, proves
from support.operators.server import COMPACTIONS, TABLES, Object, condition
from support.operators.stage import Stage
from support.runs import LITHIFY
from support.small_tables import SmallTable

NEVER = {"triggers": QUIET, "maintenance": {"expireSnapshots": {"mode": "Never"}}}


@pytest.fixture
def old(tmp_path: Path) -> SmallTable:
    """A table of six snapshots of yesterday, of which it keeps two; its writers expire none."""
    made = SmallTable(tmp_path / "old", options={"snapshot.num-retained.min": "2"}).create()
    for _ in range(3):
        made.append()
        made.overwrite("a")
    made.grow_old(timedelta(days=1))
    return made


def of(small: SmallTable) -> Table:
    return Table(small.warehouse, small.name)


def recorded(stage: Stage, care: Care) -> Object:
    """What the table's status says of the maintenance that has ended."""
    stage.story.until(TABLES, care.lake, lambda found: bool(found["status"].get("maintenance")))
    found = stage.story.now(TABLES, care.lake)
    assert found is not None
    (record,) = found["status"]["maintenance"]
    return dict(record)


@proves(Reason.MAINTAINED)
def test_snapshots_of_a_table_that_nobody_expires_are_expired(
    oracle: Oracle, old: SmallTable, stage: Stage
) -> None:
    rows = oracle.read(of(old))
    care = stage.care_for(of(old), under={"triggers": QUIET})

    run = stage.first_run(care)
    done = stage.ended(run)

    stage.stands(run, Reason.MAINTAINED)
    assert (done["spec"]["kind"], old.numbers) == ("ExpireSnapshots", [5, 6])
    assert "snapshot.time-retained" in done["spec"]["cause"]
    figures = {each["name"]: each["count"] for each in done["status"]["maintenance"]["figures"]}
    assert figures["snapshots"] == 4
    assert done["status"]["files"].startswith("4 snapshots")
    assert oracle.read(of(old)) == rows
    record = recorded(stage, care)
    assert (record["kind"], record["name"], record["reason"]) == ("ExpireSnapshots", run, "Maintained")
    seen = stage.table_says(care, "SnapshotsExpire", "True", "OperatorExpires")
    assert "lastCompaction" not in seen["status"]
    stage.story.until(TABLES, care.lake, lambda found: "4 snapshots" in message(found, "SnapshotsExpire"))
    shown = stage.kubectl("get", "compactions").splitlines()[1]
    assert "ExpireSnapshots" in shown
    assert "Maintained" in shown
    assert [each["metadata"]["name"] for each in stage.story.all(COMPACTIONS)] == [run]


@proves(Reason.PLANNED, Reason.MAINTAINED)
def test_a_person_looks_first_and_then_lets_it_happen(old: SmallTable, stage: Stage) -> None:
    care = stage.care_for(of(old), under=NEVER)
    seen = stage.table_says(care, "SnapshotsExpire", "False", "NobodyExpires")
    assert "maintenance.expireSnapshots.mode" in message(seen, "SnapshotsExpire")

    wish = {"strategy": "Minor", "kind": "ExpireSnapshots"}
    looked = stage.ended(stage.run(care, "look", dryRun=True, **wish))
    assert (condition(looked, "Succeeded")["reason"], len(old.numbers)) == ("Planned", 6)
    assert "4 snapshots" in message(looked, "Succeeded")

    stage.ended(stage.run(care, "do", **wish))
    assert old.numbers == [5, 6]
    assert recorded(stage, care)["reason"] == "Maintained"


@proves(Reason.UNSUPPORTED)
def test_a_kind_that_cannot_be_done_ends_as_unsupported(old: SmallTable, stage: Stage) -> None:
    old.set_option("tag.automatic-creation", "process-time")
    old.set_option("tag.callbacks", "com.example.Tell")
    care = stage.care_for(of(old), under=NEVER)
    done = stage.ended(stage.run(care, "do", strategy="Minor", kind="ManageTags"))
    assert condition(done, "Succeeded")["reason"] == "Unsupported"
    assert "tag.callbacks" in message(done, "Succeeded")


def test_maintenance_and_compaction_of_a_table_take_turns(
    oracle: Oracle, old: SmallTable, stage: Stage
) -> None:
    rows = oracle.read(of(old))
    care = stage.care_for(of(old), under={"triggers": {"primaryKey": {"sortedRuns": 2}}})
    stage.ended(stage.first_run(care))
    stage.table_says(care, "CompactionNeeded", "False", "UpToDate")
    kinds = [run["spec"]["kind"] for run in stage.story.all(COMPACTIONS)]
    assert sorted(kinds) == ["Compact", "ExpireSnapshots"]
    assert oracle.read(of(old)) == rows


def test_small_tables_share_the_driver_of_their_expiry(old: SmallTable, stage: Stage, tmp_path: Path) -> None:
    other = SmallTable(old.warehouse, name="db.u", options=old.options).create()
    for _ in range(3):
        other.append()
    other.grow_old(timedelta(days=1))
    rules = {"sharedRuns": {"maxTables": 2, "waitSeconds": 60}}
    care = stage.care_for(of(old), under={"triggers": QUIET, **rules})
    stage.kubectl.apply(
        lake_table(stage.name("second"), catalog=care.catalog, policy=care.policy, identifier="db.u")
    )

    second = Care(Table(other.warehouse, other.name), stage.name("second"), care.catalog, care.policy)
    runs = [stage.ended(stage.first_run(each)) for each in (care, second)]

    assert {condition(run, "Succeeded")["reason"] for run in runs} == {"Maintained"}
    leads = {run["status"]["sharedRun"]["lead"] for run in runs}
    assert len(leads) == 1
    assert (old.numbers, other.numbers) == ([5, 6], [2, 3])


def test_what_status_says_undoes_a_compaction(oracle: Oracle, plain: Table, stage: Stage) -> None:
    table = stage.copied(plain)
    rows = oracle.read(table)
    care = stage.care_for(table, under={"triggers": QUIET})
    done = stage.ended(stage.run(care))
    assert len(oracle.files(table)) == 1

    _, _, command = done["status"]["undo"].partition(": ")
    name, _, words = command.partition(" ")
    assert name == "lithify"
    subprocess.run(f"{LITHIFY} {words}", shell=True, check=True, capture_output=True, cwd="/")

    assert oracle.snapshots(table)[-1]["id"] == int(done["status"]["baseSnapshotId"])
    assert len(oracle.files(table)) == len(oracle.files(plain))
    assert oracle.read(table) == rows
