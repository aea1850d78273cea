"""Rollbacks on S3: the files that Java leaves, and a store that fails at any deletion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import Asked, S3Proxy, fail_before, pass_on
from infrastructure.objectstore.tables import IMPATIENT, address, java_table
from infrastructure.oracle.client import Oracle, Table
from lithify.errors import StorageUnavailable
from lithify.formats.paimon.maintenance.table_rollback import TableRollback
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.maintenance import MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId
from support.expired_snapshots import files_of, numbers
from support.rolled_back_tables import CLOCK, latest
from support.tables import append, copy_of

pytestmark = pytest.mark.oracle

TARGET = 2


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[S3Proxy]:
    with S3Proxy(s3.server, _is_delete) as started:
        yield started


def _is_delete(asked: Asked) -> bool:
    return asked.method == "DELETE"


@pytest.fixture
def table(oracle: Oracle, s3: Bucket) -> Table:
    """A compacted table with a tag."""
    made = java_table(oracle, s3, buckets=2)
    oracle.create_tag(made, "late", 3)
    oracle.compact(made)
    return made


def rollback(s3: Bucket, proxy: S3Proxy) -> TableRollback:
    settings = MaintenanceSettings(snapshot=SnapshotId(str(TARGET)), loses_commits=True)
    return TableRollback(open_table(address(s3, proxy.endpoint, **IMPATIENT)), settings)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("deleted", [0, 1, 3])
def test_rollback_that_a_store_fails_is_completed_by_the_next(
    oracle: Oracle, s3: Bucket, proxy: S3Proxy, table: Table, tmp_path: Path, deleted: int
) -> None:
    java = copy_of(table, tmp_path / "java")
    oracle.rollback_to(java, snapshot_id=TARGET)
    rows = oracle.read(table, snapshot_id=TARGET)
    made = rollback(s3, proxy)
    plan = made.plan(CLOCK)
    proxy.steps, proxy.always = [pass_on] * deleted, fail_before

    with pytest.raises(StorageUnavailable):
        made.execute(plan)

    assert oracle.read(table) == oracle.read(table, snapshot_id=numbers(table)[-1])
    proxy.steps, proxy.always = [], pass_on
    again = rollback(s3, proxy)
    again.execute(again.plan(CLOCK))
    assert (files_of(table), latest(table)) == (files_of(java), latest(java))
    assert oracle.read(table) == rows
    assert append(oracle, table) == TARGET + 1
