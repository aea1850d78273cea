"""Helm, built from the Go module proxy; and `judge`, which asks the libraries of others about our files.

Used by `make helm` and by everything that renders or installs the chart. How building works is in
`infrastructure.building.go_programs`.
"""

from __future__ import annotations

import re
from pathlib import Path

from infrastructure.building.go_programs import GoPrograms

_HERE = Path(__file__).resolve().parent


def _linker_flags() -> str:
    """Leaves symbols out, and tells Helm its version and Kubernetes', which it takes from nowhere else."""
    versions = (_HERE / "go" / "go.mod").read_text()
    helm = re.search(r"helm\.sh/helm/v3 (v[0-9.]+)", versions)
    kubernetes = re.search(r"k8s\.io/client-go v0\.([0-9]+)\.", versions)
    if helm is None or kubernetes is None:
        raise RuntimeError(f"{_HERE / 'go' / 'go.mod'} does not say which Helm to build")
    values = {"internal/version.version": helm.group(1)}
    for package in ("pkg/chartutil", "pkg/lint/rules"):
        values |= {f"{package}.k8sVersionMajor": "1", f"{package}.k8sVersionMinor": kubernetes.group(1)}
    settings = (f"-X helm.sh/helm/v3/{name}={value}" for name, value in values.items())
    return " ".join(("-s", "-w", *settings))


HELM = GoPrograms(
    name="helm",
    sources=_HERE / "go",
    packages=("helm.sh/helm/v3/cmd/helm",),
    target="helm",
    takes="about 2 minutes",
    linker_flags=_linker_flags,
)
JUDGE = GoPrograms(
    name="judge", sources=_HERE / "judge", packages=(".",), target="helm", takes="about a minute"
)


def helm() -> Path:
    """The program.

    Raises:
        NotBuilt: it is not there yet.
    """
    return HELM.built() / "helm"


def judge() -> Path:
    """The program.

    Raises:
        NotBuilt: it is not there yet.
    """
    return JUDGE.built() / "judge"
