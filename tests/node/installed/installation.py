"""The chart as a user installs it: `helm install`, `upgrade`, `uninstall`, and the operator's pods."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from infrastructure.chart.programs import helm
from infrastructure.cluster.kubectl import Kubectl, KubectlFailed
from lithify.resources.names import LABEL_LOCK
from support.operators.server import PATIENCE, Object

CHART = Path(__file__).resolve().parents[3] / "charts" / "lithify"
HOME = "lithify"
"""Release and namespace."""
_POLL_SECONDS = 0.2
_SELECTOR = "app.kubernetes.io/component=operator"
_LEASE = "lithify-operator"


@dataclass
class Installation:
    """One release.

    Attributes:
        kubectl: kubectl in the release's namespace.
        values: of the chart.
    """

    kubectl: Kubectl
    values: dict[str, Any] = field(default_factory=dict)

    def install(self) -> str:
        """Installs it and returns when the operator is ready; what Helm has to say."""
        return self._helm("upgrade", HOME, str(CHART), "--install", "--create-namespace", *self._waiting())

    def upgrade(self, **values: Any) -> None:
        """Changes values, and returns when the new pods are ready and the old ones gone."""
        before = self.pods()
        self.values.update(values)
        self._helm("upgrade", HOME, str(CHART), *self._waiting())
        deadline = monotonic() + PATIENCE
        while before & self.pods():
            assert monotonic() < deadline, self.log()
            sleep(_POLL_SECONDS)
        self.until_led()

    def uninstall(self) -> None:
        """Removes it."""
        self._helm("uninstall", HOME, "--wait", f"--timeout={PATIENCE:g}s")

    def pods(self) -> set[str]:
        """The names of the operator's pods."""
        found = self.kubectl.get("pods", "-l", _SELECTOR)["items"]
        return {pod["metadata"]["name"] for pod in found}

    def leader(self) -> str | None:
        """The pod that leads."""
        holder: str = self._lease().get("holderIdentity") or ""
        return next((name for name in self.pods() if name in holder), None)

    def kill_leader(self) -> None:
        """Ends the pod that leads as a lost node would: at once, and without a word."""
        leader = self.leader()
        assert leader is not None, self._lease()
        self.kubectl("delete", "pod", leader, "--grace-period=0", "--force")

    def until_led(self) -> None:
        """Returns when a pod that is there leads, and has seen all objects."""
        deadline = monotonic() + PATIENCE
        while not self._is_led():
            assert monotonic() < deadline, (self._lease(), self.log())
            sleep(_POLL_SECONDS)

    def _is_led(self) -> bool:
        """Whether a pod leads and has seen all objects.

        A pod may lead before its kubelet has told the API server that it runs, and has no log until then.
        """
        leader = self.leader()
        try:
            return leader is not None and '"synced"' in self.kubectl("logs", leader)
        except KubectlFailed:
            return False

    def locks(self) -> list[Object]:
        """The Leases of tables, as they would be applied again."""
        found = self.kubectl.get("leases", "-l", f"{LABEL_LOCK}=true")["items"]
        kept = ("name", "labels", "annotations")
        for lease in found:
            lease["metadata"] = {name: lease["metadata"][name] for name in kept if name in lease["metadata"]}
        return found

    def log(self) -> str:
        """What the operator's pods have to say, for messages."""
        try:
            return self.kubectl("logs", "-l", _SELECTOR, "--tail=100", "--prefix")
        except KubectlFailed as problem:
            return str(problem)

    def _lease(self) -> Object:
        spec: Object = self.kubectl.get("lease", _LEASE).get("spec", {})
        return spec

    def _waiting(self) -> tuple[str, ...]:
        return ("--values", "-", "--wait", f"--timeout={PATIENCE:g}s")

    def _helm(self, *arguments: str) -> str:
        environment: Mapping[str, str] = {**os.environ, "KUBECONFIG": str(self.kubectl.kubeconfig)}
        found = subprocess.run(
            [str(helm()), f"--namespace={HOME}", *arguments],
            input=json.dumps(self.values),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, (found.stdout, found.stderr, self.log())
        return found.stdout
