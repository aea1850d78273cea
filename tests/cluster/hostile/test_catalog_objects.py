"""Catalogs that ask the operator for what it must not do, applied to a real API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cluster.hostile.catalogs import listening
from infrastructure.oracle.client import Table
from lithify.resources.compaction import Reason
from support.cases import case
from support.operators.objects import secret
from support.operators.scene import message
from support.operators.server import CATALOGS, condition
from support.operators.stage import Stage

REST = {"metastore": "Rest", "warehouse": "w", "uri": "https://catalog.example.org"}


@pytest.mark.parametrize(
    ("spec", "reason", "named"),
    [
        case(
            {**REST, "options": {"token.provider": "dlf", "dlf.token-loader": "ecs"}},
            "InvalidOption",
            "dlf.token-loader",
            id="another way to credentials",
        ),
        case(
            {
                **REST,
                "options": {"token.provider": "bear"},
                "secretRef": {"name": "SECRET", "options": {"dlf.token-path": "path", "token": "token"}},
            },
            "InvalidOption",
            "dlf.token-path",
            id="one in a Secret",
        ),
        case(
            {**REST, "uri": "http://10.96.0.1/", "options": {"token.provider": "bear", "token": "t"}},
            "NotAllowed",
            "operator.allowedAddresses",
            id="an address of the cluster",
        ),
        case({"warehouse": "s3://lake/w"}, "NotAllowed", "operator.ownIdentity", id="own rights"),
        case(
            {"metastore": "Jdbc", "warehouse": "/tmp", "uri": "jdbc:sqlite:file:/tmp/x.db?mode=rwc"},
            "InvalidOption",
            "uri",
            id="a database with modes",
        ),
    ],
)
def test_a_refused_catalog_names_what_is_refused(
    stage: Stage, spec: Mapping[str, Any], reason: str, named: str
) -> None:
    name = stage.name("keys")
    stage.kubectl.apply(secret(name, path="/etc/passwd", token="t"))
    if "secretRef" in spec:
        spec = {**spec, "secretRef": {**spec["secretRef"], "name": name}}

    care = stage.care_for(Table("w", "db.t"), of=spec)

    seen = stage.table_says(care, "Ready", "False", reason)
    assert named in message(seen, "Ready")
    told = stage.story.until(
        CATALOGS, care.catalog, lambda found: condition(found, "Ready").get("reason") == reason
    )
    assert named in message(told, "Ready")


def test_a_driver_gets_no_further(stage: Stage) -> None:
    """Also for a table that nobody has looked at with success."""
    with listening("127.0.0.2") as listener:
        spec = {**REST, "uri": f"http://127.0.0.2:{listener.port}/x?"}
        care = stage.care_for(
            Table("w", "db.t"), of={**spec, "options": {"token.provider": "bear", "token": "t"}}
        )
        stage.table_says(care, "Ready", "False", "InvalidOption")

        run = stage.run(care)

        stage.ended(run)
        stage.stands(run, Reason.INVALID_SPEC)
        assert listener.connections == 0
