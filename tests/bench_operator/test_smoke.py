"""The benchmark works, and what it measures holds with few tables: no writes in vain, quick reactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_operator import objects, warehouse
from bench_operator.measuring import idle, run_reactions, settled, started, table_reactions
from bench_operator.process import OperatorProcess
from bench_operator.report import BEGIN, END, PAGE
from bench_operator.writes import Writes, written
from infrastructure.cluster.fixtures import Cluster
from lithify.controller.cluster.client import connect, load_configuration
from lithify.resources.names import POLICY, ObjectKey

TABLES, RUNS, OFTEN = 40, 8, 2
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


def test_the_page_has_a_place_for_the_figures() -> None:
    page = PAGE.read_text()
    assert page.index(BEGIN) < page.index(END)
