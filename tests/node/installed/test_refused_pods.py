"""Pods that cannot start: the run ends with the reason, and nothing is left."""

from __future__ import annotations

from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import Reason
from node.installed.site import Site
from support.operators.objects import NO_RETRIES, QUIET
from support.operators.scene import message
from support.operators.server import COMPACTIONS, PODS
from support.tables import stray_files


@pytest.mark.parametrize(
    ("spark", "reason", "saying"),
    [
        pytest.param(
            {"image": "localhost/nobody/made:this", "imagePullPolicy": "Never"},
            Reason.IMAGE_ERROR,
            "localhost/nobody/made:this",
            id="image that does not exist",
        ),
        pytest.param(
            {"driver": {"cores": 64}}, Reason.SCHEDULING_TIMED_OUT, "Insufficient cpu", id="no room"
        ),
    ],
)
def test_a_driver_that_cannot_start(
    oracle: Oracle, wide: Table, site: Site, spark: dict[str, Any], reason: Reason, saying: str
) -> None:
    table = site.copied(wide)
    under = {
        "triggers": QUIET,
        "retries": NO_RETRIES,
        "deadlines": {"schedulingSeconds": 10},
        "spark": spark,
    }
    run = site.run(site.care_for(table, under=under))

    done = site.ended(run)

    site.stands(run, reason)
    assert saying in message(done)
    site.until_clean()
    assert oracle.snapshots(table) == oracle.snapshots(wide)
    assert stray_files(oracle, table) == set()
    site.server.delete(COMPACTIONS, run)
    site.story.until_gone(COMPACTIONS, run)
    site.story.until_gone(PODS, f"{run}-lithify")
