"""Tables that are written to for some minutes while a real operator compacts them.

API server, operator, Spark and Java's writers are real; drivers are processes of this machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from infrastructure.cluster import supervisor
from infrastructure.cluster.binaries import built
from infrastructure.cluster.fixtures import CRDS
from infrastructure.cluster.kubectl import Kubectl
from infrastructure.cluster.processes import free_ports
from infrastructure.oracle.client import Oracle, Table
from support.operators.objects import catalog, lake_table, policy
from support.operators.operating import RunningOperator, ended_after
from support.tables import PLAIN

NAMESPACE = "lake"
TABLES = ("sales.orders", "sales.returns", "crm.users", "web.clicks", "web.sessions", "iot.readings")
MISSING = "sales.archive"
"""A LakeTable of a table that nobody has made."""
_KEYS = 20_000
_ROWS = 3_000
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Scene:
    """An operator at work.

    Attributes:
        kubectl: in the namespace of the tables.
        port: where the operator shows its metrics.
        oracle: writes to the tables.
        tables: those that there are.
    """

    kubectl: Kubectl
    port: int
    oracle: Oracle
    tables: tuple[Table, ...]

    def write(self, seconds: float) -> None:
        """Writes to the tables for some time, to the first ones more often."""
        chance = random.Random(1)
        ends = monotonic() + seconds
        weights = [len(self.tables) - place for place in range(len(self.tables))]
        while monotonic() < ends:
            (table,) = chance.choices(self.tables, weights)
            first = chance.randrange(_KEYS - _ROWS)
            rows = [
                ["+I", key, f"{table.name}-{key}", chance.randrange(10**6)]
                for key in range(first, first + _ROWS)
            ]
            self.oracle.write(table, rows)
            sleep(chance.uniform(1.0, 4.0))

    def until_running(self) -> None:
        """Returns when a run is at work, or nothing comes of waiting for one."""
        ends = monotonic() + _PATIENCE
        while "Running" not in self.kubectl("get", "compactions") and monotonic() < ends:
            sleep(0.5)


@contextmanager
def prepared(folder: Path) -> Iterator[Scene]:
    """Starts everything; the operator's metrics have series of each table."""
    with ExitStack() as stack:
        kubeconfig = stack.enter_context(supervisor.held(folder / "cluster", CRDS))
        kubectl = Kubectl(built() / "kubectl", kubeconfig, folder / "kubectl-cache")
        kubectl("create", "namespace", NAMESPACE)
        oracle = stack.enter_context(Oracle.start())
        tables = tuple(Table(folder / "warehouse", name) for name in TABLES)
        for table in tables:
            oracle.create_table(
                table, PLAIN, primary_key=["id"], options={"bucket": "2", "write-only": "true"}
            )
        kubectl.within(NAMESPACE).apply(*_objects(folder / "warehouse"))
        (port,) = free_ports(1)
        operator = RunningOperator(
            kubeconfig=kubeconfig,
            namespace=NAMESPACE,
            state=folder / "state",
            log=folder / "operator.log",
            options=("--launcher", "process", "--listen", f"127.0.0.1:{port}", "--table-metrics"),
        )
        stack.enter_context(ended_after(operator))
        operator.restart()
        yield Scene(kubectl.within(NAMESPACE), port, oracle, tables)


def _objects(warehouse: Path) -> Iterator[dict[str, object]]:
    yield catalog("lakehouse", warehouse)
    yield policy("default", checkIntervalSeconds=2, limits={"activeRuns": 1})
    for name in (*TABLES, MISSING):
        yield lake_table(name.partition(".")[2], catalog="lakehouse", policy="default", identifier=name)
