"""Where the operator walks over many objects, one that is refused or cannot be read costs only itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from lithify.controller.api import Object
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.launching.kubernetes import KubernetesLauncher
from lithify.controller.launching.pod import PodSettings, driver_pod
from lithify.controller.observing.request import TableList
from lithify.controller.reconciling.catalogs import Catalogs, _Listing
from lithify.controller.reconciling.store import Store
from lithify.controller.reconciling.tables import Tables
from lithify.errors import AccountMissing, ClusterExists, ClusterRefused, NameTaken
from lithify.resources.catalog import Catalog, CatalogSpec, Discovery
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.names import POD, ObjectKey, ResourceKind
from lithify.resources.objects import Condition, Metadata
from lithify.resources.policy import CompactionPolicySpec
from support.launching.orders import KEY, order
from support.running.runs import NOON, run_of

SETTINGS = PodSettings(image="lithify:1")


@dataclass
class Server:
    """An `Api` that refuses what concerns one name."""

    refused: str = ""
    objects: dict[tuple[str, ObjectKey], Object] = field(default_factory=dict)
    deleted: list[tuple[str, str | None]] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    def put(self, kind: ResourceKind, body: Object) -> None:
        key = ObjectKey(body["metadata"]["namespace"], body["metadata"]["name"])
        self.objects[kind.name, key] = body

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        return self.objects.get((kind.name, key))

    async def list(self, kind: ResourceKind, namespace: str | None = None, labels: str = "") -> list[Object]:
        return [body for (name, _), body in self.objects.items() if name == kind.name]

    async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
        self._check(body["metadata"]["name"])
        self.made.append(body["metadata"]["name"])
        return body

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        return self.objects.get((kind.name, key))

    async def delete(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        self._check(key.name)
        self.deleted.append((key.name, uid))

    def _check(self, name: str) -> None:
        if name == self.refused:
            raise ClusterRefused("request", "forbidden")


class Noon:
    def now(self) -> datetime:
        return NOON

    def sleep(self, seconds: float) -> None:
        raise AssertionError


def launcher(api: Server) -> KubernetesLauncher:
    return KubernetesLauncher(api, SETTINGS, Noon())


def world(api: Server) -> Any:
    return SimpleNamespace(api=api, store=Store(), limits=OperatorLimits())


def finished(name: str) -> Compaction:
    said = Condition(
        type="Succeeded",
        status=Reason.COMPACTED.status,
        reason=Reason.COMPACTED.value,
        last_transition_time=NOON,
    )
    run = run_of(name, f"{name}-uid")
    return replace(run, status=replace(run.status, conditions=(said,), completion_time=NOON))


def test_a_compaction_that_may_not_be_deleted_keeps_no_other() -> None:
    api = Server(refused="b")
    policy = CompactionPolicySpec(ttl_seconds_after_finished=1)
    runs = [finished(name) for name in "abcz"]
    tidying = Tables(world(api))._tidy(runs, policy, NOON + timedelta(hours=1))
    with pytest.raises(ClusterRefused):
        asyncio.run(tidying)
    assert api.deleted == [("a", "a-uid"), ("c", "c-uid")]


def test_a_table_that_is_refused_keeps_no_other_from_being_discovered() -> None:
    api = Server(refused="db-bad")
    discovery = Discovery(include=("db.*",))
    found = Catalog(
        metadata=Metadata(name="lake", namespace="sales", uid="lake"),
        spec=CatalogSpec(warehouse="/w", discovery=discovery),
    )
    listing = _Listing(1, 0.0, TableList(("db.bad", "db.good"), 2))
    asyncio.run(Catalogs(world(api))._create(found, listing))
    assert api.made == ["db-good"]


def pod(uid: str, **metadata: Any) -> dict[str, Any]:
    made = driver_pod(order(), SETTINGS)
    return {**made, "metadata": {**made["metadata"], "uid": uid, "resourceVersion": "1", **metadata}}


ODD: list[Mapping[str, Any]] = [
    {"ownerReferences": ["what"]},
    {"ownerReferences": {}},
    {"labels": []},
    {"finalizers": "lithify.dev/result-recorded"},
    {"name": "another", "ownerReferences": [{"kind": "Compaction"}]},
]


def test_odd_pods_hide_no_driver() -> None:
    api = Server()
    for number, odd in enumerate(ODD):
        api.put(POD, pod(f"odd-{number}", **{"name": f"odd-{number}", **odd}))
    api.put(POD, pod("ours"))
    found = asyncio.run(launcher(api).all())
    assert (KEY, "ours") in found
    assert {key for key, _ in found} == {KEY}


def executor(name: str, uid: str, owner: str, labels: Mapping[str, str]) -> dict[str, Any]:
    owners = [{"kind": "Pod", "uid": owner}]
    metadata = {"name": name, "namespace": KEY.namespace, "uid": uid, "labels": dict(labels)}
    return {"metadata": {**metadata, "ownerReferences": owners}}


def test_an_executor_that_may_not_be_deleted_keeps_no_other() -> None:
    api = Server(refused="exec-1")
    api.put(POD, pod("ours"))
    for number in range(3):
        api.put(POD, executor(f"exec-{number}", f"uid-{number}", "ours", {}))
    with pytest.raises(ClusterRefused):
        asyncio.run(launcher(api).release(KEY, "ours", remove=False))
    assert api.deleted == [("exec-0", "uid-0"), ("exec-2", "uid-2")]


def test_nothing_of_somebody_elses_pod_is_changed() -> None:
    api = Server()
    api.put(POD, pod("theirs", ownerReferences=[]))
    drivers = launcher(api)
    assert asyncio.run(drivers.observe(KEY)) is None
    asyncio.run(drivers.release(KEY, "theirs", remove=False))
    assert api.deleted == []


def test_a_name_that_is_taken_is_told_of() -> None:
    class Full(Server):
        async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
            raise ClusterExists("create", "exists")

    api = Full()
    api.put(POD, pod("theirs", ownerReferences=[]))
    with pytest.raises(NameTaken) as caught:
        asyncio.run(launcher(api).start(order()))
    assert caught.value.request == f"start of {KEY}"


def test_a_service_account_that_is_missing_is_told_apart_from_other_refusals() -> None:
    class Strict(Server):
        problem = 'pods "p" is forbidden: error looking up service account lake/spark: not found'

        async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
            raise ClusterRefused("create Pod", self.problem)

    api = Strict()
    with pytest.raises(AccountMissing) as caught:
        asyncio.run(launcher(api).start(order()))
    asked = order()
    assert (caught.value.namespace, caught.value.account) == (
        asked.key.namespace,
        asked.spark.service_account_name,
    )
    api.problem = "exceeds something"
    with pytest.raises(ClusterRefused) as other:
        asyncio.run(launcher(api).start(order()))
    assert not isinstance(other.value, AccountMissing)
