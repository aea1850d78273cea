"""What runs wait for, and what those leave that are cancelled."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import monotonic, sleep

from infrastructure.oracle.client import Table
from lithify.controller.cluster.table_lock import lock_name
from lithify.resources.catalog import CatalogSpec
from lithify.resources.compaction import Reason
from lithify.resources.names import LABEL_LOCK
from support.operators.scene import proves
from support.operators.server import COMPACTIONS, LEASES, TABLES, Object
from support.operators.stage import Stage

DUE = {"triggers": {"primaryKey": {"sortedRuns": 2}}}
REQUESTED = "lithify.dev/requested-at"
MINUTE = 60.0


@proves(Reason.CANCELLED)
def test_a_cancelled_run_is_not_begun_anew_at_once(plain: Table, stage: Stage) -> None:
    with stage.holds.armed("planned") as hold:
        care = stage.care_for(stage.copied(plain), under=DUE)
        run = stage.first_run(care)
        hold.reached()
        stage.server.patch(COMPACTIONS, run, {"spec": {"cancel": True}})
        stage.stands(run, Reason.CANCELLED)

    def is_held(found: Object) -> bool:
        return f"{run} was cancelled" in found["status"].get("due", "")

    stage.story.until(TABLES, care.lake, is_held)
    assert stage.first_run(care) == run
    assert len(_runs(stage, care.lake)) == 1

    note = {"metadata": {"annotations": {REQUESTED: "now"}}}
    stage.server.patch(TABLES, care.lake, note)
    assert stage.story.wait(lambda: len(_runs(stage, care.lake)) == 2, MINUTE)


@proves(Reason.QUEUED)
def test_a_lock_without_a_lease_is_free(plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain))
    stage.ready(care)
    holder = stage.run(care, "holder", suspend=True)
    suspended = stage.stands(holder, Reason.SUSPENDED)
    warehouse = CatalogSpec(warehouse=str(care.table.warehouse))
    name = lock_name(stage.server.namespace, warehouse, care.table.name)
    identity = f"{stage.server.namespace}/{holder}/{suspended['metadata']['uid']}"
    body = {"metadata": {"name": name, "labels": {LABEL_LOCK: "true"}}, "spec": {"holderIdentity": identity}}
    stage.server.create(LEASES, body)
    run = stage.run(care)
    stage.stands(run, Reason.QUEUED, holder)

    stage.server.delete(LEASES, name)

    # It was looked at once a minute before.
    stage.story.until(COMPACTIONS, run, lambda found: found["status"].get("attempts", 0) > 0, seconds=20)
    stage.ended(run)


@proves(Reason.CANCELLED)
def test_a_cancelled_driver_takes_its_jvm_along(plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain))
    with stage.holds.armed("file-written") as hold:
        run = stage.run(care)
        hold.reached()
        driver = stage.operator.driver(run)
        left = [*driver.processes("java"), *driver.processes("pyspark.daemon")]
        assert len(left) > 1
        # As by the kernel: nothing in the driver has a chance to end the others.
        os.kill(driver.pid, signal.SIGKILL)
        stage.server.patch(COMPACTIONS, run, {"spec": {"cancel": True}})
        stage.stands(run, Reason.CANCELLED)
    deadline = monotonic() + MINUTE
    while any(map(_is_running, left)) and monotonic() < deadline:
        sleep(0.05)
    assert not any(map(_is_running, left))


def _runs(stage: Stage, table: str) -> list[Object]:
    return [run for run in stage.story.all(COMPACTIONS) if run["spec"]["tableRef"]["name"] == table]


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
