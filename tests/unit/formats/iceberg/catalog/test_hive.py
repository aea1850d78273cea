"""Commits through a Hive metastore, some of whose releases rely on locks alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lithify.errors import CatalogUnavailable
from lithify.formats.iceberg.catalog.hive import HiveTables
from lithify.formats.iceberg.catalog.names import TableName
from support.cases import case
from support.hive_metastore import Metastore, serving

NAME = TableName(("sales",), "orders")


@pytest.fixture(params=[case(False, id="locks alone"), case(True, id="locks and comparison")])
def metastore(request: pytest.FixtureRequest) -> Metastore:
    return Metastore(compares=request.param)


@pytest.fixture
def hive(metastore: Metastore) -> Iterator[HiveTables]:
    fast = {f"lock-check-{side}-wait-time": "0.001" for side in ("min", "max")}
    with serving(metastore) as uri:
        yield HiveTables(uri, {**fast, "lock-check-retries": "2"})


def swap(hive: HiveTables, is_wanted: Callable[[], bool] = lambda: True, name: TableName = NAME) -> bool:
    return hive.swap(name, hive.load(NAME), "v2", "", is_wanted)


def test_the_pointer_moves_and_the_lock_is_released(hive: HiveTables, metastore: Metastore) -> None:
    assert swap(hive)
    assert (metastore.location, metastore.locks) == ("v2", {})


def test_what_others_committed_before_the_lock_stays(hive: HiveTables, metastore: Metastore) -> None:
    base = hive.load(NAME)
    metastore.commit("of others")
    assert not hive.swap(NAME, base, "v2", "", lambda: True)
    assert (metastore.location, metastore.locks) == ("of others", {})


def test_what_is_not_wanted_any_more_is_not_sent(hive: HiveTables, metastore: Metastore) -> None:
    assert not swap(hive, lambda: False)
    assert (metastore.location, metastore.locks) == ("v1", {})


def test_a_lock_that_expired_does_not_let_a_commit_overwrite_that_of_others(
    hive: HiveTables, metastore: Metastore
) -> None:
    def stalls() -> bool:
        metastore.expire_locks()
        metastore.commit("of others")
        return True

    assert not swap(hive, stalls)
    assert metastore.location == "of others"


def test_a_lock_that_expired_is_no_lock_even_if_nobody_has_committed(
    hive: HiveTables, metastore: Metastore
) -> None:
    def stalls() -> bool:
        metastore.expire_locks()
        return True

    assert not swap(hive, stalls)
    assert metastore.location == "v1"


def test_others_are_waited_for_and_not_overwritten(hive: HiveTables, metastore: Metastore) -> None:
    metastore.locks[0] = ("sales", "orders")
    assert not swap(hive)
    assert (metastore.location, metastore.locks) == ("v1", {0: ("sales", "orders")})


def test_names_in_capitals_take_the_same_lock(hive: HiveTables, metastore: Metastore) -> None:
    metastore.locks[0] = ("sales", "orders")
    assert not swap(hive, name=TableName(("Sales",), "ORDERS"))
    assert metastore.location == "v1"


def test_a_metastore_that_is_gone_is_unavailable() -> None:
    with serving(Metastore()) as uri:
        hive = HiveTables(uri, {})
        base = hive.load(NAME)
    with pytest.raises(CatalogUnavailable):
        hive.swap(NAME, base, "v2", "", lambda: True)
