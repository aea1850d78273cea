"""A control plane without anything of ours in it, on which the chart is installed by Helm itself."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infrastructure.chart.programs import helm
from infrastructure.chart.rendering import CHART, Object, Rendered, render
from infrastructure.cluster import supervisor
from infrastructure.cluster.binaries import built
from infrastructure.cluster.kubectl import Kubectl

TABLES = "lake"
WIDE, NARROW = "lithify-wide", "lithify-narrow"
EVERYBODY = {"operator": {"ownIdentity": [{"namespace": "*", "warehouse": "/"}]}}
"""Tables in local folders need the operator's own rights."""


def account_of(release: str, name: str) -> str:
    """The operator's account of a release, as the API server calls it."""
    return f"system:serviceaccount:{release}:{name}"


VALUES: Mapping[str, Mapping[str, Any]] = {
    # All namespaces, by a ClusterRole.
    WIDE: {
        **EVERYBODY,
        "drivers": {"namespaces": [TABLES]},
        "reservedLabels": {"alsoBy": [account_of(NARROW, "narrow-operator")]},
    },
    # One namespace, by Roles; what is of the whole cluster is the other release's.
    NARROW: {
        **EVERYBODY,
        "reservedLabels": {"alsoBy": [account_of(WIDE, "lithify-operator")]},
        "watchNamespaces": [TABLES],
        "fullnameOverride": "narrow",
        "rbac": {"secrets": "Named", "secretNames": ["credentials"], "aggregatedRoles": False},
        "drivers": {"serviceAccount": {"create": False}},
        "crds": {"install": False},
    },
}


@dataclass(frozen=True, slots=True)
class Installed:
    """A control plane with the chart in it; the values of each release, by its namespace."""

    kubectl: Kubectl
    folder: Path
    values: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def install(self, release: str, values: Mapping[str, Any]) -> None:
        """Installs a release into a namespace of this name; it may take definitions over from another one."""
        self.values[release] = values
        self.helm("install", release, str(CHART), "--create-namespace", "--take-ownership")

    def helm(self, action: str, release: str, *arguments: str) -> str:
        """Has Helm do something to a release, with its values."""
        values = self.folder / f"{release}.json"
        values.write_text(json.dumps(self.values[release]), encoding="utf-8")
        given = () if action == "uninstall" else ("--values", str(values))
        where = ("--namespace", release, "--kubeconfig", str(self.kubectl.kubeconfig))
        result = subprocess.run(
            [str(helm()), action, "lithify", *arguments, *given, *where],
            capture_output=True,
            text=True,
            check=False,
            env={"HOME": str(self.folder), "PATH": os.environ["PATH"]},
        )
        assert result.returncode == 0, f"helm {action} {release}: {result.stderr}"
        return result.stdout

    def rendered(self, release: str) -> Rendered:
        """What was installed."""
        return render(self.values[release], namespace=release)

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
        kubectl("-n", TABLES, "wait", "--for=create", "--timeout=60s", "serviceaccount/default")
        found = Installed(kubectl, folder)
        for release, values in VALUES.items():
            found.install(release, values)
        kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        yield found
