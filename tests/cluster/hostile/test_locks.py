"""Locks of tables: a tenant cannot hold up another one's table, and hears nothing of others."""

from __future__ import annotations

import json
import secrets

import pytest

from cluster.hostile.tenants import KEYS, TABLE, WAREHOUSE, Tenants
from lithify.controller.cluster.client import ClusterClient
from lithify.controller.cluster.table_lock import Holder, TableLocks, lock_name
from lithify.errors import ClusterRefused
from lithify.resources.catalog import CatalogSpec
from lithify.resources.compaction import Reason
from lithify.resources.names import LABEL_LOCK, LEASE, ObjectKey
from support.operators.objects import catalog, compaction, lake_table
from support.operators.scene import message
from support.operators.server import COMPACTIONS, EVENTS, LEASES, Object
from support.operators.stage import Stage


def words_of(stage: Stage) -> str:
    """Everything that a tenant can read of the operator's words."""
    said = [*stage.story.versions(COMPACTIONS, "run"), *stage.server.list(EVENTS)]
    return json.dumps(said)


def test_a_run_without_the_right_credentials_holds_up_no_other_namespace(tenants: Tenants) -> None:
    victim, attacker = tenants.victim, tenants.attacker
    victim.operator.restart()
    tenants.run(attacker)
    tenants.has_pod(attacker)
    leases = victim.server.list(LEASES)
    assert sum(LABEL_LOCK in lease["metadata"].get("labels", {}) for lease in leases) == 1

    tenants.run(victim)
    tenants.has_pod(victim)
    victim.stands("run", Reason.SUBMITTING)
    for one, other in ((victim, attacker), (attacker, victim)):
        assert other.server.namespace not in words_of(one)


def test_two_spellings_of_a_warehouse_in_a_namespace_are_one_table(tenants: Tenants) -> None:
    stage = tenants.victim
    stage.operator.restart()
    tenants.run(stage, "first")
    tenants.has_pod(stage, "first")
    stage.kubectl.apply(
        catalog("again", "s3a://lake//warehouse/", secretRef=KEYS),
        lake_table("again", catalog="again", policy="default", identifier=TABLE),
        compaction("second", "again"),
    )
    queued = stage.stands("second", Reason.QUEUED, "lock")
    assert f"{stage.server.namespace}/first" in message(queued)


def lease(name: str, holder: str, **labels: str) -> Object:
    metadata = {"name": name, "labels": labels}
    spec = {"holderIdentity": holder}
    return {"apiVersion": LEASE.api_version, "kind": LEASE.name, "metadata": metadata, "spec": spec}


def test_locks_of_runs_that_are_gone_are_swept_and_other_leases_stay(tenants: Tenants) -> None:
    stage = tenants.victim
    ours = {LABEL_LOCK: "true"}
    bare = lease("lithify-table-bare", "", **ours)
    del bare["spec"]
    stage.kubectl.apply(
        bare,
        lease("lithify-table-gone", f"{stage.server.namespace}/gone/uid", **ours),
        lease("lithify-table-far", f"no-such-{secrets.token_hex(4)}/gone/uid", **ours),
        lease("lithify-table-odd", "a//b", **ours),
        lease("lithify-table-absurd", "../x/y z/%2f", **ours),
        lease("lithify-table-others", f"{stage.server.namespace}/gone/uid"),
    )
    stage.operator.restart()
    left = {found["metadata"]["name"] for found in stage.server.list(LEASES)}
    assert not left & {"lithify-table-gone", "lithify-table-far"}
    assert left >= {"lithify-table-others", "lithify-table-bare", "lithify-table-odd"}


@pytest.mark.asyncio
async def test_a_lease_that_is_no_lock_is_neither_taken_nor_dropped(
    api: ClusterClient, namespace: str
) -> None:
    name = lock_name(namespace, CatalogSpec(warehouse=WAREHOUSE), TABLE)
    mine = Holder(ObjectKey(namespace, "run"), "uid")
    made = await api.create(LEASE, namespace, lease(name, str(mine)))
    locks = TableLocks(api, namespace)
    with pytest.raises(ClusterRefused):
        await locks.take(name, mine, after=None)
    with pytest.raises(ClusterRefused):
        await locks.holder(name)
    await locks.drop(name, mine)
    assert await locks.all() == []
    found = await api.get(LEASE, ObjectKey(namespace, name))
    assert found is not None
    assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


@pytest.mark.asyncio
async def test_who_gives_a_lock_up_late_does_not_give_up_that_of_its_successor(
    api: ClusterClient, namespace: str
) -> None:
    one, two = (Holder(ObjectKey(namespace, name), name) for name in ("one", "two"))
    locks = TableLocks(api, namespace)
    assert await locks.take("lock", one, after=None)
    seen = await api.get(LEASE, ObjectKey(namespace, "lock"))
    assert seen is not None
    assert await locks.take("lock", two, after=one)
    await api.delete(LEASE, ObjectKey(namespace, "lock"), uid=seen["metadata"]["uid"])
    assert await locks.holder("lock") == two
