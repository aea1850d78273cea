"""The store: the newest version of each object, and who refers to whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lithify.controller.reconciling.store import Store
from lithify.resources.compaction import Compaction, CompactionSpec
from lithify.resources.names import ObjectKey
from lithify.resources.objects import Metadata, Reference
from lithify.resources.table import LakeTable, LakeTableSpec


def metadata(name: str, version: str = "1", uid: str = "u1") -> Metadata:
    return Metadata(name=name, namespace="team", uid=uid, resource_version=version)


def table(name: str = "orders", policy: str = "default", **fields: str) -> LakeTable:
    spec = LakeTableSpec(
        catalog_ref=Reference(name="lake"), identifier="sales.orders", policy_ref=Reference(name=policy)
    )
    return LakeTable(metadata=metadata(name, **fields), spec=spec)


@pytest.mark.parametrize(
    ("version", "uid", "is_taken"),
    [
        pytest.param("5", "u1", False, id="the_same_again"),
        pytest.param("4", "u1", False, id="older_than_our_own_write"),
        pytest.param("10", "u1", True, id="newer_by_number_not_by_letters"),
        pytest.param("2", "u2", True, id="another_object_of_the_name"),
        pytest.param("x", "u1", True, id="versions_that_are_no_numbers_but_differ"),
    ],
)
def test_only_what_is_newer_is_taken_in(version: str, uid: str, is_taken: bool) -> None:
    store = Store()
    store.tables.put(table(version="5"))
    assert store.tables.put(table(version=version, uid=uid)) is is_taken


def test_users_of_an_object_are_found_and_follow_changes() -> None:
    store = Store()
    store.tables.put(table("a"))
    store.tables.put(table("b"))
    policy = ObjectKey("team", "default")
    assert {found.metadata.name for found in store.tables.using("policy", policy)} == {"a", "b"}
    store.tables.put(table("a", policy="other", version="2"))
    assert [found.metadata.name for found in store.tables.using("policy", policy)] == ["b"]
    store.tables.drop(ObjectKey("team", "b"))
    assert store.tables.using("policy", policy) == []
    assert store.tables.using("policy", ObjectKey("elsewhere", "other")) == []


def test_runs_belong_to_their_table() -> None:
    store = Store()
    store.tables.put(table())
    run = Compaction(metadata=metadata("run"), spec=CompactionSpec(table_ref=Reference(name="orders")))
    store.compactions.put(run)
    assert store.runs_of(ObjectKey("team", "orders")) == [run]
    assert store.table_of(run) == table()


def test_the_end_of_a_former_object_does_not_drop_its_successor() -> None:
    store = Store()
    store.tables.put(table(uid="u2"))
    assert not store.tables.drop(ObjectKey("team", "orders"), "u1")
    assert store.tables.get(ObjectKey("team", "orders")) is not None
    assert replace(table(uid="u2")) in list(store.tables)
