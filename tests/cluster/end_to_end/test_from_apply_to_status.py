"""The whole way: a table made by Java, `kubectl apply`, a compaction, and what `kubectl get` tells of it."""

from __future__ import annotations

import json

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import Reason
from support.operators.objects import QUIET
from support.operators.scene import compactions_of, proves
from support.operators.server import CATALOGS, COMPACTIONS, EVENTS, OWN, TABLES, condition
from support.operators.stage import Stage
from support.tables import append, stray_files

DUE = {"triggers": {"primaryKey": {"sortedRuns": 2}}}
SEVERAL_LOOKS = 4.0
"""Seconds; tables are looked at every second."""


@proves(Reason.QUEUED, Reason.SUBMITTING, Reason.RUNNING, Reason.COMMITTING, Reason.COMPACTED)
def test_a_table_that_is_due_is_compacted(oracle: Oracle, plain: Table, stage: Stage) -> None:
    table = stage.copied(plain)
    rows = oracle.read(table)

    with stage.holds.armed("manifests-written") as hold:
        care = stage.care_for(table, under=DUE)
        run = stage.first_run(care)
        hold.reached()
        stage.stands(run, Reason.COMMITTING)
        hold.release()
        stage.kubectl("wait", "--for=condition=Succeeded", "--timeout=120s", f"compaction/{run}")

    done = stage.ended(run)
    assert condition(done, "Succeeded")["status"] == "True"
    assert oracle.read(table) == rows
    assert (compactions_of(oracle, table), stray_files(oracle, table)) == (1, set())
    assert done["status"]["committedSnapshotId"] == str(oracle.snapshots(table)[-1]["id"])
    assert done["status"]["result"]["inputFiles"] == len(oracle.files(plain))
    assert done["metadata"]["ownerReferences"][0]["name"] == care.lake

    seen = stage.table_says(care, "CompactionNeeded", "False", "UpToDate")
    assert condition(seen, "Ready")["status"] == "True"
    assert condition(seen, "WriterCompacts")["status"] == "False"
    assert seen["status"]["observation"]["files"] == 1
    assert seen["status"]["observation"]["snapshotId"] == done["status"]["committedSnapshotId"]
    assert seen["status"]["lastCompaction"]["name"] == run
    assert seen["status"]["lastCompaction"]["reason"] == "Compacted"
    assert [run["metadata"]["name"] for run in stage.story.all(COMPACTIONS)] == [run]


def test_kubectl_tells_the_story(plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain), under=DUE)
    run = stage.first_run(care)
    stage.ended(run)

    heads, row = (line.split() for line in stage.kubectl("get", "compactions").splitlines())
    told = dict(zip(heads, row, strict=True))
    assert (told["NAME"], told["TABLE"], told["STATUS"], told["FILES"]) == (run, "db.t", "Compacted", "4→1")
    assert (told["STRATEGY"], told["ATTEMPTS"]) == ("Minor", "1")
    assert "→" in told["BYTES"]
    stage.table_says(care, "CompactionNeeded", "False")
    assert "db.t" in stage.kubectl("get", "laketables")

    about = f"involvedObject.name={run}"
    events = json.loads(stage.kubectl("get", "events", f"--field-selector={about}", "-o", "json"))["items"]
    assert sorted(event["reason"] for event in events) == sorted(stage.reasons(run))
    assert {event["count"] for event in events} == {1}


def test_nothing_is_written_when_nothing_changes(oracle: Oracle, plain: Table, alone: Stage) -> None:
    alone.operator.restart()
    care = alone.care_for(alone.copied(plain), under=DUE)
    idle = alone.care_for(alone.copied(plain, "idle"), "idle", under={"triggers": QUIET})
    alone.table_says(care, "CompactionNeeded", "False", "UpToDate")
    alone.table_says(idle, "CompactionNeeded", "False", "NotDue")
    alone.ended(alone.first_run(care))
    for one in (care, idle):
        alone.story.until(
            CATALOGS, one.catalog, lambda found: condition(found, "Ready").get("status") == "True"
        )
    rested, events = _come_to_rest(alone), len(alone.server.list(EVENTS))

    for next_one in (_nobody, alone.operator.kill, alone.operator.stop):
        next_one()
        if not alone.operator.is_running:
            alone.operator.restart()
        assert not _is_written(alone, rested), _changes(alone, rested)
    assert len(alone.server.list(EVENTS)) == events

    append(oracle, idle.table)
    alone.story.until(TABLES, idle.lake, lambda found: found["status"]["observation"]["files"] == 5)
    assert care.lake in alone.kubectl("get", "laketables")


def _nobody() -> None:
    """Lets the operator go on."""


def _come_to_rest(stage: Stage) -> dict[str, str]:
    """Waits until nothing has been written for a while; what there is then."""
    found = _versions(stage)
    while _is_written(stage, found):
        found = _versions(stage)
    return found


def _is_written(stage: Stage, before: dict[str, str]) -> bool:
    """Whether something is written within a while."""
    return stage.story.wait(lambda: _versions(stage) != before, SEVERAL_LOOKS)


def _versions(stage: Stage) -> dict[str, str]:
    """The resource versions of all our objects."""
    found = [(kind, one["metadata"]) for kind in OWN for one in stage.story.all(kind)]
    return {f"{kind}/{one['name']}": one["resourceVersion"] for kind, one in found}


def _changes(stage: Stage, before: dict[str, str]) -> str:
    """What has been written, for messages."""
    changed = [
        place.split("/") for place, version in _versions(stage).items() if before.get(place) != version
    ]
    last = {name: stage.story.versions(kind, name)[-2:] for kind, name in changed}
    return json.dumps({name: [one.get("status") for one in found] for name, found in last.items()}, indent=1)
