"""The benchmark works, and what it measures holds with few tables: no writes in vain, quick reactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.cluster.fixtures import Cluster
from lithify.controller.cluster.client import connect, load_configuration
from lithify.resources.names import CATALOG, POLICY, ObjectKey
from many_tables import objects, warehouse
from many_tables.dead import NAME, dead_tables
from many_tables.first_start import first_start
from many_tables.measuring import (
    Reaction,
    change_interval,
    commit_reactions,
    idle,
    run_reactions,
    settled,
    started,
    table_reactions,
)
from many_tables.process import OperatorProcess
from many_tables.report import BEGIN, COMMITS_BEGIN, COMMITS_END, END, PAGE, Commits, commits_text
from many_tables.watching import watched
from many_tables.writes import Writes, written

TABLES, RUNS, OFTEN = 40, 8, 2
DEAD, COMMITS = 8, 10
START_SECONDS = 120.0
"""Generous, for machines that do much else."""
NOTHING = Writes(told=0, served=None, changed=0)


@pytest.mark.asyncio
async def test_a_restart_and_looks_write_nothing_and_changes_are_seen_soon(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    identifiers = warehouse.make(tmp_path / "warehouse", TABLES)
    configuration = await load_configuration(str(cluster.kubeconfig), None)
    async with connect(configuration) as api:
        tables = await objects.create_all(api, namespace, tmp_path / "warehouse", identifiers, RUNS)
        spec = {"spec": {"checkIntervalSeconds": OFTEN}}
        await api.patch(POLICY, ObjectKey(namespace, objects.POLICY_NAME), spec)
        with OperatorProcess(cluster.kubeconfig, tmp_path / "state", namespace, only=True) as operator:
            await started(operator, TABLES, START_SECONDS)
            await settled(api, namespace, START_SECONDS)
            before = await written(operator, api, namespace)
        with OperatorProcess(cluster.kubeconfig, tmp_path / "state", namespace, only=True) as operator:
            await started(operator, TABLES, START_SECONDS)
            watched = await idle(operator, api, namespace, OFTEN, 2.5 * OFTEN, None)
            after = await written(operator, api, namespace)
            assert after.since(before, by_another=True) == NOTHING
            assert watched.writes == NOTHING
            assert watched.looks * watched.seconds >= TABLES, "they were looked at meanwhile"
            assert (await table_reactions(api, namespace, tables, 10)).p99 < 2.0
            assert (await run_reactions(api, namespace, tables, 10)).p99 < 2.0


@pytest.mark.asyncio
async def test_commits_are_seen_beside_tables_of_a_dead_catalog(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    where = tmp_path / "warehouse"
    identifiers = warehouse.make(where, TABLES)
    configuration = await load_configuration(str(cluster.kubeconfig), None)
    async with connect(configuration) as api:
        await objects.create_all(api, namespace, where, identifiers, 0)
        await change_interval(api, namespace, OFTEN)
        with OperatorProcess(cluster.kubeconfig, tmp_path / "state", namespace, only=True) as operator:
            await started(operator, TABLES, START_SECONDS)
            async with (
                watched(cluster.kubectl, namespace, TABLES) as snapshots,
                dead_tables(api, namespace, DEAD),
            ):
                seen = await commit_reactions(snapshots, where, identifiers[-COMMITS:], OFTEN)
                status = await api.get(CATALOG, ObjectKey(namespace, NAME))
    assert len(seen.samples) == COMMITS
    assert status is not None
    last = {snapshots.seen[objects.name_of(each)] for each in identifiers[-COMMITS:]}
    assert last == {str(warehouse.SNAPSHOT + 1)}


@pytest.mark.asyncio
async def test_first_start_writes_each_new_table_twice(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    warehouse.make(tmp_path / "warehouse", DEAD)
    configuration = await load_configuration(str(cluster.kubeconfig), None)
    async with connect(configuration) as api:
        kubectl = cluster.kubectl
        found = await first_start(kubectl, api, namespace, tmp_path, DEAD, 1, START_SECONDS)
    assert 2 * DEAD <= found.table_writes <= 2 * DEAD + 1, "one creates it, one has what was observed"
    assert found.first <= found.last


def test_a_miss_is_told() -> None:
    fast, slow = Reaction([1.0, 2.0, 3.0]), Reaction([1.0, 2.0, 300.0])
    kept, missed = (Commits(1000, 40, 60, fast, beside) for beside in (fast, slow))
    assert (kept.is_met, missed.is_met) == (True, False)
    assert "MISSED" in commits_text(missed)
    assert "MISSED" not in commits_text(kept)


def test_the_page_has_a_place_for_the_figures() -> None:
    page = PAGE.read_text()
    assert page.index(BEGIN) < page.index(END)
    assert page.index(COMMITS_BEGIN) < page.index(COMMITS_END)
