"""JDBC catalogs on a store: Java's committers take the lock there by default, and so do ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import (
    Answered,
    Asked,
    Forward,
    S3Proxy,
    Step,
    lose_answer,
    lose_request,
)
from infrastructure.objectstore.tables import run
from infrastructure.oracle.client import Oracle, OracleError, Table
from support.cases import case
from support.catalog_locks import jdbc_catalog, locks, step_while_waiting, with_lock
from support.crashes import SETTLED
from support.tables import append, copy_of, journals, make_plain, put_over, stray_files

pytestmark = pytest.mark.oracle


@pytest.fixture
def catalog(tmp_path: Path) -> dict[str, str]:
    """A catalog whose options say nothing of locks."""
    return jdbc_catalog(tmp_path / "catalog.db")


@pytest.fixture
def table(oracle: Oracle, s3: Bucket, catalog: Mapping[str, str]) -> Table:
    """A table in the server's folder, which Java does not know to be a store."""
    return make_plain(oracle, s3.folder / "lake", commits=2, catalog=with_lock(catalog))


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[S3Proxy]:
    with S3Proxy(s3.server) as started:
        yield started


def kinds(oracle: Oracle, table: Table) -> list[str]:
    return [snapshot["commitKind"] for snapshot in oracle.snapshots(table)]


def first(step: Callable[[], object]) -> Step:
    """Others take a step before a request goes on to the server."""

    def then_forward(asked: Asked, forward: Forward) -> Answered | None:
        del asked
        step()
        return forward()

    return then_forward


def test_lock_is_taken_by_default_and_kept_until_the_store_has_answered(
    oracle: Oracle, s3: Bucket, table: Table, catalog: Mapping[str, str], proxy: S3Proxy
) -> None:
    rows, impatient = (
        oracle.read(table),
        Table(table.warehouse, table.name, catalog=with_lock(catalog, "300 ms")),
    )
    seen: list[tuple[str, int]] = []

    def try_to_lock() -> None:
        seen.extend(locks(catalog))
        with pytest.raises(OracleError, match="Acquire lock failed"):
            oracle.lock(impatient)

    proxy.steps = [first(try_to_lock)]

    assert run(s3, proxy.endpoint, options=catalog).status == "Compacted"

    assert seen == [("jdbc.db.t", 480)]
    assert locks(catalog) == []
    assert oracle.read(table) == rows


def test_lock_is_not_taken_if_the_catalog_says_so(
    oracle: Oracle, s3: Bucket, table: Table, catalog: Mapping[str, str]
) -> None:
    token = oracle.lock(table)

    assert run(s3, options={**catalog, "lock.enabled": "false"}).status == "Compacted"

    oracle.unlock(token)


@pytest.mark.parametrize(
    "step", [case(lose_answer, id="the answer is lost"), case(lose_request, id="the request is lost")]
)
def test_what_became_of_an_unanswered_put_is_read_under_the_lock(
    oracle: Oracle,
    s3: Bucket,
    table: Table,
    catalog: Mapping[str, str],
    proxy: S3Proxy,
    step: Step,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Java has the lock before we read the place, so we wait until it has released it."""
    before, rows, tokens = kinds(oracle, table), oracle.read(table), []

    def outlast(asked: Asked, forward: Forward) -> Answered | None:
        tokens.append(oracle.lock(table))  # ours is too old after a second
        return step(asked, forward)

    proxy.steps = [outlast]
    pauses = step_while_waiting(monkeypatch, lambda: oracle.unlock(tokens[0]))

    report = run(s3, proxy.endpoint, options=with_lock(catalog, "1 s"))

    assert (report.status, report.commit_tries) == ("Compacted", 1)
    assert pauses
    assert kinds(oracle, table) == [*before, "COMPACT"]
    assert oracle.read(table) == rows
    assert locks(catalog) == []


def test_java_that_renames_over_our_snapshot_when_our_lock_was_too_old_is_noticed(
    oracle: Oracle,
    s3: Bucket,
    table: Table,
    catalog: Mapping[str, str],
    proxy: S3Proxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Java takes over the lock and finds the place empty, our request arrives, Java renames over it."""
    twin = copy_of(table, tmp_path / "twin")
    append(oracle, twin)
    rows, newest, tokens = oracle.read(twin), oracle.snapshots(twin)[-1]["id"], []

    def rename_over() -> None:
        put_over(twin, table)
        oracle.unlock(tokens[0])

    proxy.steps = [first(lambda: tokens.append(oracle.lock(table)))]
    step_while_waiting(monkeypatch, rename_over)

    report = run(s3, proxy.endpoint, options=with_lock(catalog, "1 s"))

    assert (report.status, report.rounds) == ("Compacted", 2)
    in_place = json.loads((table.folder / "snapshot" / f"snapshot-{newest}").read_text())
    assert in_place["commitKind"] == "APPEND"
    assert oracle.read(table) == rows
    for later in range(1, 4):
        run(s3, shift=later * SETTLED, options=catalog)
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())
