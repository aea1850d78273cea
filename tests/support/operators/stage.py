"""What an end-to-end test stands on: an operator at work in a namespace as a process of this machine."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from infrastructure.cluster.fixtures import Cluster
from infrastructure.oracle.client import Table
from support.operators.holds import Holds
from support.operators.operating import RunningOperator, ended_after
from support.operators.scene import Scene
from support.operators.server import COMPACTIONS, OWN, PATIENCE, TABLES, Server, Story
from support.tables import copy_of


@dataclass(kw_only=True)
class Stage(Scene):
    """A scene whose operator is a process, and whose tables are in folders.

    Attributes:
        operator: who works in it.
        folder: for warehouses.
    """

    operator: RunningOperator
    folder: Path

    def copied(self, model: Table, word: str = "orders") -> Table:
        """A copy of a table in a warehouse of its own."""
        return copy_of(model, self.folder / word)

    def clear(self) -> None:
        """Deletes everything and returns when no driver is left."""
        self.operator.kill_drivers()
        for kind in (TABLES, COMPACTIONS, *OWN):
            self.server.delete(kind)
        self.operator.kill_drivers()
        assert self.story.wait(lambda: not any(self.story.all(kind) for kind in OWN), PATIENCE)


def stage_in(stack: ExitStack, cluster: Cluster, port: int, namespace: str, folder: Path) -> Stage:
    """A stage in a namespace that exists; its operator is not started, and ends with the stack."""
    server = Server(port, namespace)
    holds = Holds(folder / "holds")
    operator = RunningOperator(
        kubeconfig=cluster.kubeconfig,
        namespace=namespace,
        state=folder / "state",
        log=folder / "operator.log",
        faults=holds.faults,
    )
    story = stack.enter_context(Story(server))
    stack.enter_context(ended_after(operator))
    return Stage(
        kubectl=cluster.kubectl.within(namespace),
        server=server,
        story=story,
        holds=holds,
        operator=operator,
        folder=folder,
    )
