"""The whole way on a real node: chart, Catalog, policy, table on S3, executors in pods, status."""

from __future__ import annotations

import json

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import Reason
from node.installed.site import Site
from support.operators.objects import QUIET
from support.operators.scene import compactions_of, status_of
from support.operators.server import COMPACTIONS, EVENTS, PODS, Object
from support.tables import stray_files

DUE = {"triggers": {"primaryKey": {"sortedRuns": 2}}}


def test_a_table_on_s3_is_compacted_by_executors_in_pods(oracle: Oracle, wide: Table, site: Site) -> None:
    table = site.copied(wide)
    rows = oracle.read(table)

    with site.holds.armed("file-written") as hold:
        care = site.care_for(table, under={**DUE, "spark": {"executor": {"minInstances": 2}}})
        run = site.first_run(care)
        hold.reached()
        assert len(site.until_executors(run, 2)) == 2
        site.stands(run, Reason.RUNNING)
        hold.release()
        site.kubectl("wait", "--for=condition=Succeeded", "--timeout=180s", f"compaction/{run}")

    done = site.ended(run)
    site.stands(run, Reason.COMPACTED)
    assert oracle.read(table) == rows
    assert (compactions_of(oracle, table), stray_files(oracle, table)) == (1, set())
    assert done["status"]["committedSnapshotId"] == str(oracle.snapshots(table)[-1]["id"])
    assert status_of(done).attempts == 1
    site.table_says(care, "CompactionNeeded", "False", "UpToDate")
    site.until_clean()
    assert site.executors(run) == []

    head, row = site.kubectl("get", "compactions").splitlines()
    assert "Compacted" in row
    assert "STATUS" in head
    about = f"involvedObject.name={run}"
    events = json.loads(site.kubectl("get", "events", f"--field-selector={about}", "-o", "json"))["items"]
    assert {event["reason"] for event in events} >= {"Submitting", "Running", "Compacted"}
    everything = json.loads(site.kubectl("get", "events", "-o", "json"))["items"]
    assert [each["message"] for each in everything if each["reason"] == "FailedPreStopHook"] == []


def test_progress_is_mirrored_to_status(wide: Table, site: Site) -> None:
    one_at_a_time = {"spark": {"executor": {"maxInstances": 1}}}
    with site.holds.armed("file-written") as hold:
        run = site.run(site.care_for(site.copied(wide), under={"triggers": QUIET, **one_at_a_time}))
        hold.reached()
        hold.release(for_good=False)
        hold.reached()
        site.story.until(COMPACTIONS, run, _has_done_some)
        hold.release()

    assert _has_done_some(site.ended(run)) is False
    site.stands(run, Reason.COMPACTED)


def test_pods_meet_the_restricted_standard_and_hold_no_secret(wide: Table, site: Site) -> None:
    run = site.run(site.care_for(site.copied(wide)))
    site.ended(run)

    secret = site.lake.credentials()["stringData"]
    seen = [version for name in site.story.names(PODS) for version in site.story.versions(PODS, name)]
    assert {pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in seen} == {
        "driver",
        "executor",
    }
    texts = [json.dumps(one) for one in (*seen, *site.server.list(EVENTS))]
    assert not any(value in text for value in secret.values() for text in texts)
    level = site.kubectl("get", "namespace", site.server.namespace, "-o", "jsonpath={.metadata.labels}")
    assert json.loads(level)["pod-security.kubernetes.io/enforce"] == "restricted"


def _has_done_some(run: Object) -> bool:
    done, _, planned = str(run["status"].get("progress", "")).partition("/")
    return done.isdigit() and 0 < int(done) < int(planned.split()[0])
