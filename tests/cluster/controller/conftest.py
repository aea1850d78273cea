"""A client of the real API server, and waiting for conditions."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from infrastructure.cluster.fixtures import Cluster
from lithify.controller.cluster.client import ClusterClient, connect, load_configuration


@pytest_asyncio.fixture
async def api(cluster: Cluster) -> AsyncIterator[ClusterClient]:
    """A client that may do everything."""
    configuration = await load_configuration(str(cluster.kubeconfig), None)
    async with connect(configuration) as client:
        yield client
