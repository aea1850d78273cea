"""The lock of a table, over real Leases."""

from __future__ import annotations

import asyncio
from dataclasses import replace

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


SAME = [
    ["s3://lake/warehouse", "s3://lake/warehouse/", "s3a://lake/warehouse", "S3N://lake//warehouse//"],
    ["/warehouse", "file:/warehouse", "file:///warehouse/", "/warehouse/", "/./warehouse", "/x/../warehouse"],
    ["warehouse", "warehouse/"],
    ["oss://lake/warehouse", "OSS://lake//warehouse/"],
    ["gs://lake/warehouse", "GS://lake//warehouse/"],
    [
        "abfss://c@lake.dfs.core.windows.net/warehouse",
        "abfs://c@lake.dfs.core.windows.net/warehouse/",
        "wasbs://c@lake.blob.core.windows.net//warehouse",
    ],
]


def test_the_name_is_the_tables_whatever_its_catalog_is_called() -> None:
    names = [
        {lock_name("team", CatalogSpec(warehouse=one, timeout_seconds=number), "db.t") for number, one in few}
        for few in ([*enumerate(spellings, 1)] for spellings in SAME)
    ]
    assert [len(few) for few in names] == [1] * len(SAME)
    found = CatalogSpec(warehouse="lake", uri="https://catalog/")
    others = {
        lock_name("team", CatalogSpec(warehouse="lake"), "db.t"),
        lock_name("team", CatalogSpec(warehouse="lake"), "db.u"),
        lock_name("team", CatalogSpec(warehouse="lake"), "db.t$branch_b"),
        lock_name("another", CatalogSpec(warehouse="lake"), "db.t"),
        lock_name("team", found, "db.t"),
    }
    assert len(others.union(*names)) == 5 + len(SAME)
    assert lock_name("team", found, "db.t") == lock_name(
        "team", replace(found, uri="https://catalog"), "db.t$branch_main"
    )
    assert all(len(name) <= 63 for name in others)
