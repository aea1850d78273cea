"""Namespaces and the chart itself are taken away while runs are under way: nothing is stuck, tables stay."""

from __future__ import annotations

import json

import pytest

from infrastructure.oracle.client import Oracle, Table
from node.installed.installation import HOME
from node.installed.site import Site
from support.operators.scene import compactions_of
from support.operators.server import PODS


def test_a_namespace_is_deleted_during_a_run(oracle: Oracle, wide: Table, doomed: Site) -> None:
    table = doomed.copied(wide)
    with doomed.holds.armed("file-written") as hold:
        run = doomed.run(doomed.care_for(table))
        hold.reached()
        locks = doomed.installation.locks()
        namespace = doomed.server.namespace
        doomed.kubectl("delete", "namespace", namespace, "--timeout=180s")

    doomed.story.until_gone(PODS, f"{run}-lithify")
    assert namespace not in doomed.kubectl("get", "namespaces", "-o", "name")
    assert locks
    doomed.installation.kubectl.apply(*locks)  # as if no operator had been there to drop them
    doomed.installation.kill_leader()
    doomed.installation.until_led()
    assert oracle.read(table) == oracle.read(wide)
    assert compactions_of(oracle, table) == 0


@pytest.mark.last
def test_the_chart_is_uninstalled_during_a_run(oracle: Oracle, wide: Table, site: Site) -> None:
    table = site.copied(wide)
    with site.holds.armed("file-written") as hold:
        care = site.care_for(table)
        run = site.run(care)
        hold.reached()
        site.installation.uninstall()

    site.until_clean_of_pods()
    assert oracle.read(table) == oracle.read(wide)
    everything = json.loads(site.kubectl("get", "lakehouse,leases", "-A", "-o", "json"))["items"]
    mine = {one["metadata"]["name"] for one in everything if one["metadata"]["namespace"] != HOME}
    assert {care.lake, care.catalog, care.policy, run} <= mine
    assert not any(one["metadata"].get("finalizers") for one in everything)
    site.kubectl("delete", "lakehouse", "--all", "--timeout=60s")
    site.story.until_gone(PODS, f"{run}-lithify")
    kept = site.kubectl("get", "crds", "-o", "name")
    assert "compactions.lithify.dev" in kept
