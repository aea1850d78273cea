"""What a node would do with the driver's pod of a Compaction: the API server of these tests has none."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from infrastructure.cluster.fixtures import Cluster
from lithify.contract.outcome import Outcome, Progress, write_outcome, write_progress
from lithify.contract.outcome import Stage as DriverStage
from lithify.resources.compaction import Reason
from lithify.resources.names import ANNOTATION_PROGRESS
from support.operators.server import PATIENCE, PODS, Object, Refused, Story
from support.operators.stage import Stage

STARTED = "2026-05-04T11:00:00Z"
ENDED = "2026-05-04T11:01:00Z"


@contextmanager
def node(cluster: Cluster) -> Iterator[str]:
    """A node that nobody is scheduled to: without one, what is bound to it is collected after a while."""
    name = f"lithify-{secrets.token_hex(4)}"
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"unschedulable": True}}
    cluster.kubectl.apply(body)
    try:
        yield name
    finally:
        cluster.kubectl("delete", "node", name, "--wait=false")


@dataclass(frozen=True, slots=True)
class Kubelet:
    """The kubelet of one pod."""

    stage: Stage
    pods: Story
    run: str
    node: str

    @property
    def pod(self) -> str:
        """The pod's name."""
        return f"{self.run}-lithify"

    def takes(self) -> Object:
        """Waits for the pod, and binds it to its node."""
        found = self.pods.until(PODS, self.pod, lambda _: True, seconds=PATIENCE)
        target = {"apiVersion": "v1", "kind": "Node", "name": self.node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": self.pod}, "target": target}
        self.stage.server.post(PODS, self.pod, "binding", body)
        return found

    def runs(self, stage: DriverStage = DriverStage.RUNNING, **progress: Any) -> None:
        """The driver runs and tells how far it is."""
        self._reports("Running", running={"startedAt": STARTED})
        note = {ANNOTATION_PROGRESS: write_progress(Progress(stage=stage, total=1, **progress))}
        self.stage.server.patch(PODS, self.pod, {"metadata": {"annotations": note}})

    def wants_executor(self) -> Object:
        """Spark makes a pod for an executor, which is larger than any node."""
        driver = self.stage.server.get(PODS, self.pod)
        app = driver["metadata"]["labels"]["spark-app-selector"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": self.pod, "uid": driver["metadata"]["uid"]}
        metadata = {
            "name": f"{self.run}-exec-1",
            "labels": {"spark-app-selector": app, "spark-role": "executor"},
            "ownerReferences": [{**owner, "controller": True}],
        }
        container = {"name": "executor", "image": "lithify:test", "resources": {"requests": {"cpu": "9999"}}}
        spec = {"containers": [container], "serviceAccountName": "lithify-driver"}
        return self.stage.server.create(PODS, {"metadata": metadata, "spec": spec})

    def waits(self, reason: str, message: str) -> None:
        """The container cannot be started."""
        self._reports("Pending", waiting={"reason": reason, "message": message})

    def ends(self, code: int, message: str = "", reason: str = "Error") -> None:
        """The container has ended."""
        ended = {"exitCode": code, "reason": reason, "message": message}
        times = {"startedAt": STARTED, "finishedAt": ENDED}
        self._reports("Failed" if code else "Succeeded", terminated={**ended, **times})

    def ends_when_told(self) -> None:
        """The pod is deleted, so what there is of the container ends."""
        self.pods.until(PODS, self.pod, lambda found: "deletionTimestamp" in found["metadata"])
        self.ends(137, reason="ContainerStatusUnknown")

    def ends_with(self, reason: Reason, uid: str, **fields: Any) -> None:
        """The driver has ended, and left an outcome."""
        self.ends(0, write_outcome(Outcome(run=uid, attempt=1, reason=reason, **fields)), "Completed")

    def is_lost(self) -> None:
        """Nobody hears of the node."""
        self.stage.server.patch(PODS, self.pod, {"status": {"phase": "Unknown"}}, sub="/status")

    def until_let_go(self) -> None:
        """Returns when the operator holds the pod no longer; then it may be gone at once."""

        def is_free() -> bool:
            found = self.pods.now(PODS, self.pod)
            return found is None or not found["metadata"].get("finalizers")

        assert self.pods.wait(is_free, PATIENCE)

    def removes(self) -> None:
        """The pod is deleted, has ended, and is held by nobody: it goes."""
        self.until_let_go()
        self.stage.server.delete(PODS, self.pod, grace=0)

    def is_gone(self) -> bool:
        """Whether there is no such pod."""
        try:
            self.stage.server.get(PODS, self.pod)
        except Refused as problem:
            return problem.status == 404
        return False

    def _reports(self, phase: str, **state: Any) -> None:
        container = {"name": "lithify", "state": state, "ready": phase == "Running"}
        container |= {"restartCount": 0, "image": "lithify:test", "imageID": ""}
        status = {"status": {"phase": phase, "containerStatuses": [container]}}
        self.stage.server.patch(PODS, self.pod, status, sub="/status")
