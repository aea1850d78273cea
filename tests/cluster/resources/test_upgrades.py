"""Objects that were stored under earlier definitions are read and written under those of today."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from infrastructure.cluster.kubectl import Kubectl, KubectlFailed
from lithify.controller.reconciling.intake import Intake
from lithify.controller.reconciling.queue import Queue
from lithify.controller.reconciling.store import Store
from lithify.resources.crd import DEFINITIONS, manifest
from lithify.resources.modelling import plain
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, OWN_KINDS, POLICY, ResourceKind
from support.rule_cases import JDBC, REST, RUN, TABLE

pytestmark = pytest.mark.cluster

LEVELS = {
    "buckets": 3,
    "dueBuckets": 1,
    "level0Files": 9,
    "maxLevel0Files": 6,
    "maxLevel0Bucket": "dt=1/bucket-0",
    "sortedRuns": 7,
    "sortedRunsBucket": "dt=1/bucket-0",
    "sizeAmplificationPercent": 40,
}
SMALL_FILES = {
    "buckets": 2,
    "dueBuckets": 1,
    "maxSmallFiles": 8,
    "maxSmallFilesBucket": "dt=1",
    "deletedRows": 5,
}
SEEN = {"snapshotId": "42", "partitions": 2, "files": 12, "bytes": 9000, "smallFiles": 8, "dueBytes": 70}
EARLIER = Path(__file__).parent / "earlier_definitions.yaml"
STORED: list[tuple[ResourceKind, str, dict[str, Any], dict[str, Any]]] = [
    (CATALOG, "rest", {**REST, "format": "Paimon"}, {"tables": 1}),
    (CATALOG, "jdbc", dict(JDBC), {"tables": 0}),
    (
        POLICY,
        "nightly",
        {"triggers": {"append": {"smallFiles": 6}, "primaryKey": {"totalSizeBelow": "64Mi"}}},
        {"observedGeneration": 1},
    ),
    (LAKE_TABLE, "orders", dict(TABLE), {"observation": {**SEEN, "mergeTree": LEVELS}}),
    (LAKE_TABLE, "events", dict(TABLE), {"observation": {**SEEN, "append": SMALL_FILES}}),
    (COMPACTION, "first", dict(RUN), {"reason": "Compacted"}),
]
"""Objects as they were stored: kind, name, spec and status."""


@pytest.fixture
def group(namespace: str, kubectl: Kubectl) -> Iterator[str]:
    """An API group of the test, with the earlier definitions."""
    name = f"{namespace}.example.com"
    found = [within(name, each) for each in yaml.safe_load_all(EARLIER.read_text())]
    kubectl.apply(*found)
    for each in found:
        kubectl.await_definition(each["metadata"]["name"])
    yield name
    for each in found:
        kubectl("delete", "crd", each["metadata"]["name"], "--wait=false")


def within(group: str, definition: dict[str, Any]) -> dict[str, Any]:
    """A definition in another API group, so that it does not meet the cluster's own."""
    names = {**definition["spec"]["names"], "categories": [], "shortNames": []}
    plural = names["plural"]
    spec = {**definition["spec"], "group": group, "names": names}
    return {**definition, "metadata": {"name": f"{plural}.{group}"}, "spec": spec}


def body(group: str, kind: ResourceKind, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    version = f"{group}/{kind.version}"
    return {"apiVersion": version, "kind": kind.name, "metadata": {"name": name}, "spec": spec}


@pytest.mark.asyncio
async def test_stored_objects_outlive_an_upgrade_of_the_definitions(kubectl: Kubectl, group: str) -> None:
    collections = ",".join(f"{kind.plural}.{group}" for kind in OWN_KINDS)
    for kind, name, spec, status in STORED:
        kubectl.apply(body(group, kind, name, spec))
        set_status(kubectl, f"{kind.plural}.{group}", name, status)
    before = kubectl.get(collections)["items"]

    kubectl.apply(*(within(group, manifest(definition)) for definition in DEFINITIONS))
    await until_nested_names_are_taken(kubectl, group)

    after = kubectl.get(collections)["items"]
    assert [(item["spec"], item["status"]) for item in after] == [
        (with_new_defaults(item), item["status"]) for item in before
    ]
    store = read(after)
    assert store.unreadable == {}
    assert {(kind.name, name) for kind, name, *_ in STORED} == {
        (item["kind"], item["metadata"]["name"]) for item in after
    }
    assert figures_of(store, "orders") == {**SEEN, "groups": 0, "dueGroups": 0, "mergeTree": LEVELS}
    assert figures_of(store, "events") == {**SEEN, "groups": 0, "dueGroups": 0, "append": SMALL_FILES}
    for kind, name, _, status in STORED:
        kubectl("label", f"{kind.plural}.{group}", name, "upgraded=true")
        set_status(kubectl, f"{kind.plural}.{group}", name, {**status, "observedGeneration": 2})


def with_new_defaults(item: dict[str, Any]) -> dict[str, Any]:
    """A spec with what the API server adds to it.

    Policies have an empty block of each format's triggers, let tables ask for maintenance, and neither give
    way to writers nor try compactions on a copy; runs compact.
    """
    spec: dict[str, Any] = item["spec"]
    if item["kind"] == COMPACTION.name:
        return {**spec, "kind": "Compact"}
    if item["kind"] != POLICY.name:
        return spec
    kinds = ("expireSnapshots", "expirePartitions", "manageTags")
    asked = {kind: {"mode": "Automatic"} for kind in kinds}
    return {
        **spec,
        "triggers": {**spec["triggers"], "partitionFiles": {}, "changeStore": {}},
        "maintenance": asked,
        "canary": False,
        "yieldToWriters": False,
    }


def set_status(kubectl: Kubectl, plural: str, name: str, status: dict[str, Any]) -> None:
    patch = json.dumps({"status": status})
    kubectl("patch", plural, name, "--subresource=status", "--type=merge", "-p", patch)


async def until_nested_names_are_taken(kubectl: Kubectl, group: str) -> None:
    """Returns when the API server goes by today's definitions."""
    nested = body(group, LAKE_TABLE, "nested", {**TABLE, "identifier": "a.b.t"})
    async with asyncio.timeout(60):
        while True:
            try:
                kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(nested))
            except KubectlFailed:
                await asyncio.sleep(0.1)
            else:
                return


def figures_of(store: Store, name: str) -> dict[str, Any]:
    """What an operator knows of a table from its status, as it would write it again."""
    [table] = [table for table in store.tables if table.metadata.name == name]
    return plain(table.status.observation)


def read(listed: list[dict[str, Any]]) -> Store:
    """What an operator takes in."""
    by_name = {kind.name: kind for kind, *_ in STORED}
    store = Store()
    intake = Intake(store, Queue({}))
    for item in listed:
        intake.take(by_name[item["kind"]], item, gone=False)
    return store
