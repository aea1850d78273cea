"""The lock of a table, over real Leases."""

from __future__ import annotations

import asyncio

import pytest

from lithify.controller.cluster.client import ClusterClient
from lithify.controller.cluster.table_lock import Holder, TableLocks, lock_name
from lithify.resources.catalog import CatalogSpec
from lithify.resources.names import ObjectKey


def holder(name: str) -> Holder:
    return Holder(ObjectKey("team", name), f"uid-of-{name}")


@pytest.mark.asyncio
async def test_one_of_many_takes_a_free_lock(api: ClusterClient, namespace: str) -> None:
    locks = TableLocks(api, namespace)
    takes = [locks.take("lock", holder(f"run-{number}"), after=None) for number in range(10)]
    taken = await asyncio.gather(*takes)
    assert sum(taken) == 1
    winner = holder(f"run-{taken.index(True)}")
    assert await locks.holder("lock") == winner
    assert await locks.take("lock", winner, after=None), "taking what one has changes nothing"


@pytest.mark.asyncio
async def test_it_passes_on_only_from_whom_the_taker_knows_to_be_over(
    api: ClusterClient, namespace: str
) -> None:
    locks = TableLocks(api, namespace)
    assert await locks.take("lock", holder("one"), after=None)
    assert not await locks.take("lock", holder("two"), after=None)
    assert not await locks.take("lock", holder("two"), after=holder("three"))
    assert await locks.take("lock", holder("two"), after=holder("one"))
    await locks.drop("lock", holder("one"))
    assert await locks.holder("lock") == holder("two")
    await locks.drop("lock", holder("two"))
    assert await locks.holder("lock") is None
    await locks.drop("lock", holder("two"))


def test_the_name_is_the_tables_whatever_its_catalog_is_called() -> None:
    plain = CatalogSpec(warehouse="s3://lake/warehouse")
    slashed = CatalogSpec(warehouse="s3://lake/warehouse/", timeout_seconds=5)
    assert lock_name(plain, "db.t") == lock_name(slashed, "db.t")
    names = {
        lock_name(plain, "db.t"),
        lock_name(plain, "db.u"),
        lock_name(CatalogSpec(warehouse="x"), "db.t"),
    }
    assert len(names) == 3
    assert all(len(name) <= 63 for name in names)
