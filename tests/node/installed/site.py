"""What a test on the node stands on: the installed operator, a lake, and pods that can be held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infrastructure.cluster.node import Node
from infrastructure.oracle.client import Table
from node.installed.installation import Installation
from node.installed.lake import Lake
from node.installed.pods import spark
from support.operators.objects import QUIET
from support.operators.scene import Care, Scene, is_over
from support.operators.server import COMPACTIONS, OWN, PATIENCE, PODS, Object

_DRIVER = "-lithify"
EXECUTOR = ("app.kubernetes.io/component", "executor")


@dataclass(kw_only=True)
class Site(Scene):
    """A namespace that the installed operator looks after.

    Attributes:
        node: what it all runs on.
        installation: the chart, as it is installed.
        lake: where tables are.
    """

    node: Node
    installation: Installation
    lake: Lake

    def copied(self, model: Table, word: str = "orders") -> Table:
        """A copy of a table in a warehouse of its own in the lake."""
        return self.lake.copied(model, self.name(word))

    def care_for(
        self,
        table: Table,
        word: str = "orders",
        *,
        of: Mapping[str, Any] | None = None,
        under: Mapping[str, Any] | str | None = None,
        **spec: Any,
    ) -> Care:
        """Puts a table under care, with pods that can be held; see `Scene.care_for`."""
        if not isinstance(under, str):
            given = {"triggers": QUIET} if under is None else under
            under = {**given, "spark": spark(self.holds, **given.get("spark", {}))}
        found = {**self.lake.catalog_of(table), **(of or {})}
        return super().care_for(table, word, of=found, under=under, **spec)

    def driver(self, run: str) -> Object:
        """The driver's pod of a run, as soon as it is there."""
        return self.story.until(PODS, f"{run}{_DRIVER}", lambda _: True)

    def executors(self, run: str) -> list[Object]:
        """The executor pods of a run that are there and not on their way out."""
        driver = self.story.versions(PODS, f"{run}{_DRIVER}")[-1]["metadata"]["uid"]
        return [pod for pod in self.story.all(PODS) if _is_executor_of(pod, driver)]

    def until_executors(self, run: str, count: int) -> list[Object]:
        """The executor pods of a run, once that many run."""

        def running() -> list[Object]:
            return [pod for pod in self.executors(run) if pod["status"]["phase"] == "Running"]

        assert self.story.wait(lambda: len(running()) >= count, PATIENCE), self.executors(run)
        return running()

    def until_clean(self) -> None:
        """Returns when all runs are over, and nothing of them is left that uses the node or is held."""
        runs = self.story.wait(lambda: all(is_over(run) for run in self.story.all(COMPACTIONS)), PATIENCE)
        assert runs, [run["status"] for run in self.story.all(COMPACTIONS)]
        self.until_clean_of_pods()

    def until_clean_of_pods(self) -> None:
        """Returns when no pod uses the node, and none is held by a finalizer."""

        def is_clean() -> bool:
            pods = self.story.all(PODS)
            return not any(_is_at_work(pod) or pod["metadata"].get("finalizers") for pod in pods)

        assert self.story.wait(is_clean, PATIENCE), [pod["metadata"] for pod in self.story.all(PODS)]

    def clear(self) -> None:
        """Deletes everything that was applied, and returns when it is gone."""
        for kind in ("laketables", COMPACTIONS, *OWN):
            self.server.delete(kind)
        gone = self.story.wait(lambda: not any(self.story.all(kind) for kind in (*OWN, PODS)), PATIENCE)
        assert gone, [pod["metadata"] for pod in self.story.all(PODS)]


def _is_executor_of(pod: Object, driver: str) -> bool:
    name, value = EXECUTOR
    metadata = pod["metadata"]
    owners = [owner["uid"] for owner in metadata.get("ownerReferences", [])]
    is_there = metadata.get("deletionTimestamp") is None
    return metadata.get("labels", {}).get(name) == value and driver in owners and is_there


def _is_at_work(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
