"""The programs of the test cluster: built once per machine from the Go module proxy, and cached.

Used by the control plane, the node and `make cluster`. See `infrastructure.building.go_programs`.
"""

from __future__ import annotations

import re
from pathlib import Path

from infrastructure.building import go_programs
from infrastructure.building.go_programs import GoPrograms
from infrastructure.building.once import NotBuilt

__all__ = ["PROGRAMS", "NotBuilt", "build", "built", "cache_home", "folder"]

SOURCES = Path(__file__).resolve().parent / "go"
KUBE_PROGRAMS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)


def cache_home() -> Path:
    """Where the test cluster keeps what outlives a session."""
    return go_programs.cache_home("cluster")


def folder() -> Path:
    """Where the programs are, or will be."""
    return PROGRAMS.folder()


def built() -> Path:
    """The folder with the programs.

    Raises:
        NotBuilt: they are not there; a test must not build them, because that takes longer than a test may.
    """
    return PROGRAMS.built()


def build() -> Path:
    """Builds the programs unless they are there, and returns their folder.

    Raises:
        RuntimeError: Go is missing, or the build failed.
    """
    return PROGRAMS.build()


def _linker_flags() -> str:
    """Leaves symbols out, and tells the programs their version, which they take from nowhere else."""
    found = re.search(r"k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)", (SOURCES / "go.mod").read_text())
    if found is None:
        raise RuntimeError(f"{SOURCES / 'go.mod'} does not say which Kubernetes to build")
    major, minor, patch = found.groups()
    values = {
        "gitVersion": f"v{major}.{minor}.{patch}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    settings = (f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())
    return " ".join(("-s", "-w", *settings))


PROGRAMS = GoPrograms(
    name="cluster",
    sources=SOURCES,
    packages=("./kube", "./etcd", "./coredns", "./pause"),
    target="cluster",
    takes="about 7 minutes",
    linker_flags=_linker_flags,
    links=dict.fromkeys(KUBE_PROGRAMS, "kube"),
)
