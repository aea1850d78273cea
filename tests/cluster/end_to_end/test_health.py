"""Nothing is green that is not well: tables and catalogs in trouble, as kubectl shows them."""

from __future__ import annotations

import shutil
import socket
from contextlib import closing
from typing import Any

import pytest

from lithify.resources.compaction import Reason
from support.operators.objects import NO_RETRIES, QUIET, catalog, compaction, lake_table, policy, secret
from support.operators.scene import message
from support.operators.server import CATALOGS, EVENTS, TABLES, Object, condition
from support.operators.stage import Stage
from support.rest_server import TOKEN, WAREHOUSE, RestServer
from support.small_tables import SmallTable

PATIENT = 300
"""Seconds between two checks of a table for which nobody wants to wait."""
MOMENTS = 20.0
"""Seconds within which people who have mended something see that it works, on a busy machine."""
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


def in_use(stage: Stage, word: str, warehouse: str, **spec: Any) -> str:
    """A Catalog with a table that is checked every five minutes; the name of its objects."""
    name = stage.name(word)
    stage.kubectl.apply(
        policy(name, checkIntervalSeconds=PATIENT, triggers=QUIET),
        catalog(name, warehouse, **spec),
        lake_table(name, catalog=name, policy=name),
    )
    return name


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        pytest.param(None, "SecretNotFound", id="no Secret"),
        pytest.param({"other": "x"}, "SecretKeyMissing", id="no key in it"),
    ],
)
def test_a_catalog_with_tables_says_what_its_secret_lacks_until_it_is_there(
    stage: Stage, values: dict[str, str] | None, reason: str
) -> None:
    table = SmallTable(stage.folder / "w").create()
    reference = {"name": stage.name("keys"), "options": {"s3.access-key": "key"}}
    if values is not None:
        stage.kubectl.apply(secret(reference["name"], **values))
    name = in_use(stage, "lacking", str(table.warehouse), secretRef=reference)

    told = stage.story.until(CATALOGS, name, lambda found: said(found) == ("False", reason), seconds=MOMENTS)
    assert said(told, "Stalled")[0] == "True"
    assert said(healthy(stage, name, "NoCredentials")) == ("False", reason)

    stage.kubectl.apply(secret(reference["name"], key="value"))
    stage.story.until(TABLES, name, lambda found: found["status"]["health"] == "Healthy", seconds=MOMENTS)
    stage.story.until(CATALOGS, name, lambda found: said(found) == ("True", "Ready"), seconds=MOMENTS)


def test_expired_and_mended_credentials_show_within_moments(stage: Stage) -> None:
    table = SmallTable(stage.folder / "w").create()
    with RestServer(table.warehouse) as server:
        reference = {"name": stage.name("keys"), "options": {"token": "token"}}
        stage.kubectl.apply(secret(reference["name"], token="expired"))
        spec = {"metastore": "Rest", "uri": server.uri, "options": {"token.provider": "bear"}}
        name = in_use(stage, "expired", WAREHOUSE, secretRef=reference, **spec)

        assert said(healthy(stage, name, "AccessDenied")) == ("False", "AccessDenied")
        stage.story.until(CATALOGS, name, lambda found: said(found) == ("False", "AccessDenied"))

        stage.kubectl.apply(secret(reference["name"], token=TOKEN))
        stage.story.until(TABLES, name, lambda found: found["status"]["health"] == "Healthy", seconds=MOMENTS)
        stage.story.until(CATALOGS, name, lambda found: said(found) == ("True", "Ready"), seconds=MOMENTS)


def refusing_port() -> int:
    """A port at which nobody listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        return int(found.getsockname()[1])


@pytest.mark.parametrize("kind", ["Rest", "Filesystem"])
def test_a_refused_connection_is_an_outage_in_the_networks_words(stage: Stage, kind: str) -> None:
    url = f"http://127.0.0.1:{refusing_port()}"
    keys = {"s3.access-key": "key", "s3.secret-key": "key", "token": "token"}
    reference = {"name": stage.name("keys")}
    stage.kubectl.apply(secret(reference["name"], key="value"))
    if kind == "Rest":
        reference |= {"options": {"token": "key"}}
        spec = {"metastore": "Rest", "uri": url, "options": {"token.provider": "bear"}}
        name = in_use(stage, "refused", WAREHOUSE, secretRef=reference, **spec)
    else:
        reference |= {"options": {option: "key" for option in keys if option != "token"}}
        endpoint = {"s3.endpoint": url, "s3.path.style.access": "true", "lithify.s3.patience-seconds": "1"}
        name = in_use(stage, "refused", "s3://lake/w", secretRef=reference, options=endpoint)

    found = healthy(stage, name, "CatalogDown")

    assert "connection refused" in message(found, "Ready")
    told = stage.story.until(CATALOGS, name, lambda found: said(found)[0] == "False")
    assert "connection refused" in message(told, "Ready")


@pytest.mark.parametrize(
    ("warehouse", "word"),
    [
        pytest.param("/nowhere", "WarehouseNotFound", id="no folder"),
        pytest.param("s3://lake/w", "NotAllowed", id="a place outside of own identity"),
    ],
)
def test_places_have_words_of_their_own(stage: Stage, warehouse: str, word: str) -> None:
    name = in_use(stage, "place", warehouse)

    assert said(healthy(stage, name, word)) == ("False", word)
    stage.story.until(CATALOGS, name, lambda found: said(found) == ("False", word))


def test_tables_that_a_list_lacks_are_observed_at_once(stage: Stage) -> None:
    """Whatever `prune` says, and however many they are."""
    warehouse = stage.folder / "w"
    names = [f"t{number}" for number in range(20)]
    for name in names:
        SmallTable(warehouse, f"db.{name}").create()
    lake, prefix = stage.name("listed"), "db-"
    stage.kubectl.apply(
        policy(lake, checkIntervalSeconds=PATIENT, triggers=QUIET),
        catalog(lake, warehouse, discovery={"include": ["db.*"], "policyRef": {"name": lake}}),
    )
    for name in names:
        healthy(stage, prefix + name, "Healthy")

    for name in names[1:]:
        shutil.rmtree(warehouse / "db.db" / name)
    changed = {"discovery": {"exclude": ["db.other"]}}
    stage.server.patch(CATALOGS, lake, {"spec": changed})

    for name in names[1:]:
        stage.story.until(
            TABLES, prefix + name, lambda found: found["status"]["health"] == "TableNotFound", seconds=MOMENTS
        )
    assert stage.story.now(TABLES, prefix + names[0])["status"]["health"] == "Healthy"  # type: ignore[index]
