"""Statuses of an older release in a real API server: they are read, and replaced by the next look.

Before there were parts for kinds of tables, figures of levels stood beside the others. Whether the new
definition is there before the new operator or not, nothing fails and nothing is written twice.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.cluster.client import ClusterClient
from lithify.controller.deciding.conditions import summary_of
from lithify.controller.reconciling.status import write_status
from lithify.resources.crd import definition_of, manifest
from lithify.resources.modelling import plain
from lithify.resources.names import LAKE_TABLE, ObjectKey, ResourceKind
from lithify.resources.reading import read_object
from lithify.resources.table import LakeTable
from support.observations import observation, with_levels

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio]
NO_LEVELS: dict[str, Any] = {"mergeTree": None}
FLAT = {"files": 7, "dueBytes": 9, "level0Files": 2, "sortedRuns": 3, "sortedRunsBucket": "bucket-0"}
SEEN = summary_of(with_levels(observation(files=8), level0Files=4, sortedRuns=5))


def table_kind(group: str) -> tuple[ResourceKind, dict[str, Any]]:
    """The definition of LakeTables in a group of its own."""
    kind = ResourceKind("StoredTable", "storedtables", group=group)
    made = manifest(definition_of(LAKE_TABLE))
    made["metadata"]["name"] = f"{kind.plural}.{group}"
    names = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": "storedtable",
    }
    made["spec"] |= {"group": group, "names": names}
    return kind, made


def flattened(definition: dict[str, Any]) -> dict[str, Any]:
    """The same with the figures of levels where they were."""
    made = deepcopy(definition)
    (version,) = made["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    fields = status["properties"]["observation"]["properties"]
    fields |= fields.pop("mergeTree")["properties"]
    for column in version["additionalPrinterColumns"]:
        column["jsonPath"] = column["jsonPath"].replace(".mergeTree", "")
    return made


async def read_table(api: ClusterClient, kind: ResourceKind, key: ObjectKey) -> LakeTable:
    """The table as the operator reads it."""
    body = await api.get(kind, key)
    assert body is not None
    found: LakeTable = read_object(LAKE_TABLE, body)
    return found


async def written(api: ClusterClient, kind: ResourceKind, table: LakeTable) -> LakeTable:
    """The table once what was seen now is written, as after a look."""
    found = await write_status(api, kind, table, replace(table.status, observation=SEEN))
    assert found is not None
    return found


async def until_pruned(api: ClusterClient, kind: ResourceKind, key: ObjectKey) -> None:
    """Returns when the API server goes by the new definition."""
    async with asyncio.timeout(60):
        while "level0Files" in ((await api.get(kind, key)) or {})["status"]["observation"]:
            await asyncio.sleep(0.1)


async def test_flat_figures_are_read_and_replaced(
    api: ClusterClient, namespace: str, kubectl: Kubectl
) -> None:
    kind, new = table_kind(f"{namespace}.example.com")
    key = ObjectKey(namespace, "orders")
    spec = {"identifier": "sales.orders", "catalogRef": {"name": "lake"}}
    kubectl.apply(flattened(new))
    try:
        kubectl.await_definition(new["metadata"]["name"])
        head = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": key.name}}
        await api.create(kind, namespace, {**head, "spec": spec})
        await api.patch(kind, key, {"status": {"observation": FLAT}}, subresource="status")
        found = await read_table(api, kind, key)
        assert found.status.observation is not None
        assert plain(found.status.observation).items() >= {"files": 7, "dueBytes": 9}.items()
        assert "mergeTree" not in plain(found.status.observation)

        under_old = await written(api, kind, found)
        assert under_old.status.observation == replace(SEEN, **NO_LEVELS)
        again = await written(api, kind, under_old)
        assert again.metadata.resource_version == under_old.metadata.resource_version, "nothing was changed"

        kubectl.apply(new)
        await until_pruned(api, kind, key)
        under_new = await written(api, kind, await read_table(api, kind, key))
        assert under_new.status.observation == SEEN
        body = await api.get(kind, key)
        assert body is not None
        stored = body["status"]["observation"]
        assert stored["mergeTree"] == plain(SEEN)["mergeTree"]
        assert not stored.keys() & {"level0Files", "sortedRuns", "sortedRunsBucket"}
        assert await written(api, kind, under_new) is under_new
    finally:
        kubectl("delete", "crd", new["metadata"]["name"], "--wait=false")
