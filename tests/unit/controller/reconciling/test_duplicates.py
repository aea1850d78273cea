"""Which of several LakeTables of one table is the oldest, and who is looked at again when that changes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from lithify.controller.reconciling.duplicates import older_duplicate
from lithify.controller.reconciling.intake import Intake
from lithify.controller.reconciling.queue import Item, Queue
from lithify.controller.reconciling.store import Store
from lithify.resources.catalog import Catalog
from lithify.resources.modelling import plain, read
from lithify.resources.names import LAKE_TABLE, ObjectKey
from lithify.resources.table import LakeTable
from support.cases import case

S3 = {"warehouse": "s3://lake/w"}


def catalog(name: str, **spec: Any) -> Catalog:
    return read(Catalog, {"metadata": {"name": name, "namespace": "lake", "uid": name}, "spec": spec})


def table(name: str, day: int, *, of: str = "one", identifier: str = "db.t", to: str = "lake") -> LakeTable:
    created = datetime(2026, 1, day, tzinfo=UTC)
    return read(
        LakeTable,
        {
            "metadata": {"name": name, "namespace": to, "uid": name, "creationTimestamp": created},
            "spec": {"catalogRef": {"name": of}, "identifier": identifier},
        },
    )


def stored(*objects: Catalog | LakeTable) -> Store:
    store = Store()
    for each in objects:
        if isinstance(each, Catalog):
            store.catalogs.put(each)
        else:
            store.tables.put(each)
    return store


OLD = table("old", 1)


@pytest.mark.parametrize(
    "young",
    [
        case(table("young", 2), id="of the same Catalog"),
        case(table("young", 2, of="same"), id="of another Catalog of the warehouse"),
        case(table("young", 2, of="spelled"), id="of one that is spelled otherwise"),
        case(table("young", 2, identifier="db.t$branch_main"), id="the main branch by its name"),
        case(table("young", 1), id="of the same second, with a later name"),
    ],
)
def test_the_younger_one_is_the_duplicate(young: LakeTable) -> None:
    store = stored(
        catalog("one", **S3),
        catalog("same", **S3),
        catalog("spelled", warehouse="s3a://lake//w/"),
        OLD,
        young,
    )
    assert (older_duplicate(store, young), older_duplicate(store, OLD)) == ("old", None)
    store.tables.drop(OLD.metadata.key)
    assert older_duplicate(store, young) is None


ENDPOINT = {"s3.endpoint": "http://minio"}


@pytest.mark.parametrize(
    "young",
    [
        case(table("young", 2, identifier="db.u"), id="another table"),
        case(table("young", 2, identifier="db.t$branch_b"), id="a branch"),
        case(table("young", 2, to="other"), id="another namespace"),
        case(table("young", 2, of="other"), id="another warehouse"),
        case(table("young", 2, of="endpoint"), id="a bucket of the same name at another endpoint"),
        case(table("young", 2, of="hidden"), id="an endpoint that a Secret names"),
        case(table("young", 2, of="nobody"), id="a Catalog that is missing"),
    ],
)
def test_other_tables_are_no_duplicates(young: LakeTable) -> None:
    hidden = {"name": "s", "options": {"s3.endpoint": "e"}}
    store = stored(
        catalog("one", **S3),
        catalog("other", warehouse="s3://lake/x"),
        catalog("endpoint", **S3, options=ENDPOINT),
        catalog("hidden", **S3, secretRef=hidden),
        OLD,
        young,
    )
    assert older_duplicate(store, young) is None


def test_the_oldest_of_several_is_named() -> None:
    store = stored(catalog("one", **S3), table("b", 2), table("c", 3), OLD)
    assert [older_duplicate(store, one) for one in store.tables] == ["old", "old", None]


def test_the_younger_one_is_looked_at_when_the_older_one_goes() -> None:
    queue = Queue({})
    intake = Intake(stored(catalog("one", **S3)), queue)
    for number, each in enumerate([OLD, table("young", 2)], 1):
        body = plain(each)
        body["metadata"]["resourceVersion"] = str(number)
        intake.take(LAKE_TABLE, body, gone=False)
    queue._due.clear()
    intake.take(LAKE_TABLE, plain(OLD), gone=True)
    assert Item(LAKE_TABLE.name, ObjectKey("lake", "young")) in queue._due
