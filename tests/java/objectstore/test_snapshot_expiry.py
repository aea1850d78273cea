"""Expiry of snapshots on S3: the files that Java leaves, few requests, and failures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import Asked, S3Proxy, fail_before, pass_on
from infrastructure.objectstore.tables import IMPATIENT, address, java_table
from infrastructure.oracle.client import Oracle, Table
from lithify.errors import StorageUnavailable
from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import RetentionOptions
from support.expired_snapshots import files_of
from support.runs import ShiftedClock
from support.tables import copy_of

pytestmark = pytest.mark.oracle

LATER = ShiftedClock(timedelta(days=1))


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[S3Proxy]:
    with S3Proxy(s3.server, _is_delete) as started:
        yield started


@pytest.fixture
def table(oracle: Oracle, s3: Bucket) -> Table:
    """A compacted table with a tag."""
    made = java_table(oracle, s3, buckets=2)
    oracle.create_tag(made, "kept", 3)
    oracle.compact(made)
    return made


def expiry(s3: Bucket, proxy: S3Proxy) -> SnapshotExpiry:
    where = address(s3, proxy.endpoint, **IMPATIENT)
    return SnapshotExpiry(open_table(where), RetentionOptions(least=1, most=1))


def expired_by_java(oracle: Oracle, table: Table, warehouse: Path) -> set[str]:
    """The files of a copy after Java has expired all snapshots but the newest."""
    java = copy_of(table, warehouse)
    oracle.expire_snapshots(java, retain_max=1)
    return files_of(java)


def test_files_that_java_leaves_are_left(
    oracle: Oracle, s3: Bucket, proxy: S3Proxy, table: Table, tmp_path: Path
) -> None:
    left = expired_by_java(oracle, table, tmp_path / "java")
    made = expiry(s3, proxy)
    plan = made.plan(LATER)
    proxy.counted()

    done = made.execute(plan)

    counted = proxy.counted()
    assert counted["POST"] == 2, "data files and lists; no manifest goes here"
    assert counted["DELETE"] == done.figures["snapshots"] > 0, "snapshots go one by one"
    assert files_of(table) == left


@pytest.mark.parametrize("requests", [0, 1, 2, 4])
def test_expiry_that_a_store_fails_is_completed_by_the_next(
    oracle: Oracle, s3: Bucket, proxy: S3Proxy, table: Table, tmp_path: Path, requests: int
) -> None:
    left = expired_by_java(oracle, table, tmp_path / "java")
    rows, before = oracle.read(table), files_of(table)
    made = expiry(s3, proxy)
    plan = made.plan(LATER)
    proxy.steps, proxy.always = [pass_on] * requests, fail_before

    with pytest.raises(StorageUnavailable):
        made.execute(plan)
    assert (files_of(table) != before) == (requests > 0)
    assert oracle.read(table) == rows
    proxy.always = pass_on
    made.execute(made.plan(LATER))

    assert files_of(table) == left


def _is_delete(asked: Asked) -> bool:
    return asked.method in ("POST", "DELETE")
