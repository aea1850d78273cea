"""A control plane without anything of ours in it, on which the chart is installed by Helm itself."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chart.programs import helm
from chart.rendering import CHART, Object, Rendered, render
from cluster import supervisor
from cluster.binaries import built
from cluster.kubectl import Kubectl

TABLES = "lake"
WIDE, NARROW = "lithify-wide", "lithify-narrow"
VALUES = {
    # All namespaces, by a ClusterRole.
    WIDE: {"drivers": {"namespaces": [TABLES]}},
    # One namespace, by Roles; what is of the whole cluster is the other release's.
    NARROW: {
        "watchNamespaces": [TABLES],
        "fullnameOverride": "narrow",
        "rbac": {"secrets": "Named", "secretNames": ["credentials"], "aggregatedRoles": False},
        "drivers": {"serviceAccount": {"create": False}},
        "crds": {"install": False},
    },
}


@dataclass(frozen=True, slots=True)
class Installed:
    """A control plane with the chart in it."""

    kubectl: Kubectl
    folder: Path

    def helm(self, *arguments: str, values: Path | None = None) -> str:
        """Runs Helm on it."""
        given = () if values is None else ("--values", str(values))
        result = subprocess.run(
            [str(helm()), *arguments, *given, "--kubeconfig", str(self.kubectl.kubeconfig)],
            capture_output=True,
            text=True,
            check=False,
            env={"HOME": str(self.folder), "PATH": os.environ["PATH"]},
        )
        assert result.returncode == 0, f"helm {' '.join(arguments)}: {result.stderr}"
        return result.stdout

    def rendered(self, release: str) -> Rendered:
        """What was installed."""
        return render(VALUES[release], namespace=release)

    def container(self, release: str, kind: str = "Deployment") -> Object:
        """The container of the operator, or of the hook."""
        found: Object = self.rendered(release).one(kind)["spec"]["template"]["spec"]["containers"][0]
        return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests need a cluster, and time."""
    for item in items:
        if "installed" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="package")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Two releases of the chart: one for all namespaces, and one for a list of them."""
    folder = tmp_path_factory.mktemp("chart")
    with supervisor.held(folder / "cluster") as kubeconfig:
        kubectl = Kubectl(built() / "kubectl", kubeconfig, folder / "kubectl-cache")
        kubectl("create", "namespace", TABLES)
        found = Installed(kubectl, folder)
        for release, values in VALUES.items():
            path = folder / f"{release}.json"
            path.write_text(json.dumps(values), encoding="utf-8")
            found.helm(
                *("install", "lithify", str(CHART), "--create-namespace", "--namespace", release), values=path
            )
        kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        yield found
