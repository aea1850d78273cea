"""Which catalogs have a lock that committers take, and which of these locks can be taken."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lithify.formats.paimon.catalog.locks import lock_refusals, lock_settings, needs_lock
from support.cases import case

JDBC = {"metastore": "jdbc", "uri": "jdbc:sqlite:/catalog.db"}
POSTGRESQL = {"metastore": "jdbc", "uri": "jdbc:postgresql://db/catalog"}
MYSQL = {"metastore": "jdbc", "uri": "jdbc:mysql://db/catalog"}


@pytest.mark.parametrize(
    ("options", "on_objects", "needed"),
    [
        case({}, False, False, id="filesystem"),
        case({}, True, False, id="filesystem on a store"),
        case({"lock.type": "zookeeper"}, True, True, id="filesystem on a store with a lock of others"),
        case({"lock.enabled": "true"}, False, True, id="filesystem, switched on"),
        case(JDBC, False, False, id="database"),
        case(JDBC, True, True, id="database and a store"),
        case({**JDBC, "lock.enabled": "TRUE"}, False, True, id="database, switched on"),
        case({**JDBC, "lock.enabled": "false"}, True, False, id="database and a store, switched off"),
    ],
)
def test_lock_is_needed_where_java_takes_one(
    options: Mapping[str, str], on_objects: bool, needed: bool
) -> None:
    assert needs_lock(options, on_objects=on_objects) is needed


@pytest.mark.parametrize(
    ("options", "option"),
    [
        case({"lock.enabled": "true"}, "lock.enabled", id="filesystem"),
        case({"metastore": "rest", "lock.enabled": "true"}, "lock.enabled", id="external table of a server"),
        case({**JDBC, "lock.type": "hive"}, "lock.type = hive", id="a lock of another catalog"),
        case(POSTGRESQL, "postgresql", id="PostgreSQL"),
        case(MYSQL, "mysql", id="MySQL"),
    ],
)
def test_lock_that_cannot_be_taken_is_refused_by_name(options: Mapping[str, str], option: str) -> None:
    refusals = list(lock_refusals(options, on_objects=True))
    assert [refusal for refusal in refusals if option in refusal] == refusals != []
    assert lock_settings("db.t", options, on_objects=True) is None


@pytest.mark.parametrize("options", [JDBC, {**JDBC, "lock.type": "jdbc"}, {}], ids=str)
def test_lock_that_can_be_taken_is_not_refused(options: Mapping[str, str]) -> None:
    assert list(lock_refusals(options, on_objects=True)) == []


@pytest.mark.parametrize(
    ("options", "name", "millis"),
    [
        case({}, "jdbc.db.t$branch_b", (480_000, 8_000), id="defaults of Java"),
        case({"catalog-key": "lake"}, "lake.db.t$branch_b", (480_000, 8_000), id="a key"),
        case({"lock-acquire-timeout": "2 min"}, "jdbc.db.t$branch_b", (120_000, 8_000), id="a timeout"),
        case({"lock-check-max-sleep": "500"}, "jdbc.db.t$branch_b", (480_000, 500), id="millis"),
    ],
)
def test_settings_are_those_of_java(options: Mapping[str, str], name: str, millis: tuple[int, int]) -> None:
    found = lock_settings("db.t$branch_b", {**JDBC, **options}, on_objects=True)
    assert found is not None
    assert (found.name, found.file) == (name, "/catalog.db")
    assert (found.timeout_millis, found.max_sleep_millis) == millis
