"""What a change of policy comes to: at once, and told where people look."""

from __future__ import annotations

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import Reason
from lithify.resources.names import ANNOTATION_COMMITTED
from support.operators.objects import QUIET, policy
from support.operators.scene import message, proves
from support.operators.server import COMPACTIONS, POLICIES, TABLES, Object, condition
from support.operators.stage import Stage
from support.tables import append

SELDOM = {"checkIntervalSeconds": 3600}
"""No change may wait for the next look."""


@proves(Reason.COMPACTED)
def test_a_lowered_trigger_starts_a_run_at_once(plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain), under={**SELDOM, "triggers": QUIET})
    stage.table_says(care, "CompactionNeeded", "False", "NotDue")

    stage.kubectl.apply(policy(care.policy, **SELDOM, triggers={"primaryKey": {"sortedRuns": 2}}))

    run = stage.first_run(care)
    stage.ended(run)
    assert stage.story.now(TABLES, care.lake) is not None


def test_an_announced_commit_is_seen_at_once(oracle: Oracle, plain: Table, stage: Stage) -> None:
    table = stage.copied(plain)
    care = stage.care_for(table, under={**SELDOM, "triggers": QUIET})
    stage.table_says(care, "CompactionNeeded", "False", "NotDue")
    append(oracle, table)
    newest = str(oracle.snapshots(table)[-1]["id"])

    stage.kubectl("annotate", "laketable", care.lake, f"{ANNOTATION_COMMITTED}={newest}")

    stage.story.until(TABLES, care.lake, lambda found: found["status"]["observation"]["snapshotId"] == newest)


def test_a_policy_that_comes_and_goes(plain: Table, stage: Stage) -> None:
    name = stage.name("later")
    care = stage.care_for(stage.copied(plain), under=name, checkIntervalSeconds=3600)
    stage.table_says(care, "PolicyReady", "False", "PolicyMissing")
    stage.table_says(care, "Ready", "False", "PolicyMissing")

    stage.kubectl.apply(policy(name, **SELDOM, suspend=True))
    stage.table_says(care, "PolicyReady", "False", "PolicySuspended")
    stage.table_says(care, "Ready", "True")
    stage.kubectl.apply(policy(name, **SELDOM, triggers=QUIET))
    stage.table_says(care, "PolicyReady", "True", "Followed")
    stage.story.until(POLICIES, name, lambda found: found["status"].get("tables") == 1)

    stage.server.delete(POLICIES, name)
    stage.table_says(care, "PolicyReady", "False", "PolicyMissing")
    assert stage.story.all(COMPACTIONS) == []


def test_a_suspended_policy_starts_nothing_until_it_goes_on(plain: Table, stage: Stage) -> None:
    due = {**SELDOM, "triggers": {"primaryKey": {"sortedRuns": 2}}}
    care = stage.care_for(stage.copied(plain), under={**due, "suspend": True})
    needed = stage.table_says(care, "CompactionNeeded", "True")
    assert "suspend" in message(needed, "CompactionNeeded")
    assert stage.story.all(COMPACTIONS) == []

    stage.kubectl.apply(policy(care.policy, **due, suspend=False, approval="Manual"))

    stage.stands(stage.first_run(care), Reason.AWAITING_APPROVAL)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"timeZone": "Mars/Olympus"}, id="a time zone that there is not"),
        pytest.param({"timeZone": "UTC", "full": {"schedule": "0 0 31 2 *"}}, id="a day that never comes"),
        pytest.param(
            {"timeZone": "UTC", "full": {"schedule": "61 0 * * *"}}, id="a minute that there is not"
        ),
        pytest.param(
            {"spark": {"conf": {"spark.master": "local"}}}, id="a Spark setting that is not its own"
        ),
    ],
)
def test_a_policy_that_nobody_can_follow_says_so(plain: Table, stage: Stage, wrong: Object) -> None:
    due = {"primaryKey": {"sortedRuns": 2}}
    care = stage.care_for(stage.copied(plain), under={**SELDOM, "triggers": due, **wrong})

    found = stage.story.until(
        POLICIES, care.policy, lambda found: condition(found, "Ready").get("status") == "False"
    )

    assert (condition(found, "Ready")["reason"], condition(found, "Stalled")["status"]) == ("Invalid", "True")
    seen = stage.table_says(care, "PolicyReady", "False", "PolicyInvalid")
    assert message(found, "Ready") in message(seen, "PolicyReady")
    stage.table_says(care, "CompactionNeeded", "True")
    assert stage.story.all(COMPACTIONS) == []
