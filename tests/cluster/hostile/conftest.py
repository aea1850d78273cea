"""Attacks by tenants, tables and catalogs, on the operator of `end_to_end` or on a real API server alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from cluster.hostile.tenants import tenants
from infrastructure.cluster.fixtures import Cluster
from lithify.controller.cluster.client import ClusterClient, connect, load_configuration
from support.operators.fixtures import alone, mark, plain, port, shared, stage

__all__ = ["alone", "plain", "port", "shared", "stage", "tenants"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those with an operator need everything, and time."""
    mark(items, Path(__file__).parent)


@pytest_asyncio.fixture
async def api(cluster: Cluster) -> AsyncIterator[ClusterClient]:
    """A client that may do everything."""
    configuration = await load_configuration(str(cluster.kubeconfig), None)
    async with connect(configuration) as client:
        yield client
