"""One node, one S3 server and one installed chart for all tests; each test has its own tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.node import Node
from infrastructure.iceberg.catalogs import S3_IO
from infrastructure.iceberg.fixtures import s3_properties
from infrastructure.iceberg.rest_server import RestCatalogServer
from infrastructure.images.build import build_archives
from infrastructure.objectstore.server import S3Server
from infrastructure.oracle.client import Oracle, Table
from node.installed.installation import HOME, Installation
from node.installed.lake import Lake, LakeCatalog
from node.installed.pods import holds_volume
from node.installed.site import Site
from support.operators.holds import Holds
from support.operators.server import OWN, PODS, Object, Server, Story, proxied
from support.tables import make_plain

LAKE, DOOMED = "lake", "doomed"
"""Namespaces that the operator looks after; the second one is deleted by a test."""
_HERE = Path(__file__).parent
_TIMEOUT = 600.0
_PATIENT = "--timeout=60s"
_NUMBERS = count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests need time; and one of them leaves nothing for others."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(_TIMEOUT))
    items.sort(key=lambda item: item.get_closest_marker("last") is not None)


@pytest.fixture(scope="session")
def wide(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Four sorted runs in each of three buckets, made by Java; its writers leave compaction to others."""
    folder = tmp_path_factory.mktemp("wide")
    return make_plain(oracle, folder, buckets=3, commits=3, keys=90, **{"write-only": "true"})


@pytest.fixture(scope="session")
def lake(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A bucket of an S3 server that pods can reach."""
    with S3Server(tmp_path_factory.mktemp("s3"), address=node.host_address) as server:
        server.create_bucket("lake")
        yield Lake(server, "lake")


@pytest.fixture(scope="session")
def installation(node: Node) -> Installation:
    """The chart, installed for two namespaces that enforce the restricted Pod Security Standard."""
    archives = build_archives()
    for name in ("operator.tar", "spark.tar"):
        node.import_image(archives / name)
    for name in (LAKE, DOOMED):
        node.kubectl.apply(_restricted(name))
    made = Installation(node.kubectl.within(HOME), _values(node))
    made.install()
    made.until_led()
    return made


def _restricted(namespace: str) -> Object:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}


def _values(node: Node) -> dict[str, object]:
    def image(name: str) -> dict[str, str]:
        return {"repository": f"localhost/lithify/{name}", "tag": "test"}

    return {
        "image": image("operator"),
        "spark": {"image": image("spark")},
        "watchNamespaces": [LAKE, DOOMED],
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
        "operator": {"leaseSeconds": 10, "extraArgs": [f"--allow-address={node.host_address}"]},
    }


@pytest.fixture(scope="session")
def port(node: Node) -> Iterator[int]:
    """Where `kubectl proxy` listens."""
    with proxied(Cluster(node.kubeconfig, node.kubectl)) as found:
        yield found


@pytest.fixture
def site(node: Node, installation: Installation, lake: Lake, port: int, tmp_path: Path) -> Iterator[Site]:
    """The namespace that the operator looks after, empty."""
    with site_in(LAKE, node, installation, lake, port, tmp_path) as made:
        yield made


@pytest.fixture
def doomed(node: Node, installation: Installation, lake: Lake, port: int, tmp_path: Path) -> Iterator[Site]:
    """A namespace that the operator looks after, for one test that deletes it."""
    with site_in(DOOMED, node, installation, lake, port, tmp_path) as made:
        yield made


@contextmanager
def site_in(
    namespace: str, node: Node, installation: Installation, lake: Lake, port: int, folder: Path
) -> Iterator[Site]:
    """A site with pipes of its own; what was applied there is gone after it, and so are all pods."""
    server, holds = Server(port, namespace), Holds(folder / "holds")
    kubectl = node.kubectl.within(namespace)
    volume, claim = holds_volume(namespace, holds.folder)
    kubectl.apply(lake.credentials(), volume)
    # One after the other: a claim that is seen before its volume is looked at again 15 s later only.
    kubectl("wait", "pv", volume["metadata"]["name"], "--for=jsonpath={.status.phase}=Available", _PATIENT)
    kubectl.apply(claim)
    kubectl("wait", "pvc", claim["metadata"]["name"], "--for=jsonpath={.status.phase}=Bound", _PATIENT)
    try:
        with Story(server, (*OWN, PODS)) as story:
            made = Site(
                kubectl=kubectl,
                server=server,
                story=story,
                holds=holds,
                suffix=str(next(_NUMBERS)),
                node=node,
                installation=installation,
                lake=lake,
            )
            yield made
            made.clear()
    finally:
        # What is on its way out must not be mistaken for the volume of the next test.
        kubectl("delete", "pvc", claim["metadata"]["name"], "--ignore-not-found", _PATIENT)
        kubectl("delete", "pv", volume["metadata"]["name"], "--ignore-not-found", _PATIENT)


@pytest.fixture
def lake_catalog(lake: Lake, node: Node, tmp_path: Path) -> Iterator[LakeCatalog]:
    """A REST catalog whose tables are in the lake."""
    given = {**S3_IO, **s3_properties(lake.server)}
    with RestCatalogServer(tmp_path / "rest", f"s3://{lake.bucket}/iceberg", given) as server:
        yield LakeCatalog(lake, server, node.host_address)
