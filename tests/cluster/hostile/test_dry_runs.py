"""A dry run is planned by the operator: it takes no driver, no slot and no lock, whatever else goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infrastructure.oracle.client import Table
from lithify.controller.launching.folder import DriverFolder
from lithify.resources.compaction import Reason
from lithify.resources.names import ObjectKey
from support.cases import case
from support.operators.objects import QUIET
from support.operators.operating import Driver
from support.operators.scene import Care
from support.operators.server import COMPACTIONS, LEASES, Object
from support.operators.stage import Stage
from support.small_tables import SmallTable

FULL = {"limits": {"activeRuns": 1}, "triggers": QUIET}


@pytest.fixture
def table(stage: Stage) -> SmallTable:
    made = SmallTable(stage.folder / "warehouse").create()
    made.append()
    made.append()
    return made


def care_for(stage: Stage, table: SmallTable, word: str = "orders", **under: object) -> Care:
    return stage.care_for(Table(Path(table.warehouse), table.name), word, under={"triggers": QUIET, **under})


def had_driver(stage: Stage, run: str) -> bool:
    """Whether a driver was ever made for a Compaction, as the launcher's folder and status say."""
    key = ObjectKey(stage.operator.namespace, run)
    is_told = any("driver" in one.get("status", {}) for one in stage.story.versions(COMPACTIONS, run))
    return is_told or Driver(DriverFolder(stage.operator.state / "drivers", key)).has_started


def locks(stage: Stage) -> dict[str, str]:
    """Who holds which Lease, but for the operator's own."""
    found = {
        lease["metadata"]["name"]: lease["spec"].get("holderIdentity") for lease in stage.server.list(LEASES)
    }
    return {name: holder for name, holder in found.items() if "/" in str(holder)}


@contextmanager
def frozen_run(stage: Stage, care: Care) -> Iterator[str]:
    """A run whose driver stands still, so that it keeps its slot and the table's lock."""
    run = stage.run(care, "frozen")
    driver = stage.operator.driver(run)
    driver.freeze()
    try:
        yield run
    finally:
        stage.server.patch(COMPACTIONS, run, {"spec": {"cancel": True}})
        driver.kill()
        stage.ended(run)


def test_a_full_house_answers_dry_runs(stage: Stage, table: SmallTable) -> None:
    care = care_for(stage, table, **FULL)
    stage.ready(care)
    with frozen_run(stage, care) as frozen:
        queued = stage.run(care, "queued")
        stage.stands(queued, Reason.QUEUED)
        held = locks(stage)
        assert [holder.split("/")[1] for holder in held.values()] == [frozen]

        full, minor = (
            stage.run(care, "full", dryRun=True),
            stage.run(care, "minor", dryRun=True, strategy="Minor"),
        )

        planned = stage.ended(full)["status"]
        stage.stands(full, Reason.PLANNED)
        assert [planned["plan"][name] for name in ("buckets", "tasks", "files")] == [4, 4, 8]
        assert planned["plan"]["bytes"] > 0
        assert (planned["baseSnapshotId"], planned["attempts"]) == ("2", 1)
        stage.ended(minor)
        stage.stands(minor, Reason.NOTHING_TO_DO)
        assert not [run for run in (full, minor) if had_driver(stage, run)]
        assert Reason.QUEUED not in stage.reasons(full) + stage.reasons(minor)
        assert locks(stage) == held
        stage.stands(queued, Reason.QUEUED)
        stage.server.patch(COMPACTIONS, queued, {"spec": {"cancel": True}})


def test_what_waits_for_approval_is_planned_without_a_driver(stage: Stage, table: SmallTable) -> None:
    care = care_for(stage, table, **FULL)
    stage.ready(care)
    with frozen_run(stage, care):
        asked = stage.run(care, "asked", approval="Manual")
        waiting = stage.stands(asked, Reason.AWAITING_APPROVAL, "8 files")
        assert waiting["status"]["plan"]["files"] == 8
        assert not had_driver(stage, asked)

        stage.server.patch(COMPACTIONS, asked, {"spec": {"approved": True}})
        stage.stands(asked, Reason.QUEUED)
        stage.server.patch(COMPACTIONS, asked, {"spec": {"cancel": True}})


def without_manifests(table: SmallTable) -> None:
    for path in (table.folder / "manifest").glob("manifest-*-0"):
        path.unlink()


@pytest.mark.parametrize(
    ("harm", "spec", "reason"),
    [
        case(lambda _: None, {"partitions": [{"nowhere": "x"}]}, Reason.INVALID_SPEC, id="bad selection"),
        case(lambda table: table.drop(), {}, Reason.TABLE_NOT_FOUND, id="dropped"),
        case(without_manifests, {}, Reason.CORRUPT_TABLE, id="without manifests"),
        case(
            lambda table: table.set_option("deletion-vectors.modifiable", "true"),
            {},
            Reason.UNSUPPORTED,
            id="not supported",
        ),
    ],
)
def test_a_dry_run_says_what_is_wrong(
    stage: Stage, table: SmallTable, harm: Callable[[SmallTable], None], spec: Object, reason: Reason
) -> None:
    care = care_for(stage, table)
    harm(table)
    run = stage.run(care, dryRun=True, **spec)
    stage.ended(run)
    stage.stands(run, reason)
    assert not had_driver(stage, run)


def test_an_operator_that_is_killed_while_it_plans_plans_again(alone: Stage) -> None:
    table = SmallTable(alone.folder / "warehouse").create()
    table.append()
    alone.operator.restart()
    care = care_for(alone, table, checkIntervalSeconds=3600)
    alone.ready(care)
    workers = alone.operator.workers()
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    run = alone.run(care, dryRun=True)
    alone.stands(run, Reason.PLANNING)
    alone.operator.kill()
    for pid in workers:
        os.kill(pid, signal.SIGKILL)

    alone.operator.restart()

    assert alone.ended(run)["status"]["attempts"] == 1
    alone.stands(run, Reason.PLANNED)
    assert not had_driver(alone, run)
