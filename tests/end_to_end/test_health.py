"""Nothing is green that is not well: tables and catalogs in trouble, as kubectl shows them."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.resources.compaction import Reason
from support.operators.objects import NO_RETRIES, QUIET, catalog, compaction, lake_table, policy, secret
from support.operators.scene import message
from support.operators.server import CATALOGS, EVENTS, TABLES, Object, condition
from support.operators.stage import Stage
from support.small_tables import SmallTable

STAYS = {**NO_RETRIES, "backoffSeconds": 3600, "maxBackoffSeconds": 3600}


def put_under_care(stage: Stage, word: str, *, with_policy: bool = True) -> str:
    """A small table under care; the name of its objects."""
    name = stage.name(word)
    table = SmallTable(stage.folder / word).create()
    table.append()
    objects = [catalog(name, table.warehouse), lake_table(name, catalog=name, policy=name)]
    if with_policy:
        objects.append(policy(name, triggers=QUIET, retries=STAYS))
    stage.kubectl.apply(*objects)
    return name


def shown(stage: Stage, lake: str) -> list[str]:
    """What `kubectl get laketables` prints of one."""
    return str(stage.kubectl("get", "laketable", lake, "--no-headers")).split()


def healthy(stage: Stage, lake: str, word: str) -> Object:
    """A LakeTable as soon as its HEALTH is this word."""
    return stage.story.until(TABLES, lake, lambda found: found.get("status", {}).get("health") == word)


def said(found: Object, kind: str = "Ready") -> tuple[str, str]:
    """Status and reason of a condition."""
    one = condition(found, kind)
    return one.get("status", ""), one.get("reason", "")


def test_a_table_without_a_policy_is_not_ready(stage: Stage) -> None:
    lake = put_under_care(stage, "bare", with_policy=False)

    found = healthy(stage, lake, "NoPolicy")

    assert said(found) == ("False", "PolicyMissing")
    assert said(found, "Stalled")[0] == "True"
    assert "NoPolicy" in shown(stage, lake)

    stage.kubectl.apply(policy(lake, triggers=QUIET))
    assert said(healthy(stage, lake, "Healthy")) == ("True", "Ready")


def test_a_table_whose_last_run_failed_is_not_ready(stage: Stage) -> None:
    lake = put_under_care(stage, "failing")
    healthy(stage, lake, "Healthy")
    with stage.holds.armed("planned"):
        run = stage.name("late")
        stage.kubectl.apply(compaction(run, lake, activeDeadlineSeconds=10))
        ended = stage.ended(run)
    assert condition(ended, "Succeeded")["reason"] == Reason.DEADLINE_EXCEEDED

    found = healthy(stage, lake, "Failing")

    assert said(found) == ("False", "CompactionsFailing")
    assert f"{run} ended with DeadlineExceeded" in message(found, "Ready")
    assert f"{run} ended with DeadlineExceeded" in found["status"]["due"]
    assert found["status"]["lastFailure"]["name"] == run
    assert "Failing" in shown(stage, lake)
    told = [each for each in stage.server.list(EVENTS) if each["involvedObject"]["name"] == lake]
    assert [(each["type"], each["reason"]) for each in told].count(("Warning", "DeadlineExceeded")) == 1
    assert "CompactionStarted" in {each["reason"] for each in told}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        pytest.param(
            {"secretRef": {"name": "nobody-made-it", "options": {"s3.access-key": "key"}}},
            "SecretNotFound",
            id="no Secret",
        ),
        pytest.param(
            {"secretRef": {"name": "half", "options": {"s3.access-key": "absent"}}},
            "SecretKeyMissing",
            id="no key in it",
        ),
        pytest.param({"warehouse": "/nowhere"}, "WarehouseNotFound", id="no warehouse"),
    ],
)
def test_a_catalog_that_nobody_uses_says_what_is_missing(
    stage: Stage, wrong: dict[str, Any], reason: str
) -> None:
    name = stage.name("unused")
    stage.kubectl.apply(secret("half", key="value"))
    stage.kubectl.apply(catalog(name, **{"warehouse": str(stage.folder), **wrong}))

    found = stage.story.until(CATALOGS, name, lambda found: said(found)[0] not in {"", "Unknown"})

    assert said(found) == ("False", reason)
    assert said(found, "Stalled")[0] == "True"


def test_kubectl_can_wait_for_a_catalog_that_nobody_uses(stage: Stage) -> None:
    name = stage.name("unused")
    stage.kubectl.apply(catalog(name, stage.folder))
    stage.kubectl("wait", "--for=condition=Ready", f"catalog/{name}", "--timeout=60s")

    stage.kubectl.apply(catalog(name, stage.folder / "gone"))
    stage.story.until(CATALOGS, name, lambda found: said(found) == ("False", "WarehouseNotFound"))
