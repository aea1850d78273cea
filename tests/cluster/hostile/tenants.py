"""Two namespaces that one operator looks after: a victim's and an attacker's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from infrastructure.cluster.fixtures import Cluster
from support.operators.driver_pods import LAUNCHER, namespace_of_drivers
from support.operators.objects import NO_RETRIES, QUIET, catalog, compaction, lake_table, policy, secret
from support.operators.server import COMPACTIONS, PODS, Server, Story
from support.operators.stage import Stage, stage_in

WAREHOUSE = "s3://lake/warehouse"
TABLE = "shop.orders"
KEYS = {"name": "keys", "options": {"s3.access-key": "access", "s3.secret-key": "secret"}}


@dataclass(frozen=True, slots=True)
class Tenants:
    """Two namespaces that one operator looks after, whose Leases are in the first one."""

    victim: Stage
    attacker: Stage
    pods: dict[str, Story]

    def run(self, stage: Stage, name: str = "run", warehouse: str = WAREHOUSE) -> None:
        """Has a tenant ask for a run of the table, with credentials that nobody has ever given out."""
        stage.kubectl.apply(
            secret("keys", access="wrong", secret="wrong"),
            catalog("lake", warehouse, secretRef=KEYS),
            policy("default", triggers=QUIET, retries=NO_RETRIES),
            lake_table("orders", catalog="lake", policy="default", identifier=TABLE),
            compaction(name, "orders"),
        )

    def has_pod(self, stage: Stage, name: str = "run") -> None:
        self.pods[stage.server.namespace].until(PODS, f"{name}-lithify", lambda _: True, seconds=60)


@pytest.fixture
def tenants(cluster: Cluster, port: int, tmp_path: Path) -> Iterator[Tenants]:
    with ExitStack() as stack:
        home, other = (namespace_of_drivers(stack, cluster, "tenant") for _ in range(2))
        victim = stage_in(stack, cluster, port, home, tmp_path)
        victim.operator.options = (*LAUNCHER, "--namespace", other)
        server = Server(port, other)
        story = stack.enter_context(Story(server))
        attacker = replace(victim, server=server, story=story, kubectl=cluster.kubectl.within(other))
        pods = {name: stack.enter_context(Story(Server(port, name), (PODS,))) for name in (home, other)}
        yield Tenants(victim, attacker, pods)
        for stage in (victim, attacker):
            stage.server.delete(COMPACTIONS)
            for pod in stage.server.list(PODS):
                stage.server.release(PODS, pod["metadata"]["name"])
