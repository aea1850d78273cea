"""Fixtures for tests that need a real API server; a test that uses one is marked `cluster` by itself."""

from __future__ import annotations

import gc
import os
import re
import secrets
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from infrastructure.cluster import supervisor
from infrastructure.cluster.binaries import built
from infrastructure.cluster.choice import chosen
from infrastructure.cluster.kubectl import Kubectl

CRDS = Path(__file__).resolve().parents[3] / "crds"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that the tests may use, with our CRDs in it."""

    kubeconfig: Path
    kubectl: Kubectl


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need the cluster, so that `-m "not cluster"` leaves them out."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One control plane for all workers of the session, or the cluster that the environment points at."""
    state = session_folder(tmp_path_factory, "cluster")
    given = chosen()
    if given is None:
        with supervisor.held(state, CRDS) as kubeconfig:
            yield Cluster(kubeconfig, Kubectl(built() / "kubectl", kubeconfig, state / "kubectl-cache"))
        return
    kubectl = Kubectl(_any_kubectl(), given, state / "kubectl-cache")
    kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
    kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", str(CRDS))
    yield Cluster(given, kubectl)


def _any_kubectl() -> Path:
    """Who has a cluster has kubectl, and need not build ours."""
    found = shutil.which("kubectl")
    return built() / "kubectl" if found is None else Path(found)


@contextmanager
def fresh_namespace(kubectl: Kubectl, test: str) -> Iterator[str]:
    """A namespace called after a test, in which pods can be created at once; it is deleted in the end."""
    words = re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-")
    name = f"{words[:40].strip('-')}-{secrets.token_hex(4)}"
    kubectl("create", "namespace", name)
    kubectl("-n", name, "wait", "--for=create", "--timeout=60s", "serviceaccount/default")
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


def session_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder that all workers of the session share."""
    base = factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh namespace, in which pods can be created at once; it is deleted after the test."""
    with fresh_namespace(cluster.kubectl, request.node.name) as name:
        yield name


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str) -> Kubectl:
    """kubectl in the test's namespace."""
    return cluster.kubectl.within(namespace)


@pytest.fixture(autouse=True)
def connections_end_with_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collects what a closed event loop has left half open, lest a later test is blamed for it.

    aiohttp closes TLS connections over some rounds of the loop, and kopf's loop has none left at its end.
    """
    yield
    if "cluster" in request.fixturenames:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
