"""Orphan files on S3: those go that Java finds, by few requests, and failures leave the rest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import Asked, S3Proxy, fail_before, pass_on
from infrastructure.objectstore.tables import IMPATIENT, address
from infrastructure.oracle.client import Oracle, Table
from lithify.errors import StorageUnavailable
from lithify.formats.paimon.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.paimon.opening import open_table
from support.expired_snapshots import files_of
from support.orphan_files import ALL_GOES
from support.runs import ShiftedClock
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

LATER = ShiftedClock(timedelta(days=2))
LEFTOVERS = 1500
COLUMNS = {"p": "STRING NOT NULL", "id": "INT NOT NULL"}


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[S3Proxy]:
    with S3Proxy(s3.server, _is_told) as started:
        yield started


@pytest.fixture
def table(oracle: Oracle, s3: Bucket) -> Table:
    """A table with partitions whose names are escaped, and leftovers in one of them."""
    made = Table(s3.folder / "lake", "db.t")
    options = {"bucket": "1", "write-only": "true"}
    oracle.create_table(made, COLUMNS, primary_key=["p", "id"], partition_keys=["p"], options=options)
    oracle.write(made, [["+I", "a:b", 1], ["+I", "a%b", 1]])
    oracle.write(made, [["+I", "a:b", 2]])
    folder = next(path for path in made.folder.rglob("bucket-0") if "%3A" in str(path))
    for _ in range(LEFTOVERS):
        (folder / f"data-{uuid4()}-0.parquet").write_bytes(b"x")
    beside = made.folder.with_name("t2") / "p=a" / "bucket-0"
    beside.mkdir(parents=True)
    (beside / f"data-{uuid4()}-0.parquet").write_bytes(b"another table's")
    return made


def removal(s3: Bucket, proxy: S3Proxy) -> OrphanRemoval:
    return OrphanRemoval(open_table(address(s3, proxy.endpoint, **IMPATIENT)), ALL_GOES)


def test_files_that_java_removes_are_removed(
    oracle: Oracle, s3: Bucket, proxy: S3Proxy, table: Table, tmp_path: Path
) -> None:
    java = copy_of(table, tmp_path / "java")
    oracle.remove_orphan_files(java, older_than=time.time_ns() // 1_000_000 + 1000)
    there = sum(path.is_file() for path in table.folder.rglob("*"))
    made = removal(s3, proxy)
    plan = made.plan(LATER)
    proxy.counted()

    done = made.execute(plan)

    assert plan.orphans.listed.files == there, "no other table's"
    assert done.figures == {"dataFiles": LEFTOVERS, "indexFiles": 0, "metadataFiles": 0, "bytes": LEFTOVERS}
    counted = proxy.counted()
    assert (counted["POST"], counted["DELETE"]) == (2, 0), "a request deletes a thousand"
    assert files_of(table) == files_of(java)


def test_young_objects_stay(s3: Bucket, proxy: S3Proxy, table: Table) -> None:
    before = files_of(table)
    assert removal(s3, proxy).plan(ShiftedClock(timedelta(hours=23))).is_empty
    assert files_of(table) == before


def test_removal_that_a_store_fails_is_completed_by_the_next(
    oracle: Oracle, s3: Bucket, proxy: S3Proxy, table: Table
) -> None:
    rows, before = oracle.read(table), files_of(table)
    made = removal(s3, proxy)
    plan = made.plan(LATER)
    proxy.steps, proxy.always = [pass_on], fail_before

    with pytest.raises(StorageUnavailable):
        made.execute(plan)
    assert len(before - files_of(table)) in (1000, LEFTOVERS - 1000)
    assert oracle.read(table) == rows
    proxy.always = pass_on
    made.execute(made.plan(LATER))

    assert stray_files(oracle, table) == set()
    assert oracle.read(table) == rows


def _is_told(asked: Asked) -> bool:
    return asked.method in ("POST", "DELETE")
