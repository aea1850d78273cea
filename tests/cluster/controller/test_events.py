"""kopf's events from a real API server: everything is told once it is seen, and nothing is written."""

from __future__ import annotations

import asyncio

import pytest

from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.api import Object
from lithify.controller.cluster.client import ClusterClient, load_configuration
from lithify.controller.cluster.events import watch
from lithify.resources.names import CATALOG, POD, ObjectKey, ResourceKind

POD_BODY = """
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {%s}}
spec: {containers: [{name: main, image: localhost/none}]}
"""


class Ear:
    """Hears events."""

    def __init__(self) -> None:
        self.heard: list[tuple[ResourceKind, Object, bool]] = []
        self._changed = asyncio.Event()

    def __call__(self, kind: ResourceKind, body: Object, gone: bool) -> None:
        self.heard.append((kind, body, gone))
        self._changed.set()

    async def until(self, kind: ResourceKind, name: str, *, gone: bool = False) -> Object:
        """Waits for an event."""
        async with asyncio.timeout(20):
            while True:
                for heard, body, was_gone in self.heard:
                    if heard == kind and body["metadata"]["name"] == name and was_gone is gone:
                        return body
                self._changed.clear()
                await self._changed.wait()


@pytest.mark.asyncio
async def test_objects_before_and_after_are_told_and_left_as_they_are(
    cluster: Cluster, kubectl: Kubectl, api: ClusterClient, namespace: str
) -> None:
    def body(name: str) -> Object:
        return {
            "apiVersion": CATALOG.api_version,
            "kind": "Catalog",
            "metadata": {"name": name},
            "spec": {"warehouse": "/w"},
        }

    before = await api.create(CATALOG, namespace, body("before"))
    ear, stop = Ear(), asyncio.Event()
    configuration = await load_configuration(str(cluster.kubeconfig), None)
    watching = asyncio.create_task(watch(configuration, [namespace], ear, stop))
    await ear.until(CATALOG, "before")
    await api.create(CATALOG, namespace, body("after"))
    await ear.until(CATALOG, "after")
    kubectl("apply", "-f", "-", stdin=POD_BODY % ("driver", "lithify.dev/compaction: run"))
    kubectl("apply", "-f", "-", stdin=POD_BODY % ("other", "app: other"))
    await ear.until(POD, "driver")
    await api.delete(CATALOG, ObjectKey(namespace, "after"))
    await ear.until(CATALOG, "after", gone=True)
    assert await api.get(CATALOG, ObjectKey(namespace, "before")) == before, "nobody wrote to it"
    assert not [name for kind, found, _ in ear.heard if (name := found["metadata"]["name"]) == "other"]
    stop.set()
    async with asyncio.timeout(20):
        await watching
