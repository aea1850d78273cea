"""Pods, storage and servers fail while a run is under way: rows stay, the run ends, nothing is left."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import CompactionStatus, Reason
from node.installed.site import Site
from support.operators.objects import HASTY, QUIET
from support.operators.scene import compactions_of, is_over, status_of
from support.operators.server import COMPACTIONS, PODS, Object
from support.tables import stray_files

STAGES = ("planned", "file-written", "manifests-written", "snapshot-written")
GREEDY = {"name": "LITHIFY_FAULTS", "value": "planned=fill:550"}
"""What has a driver need more than 600Mi and less than 900Mi."""
OUTAGE = 30.0
"""Seconds for which the object store is gone."""


@pytest.fixture
def table(site: Site, wide: Table) -> Table:
    return site.copied(wide)


def succeeded(site: Site, oracle: Oracle, table: Table, model: Table, run: str) -> CompactionStatus:
    """What must hold of every run that was disturbed and yet succeeded."""
    done = site.ended(run)
    site.stands(run, Reason.COMPACTED)
    site.until_clean()
    assert oracle.read(table) == oracle.read(model)
    site.lake.clean_up(table)
    assert (compactions_of(oracle, table), stray_files(oracle, table)) == (1, set())
    assert oracle.read(table) == oracle.read(model)
    return status_of(done)


def history(status: CompactionStatus) -> list[str]:
    """How its attempts ended."""
    return [attempt.reason for attempt in status.attempt_history]


def test_a_driver_without_enough_memory_gets_more(
    oracle: Oracle, wide: Table, table: Table, site: Site
) -> None:
    template = {"spec": {"containers": [{"name": "lithify", "env": [GREEDY]}]}}
    driver = {"memory": "600Mi", "podTemplate": template}
    run = site.run(
        site.care_for(table, under={"triggers": QUIET, "retries": HASTY, "spark": {"driver": driver}})
    )

    status = succeeded(site, oracle, table, wide, run)

    assert history(status) == ["OutOfMemory", "Compacted"]
    limits = [pod["spec"]["containers"][0]["resources"]["limits"]["memory"] for pod in drivers(site, run)]
    assert set(limits) == {"600Mi", "900Mi"}


def test_a_killed_executor_is_replaced(oracle: Oracle, wide: Table, table: Table, site: Site) -> None:
    with site.holds.armed("file-written") as hold:
        run = site.run(site.care_for(table))
        hold.reached()
        victim = site.until_executors(run, 1)[0]["metadata"]["name"]
        site.server.delete(PODS, victim, grace=0)
        site.story.until_gone(PODS, victim)
        hold.release()

    assert succeeded(site, oracle, table, wide, run).attempts == 1


@pytest.mark.parametrize(
    ("point", "attempts"),
    [
        pytest.param("file-written", ["DriverLost", "Compacted"], id="while it rewrites"),
        pytest.param("snapshot-written", ["Compacted"], id="after its commit"),
    ],
)
def test_a_deleted_driver_pod(
    oracle: Oracle, wide: Table, table: Table, site: Site, point: str, attempts: list[str]
) -> None:
    with site.holds.armed(point) as hold:
        run = site.run(site.care_for(table))
        hold.reached()
        site.server.delete(PODS, site.driver(run)["metadata"]["name"], grace=0)

    assert history(succeeded(site, oracle, table, wide, run)) == attempts


def test_storage_that_is_gone_for_a_while(oracle: Oracle, wide: Table, table: Table, site: Site) -> None:
    with site.holds.armed("file-written") as hold:
        run = site.run(site.care_for(table))
        hold.reached()
        site.lake.server.kill()
        hold.release()
        assert not site.story.wait(lambda: is_over(site.story.versions(COMPACTIONS, run)[-1]), OUTAGE)
        site.lake.server.start()

    succeeded(site, oracle, table, wide, run)


def test_the_api_server_is_restarted(oracle: Oracle, wide: Table, table: Table, site: Site) -> None:
    with site.holds.armed("file-written") as hold:
        run = site.run(site.care_for(table))
        hold.reached()
        site.node.restart_api_server()
        hold.release()

    assert succeeded(site, oracle, table, wide, run).attempts == 1


def test_the_leading_operator_is_killed_in_each_stage(
    oracle: Oracle, wide: Table, table: Table, site: Site
) -> None:
    with ExitStack() as stack:
        holds = [stack.enter_context(site.holds.armed(point)) for point in STAGES]
        run = site.run(site.care_for(table))
        for hold in holds:
            hold.reached()
            site.installation.kill_leader()
            site.installation.until_led()
            hold.release()

    assert succeeded(site, oracle, table, wide, run).attempts == 1
    assert len({pod["metadata"]["uid"] for pod in drivers(site, run)}) == 1


def test_the_chart_is_upgraded(oracle: Oracle, wide: Table, table: Table, site: Site) -> None:
    with site.holds.armed("file-written") as hold:
        run = site.run(site.care_for(table))
        hold.reached()
        uid = site.driver(run)["metadata"]["uid"]
        before = site.installation.pods()
        site.installation.upgrade(podAnnotations={"upgraded-by": run})
        assert site.installation.pods().isdisjoint(before)
        hold.release()

    assert succeeded(site, oracle, table, wide, run).attempts == 1
    assert {pod["metadata"]["uid"] for pod in drivers(site, run)} == {uid}


def drivers(site: Site, run: str) -> list[Object]:
    """All versions of the driver pods that a run has had."""
    return site.story.versions(PODS, f"{run}-lithify")
