"""The demo's table is as messy as it says: many commits that insert, change and delete in two partitions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lithify.tables.format import Selection, TableAddress
from lithify.tables.paimon.catalog.opening import open_table
from lithify.tables.paimon.sample import Mess, make_table
from support.orders_table import BUCKETS, NAME, rows

MESS = Mess(orders=120, orders_per_change=40)
"""As many commits as the demo's, with fewer orders."""

UPDATE, DELETE = 2, 3


@pytest.fixture(scope="module")
def told() -> list[int]:
    """What progress was told."""
    return []


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, told: list[int]) -> TableAddress:
    warehouse = str(tmp_path_factory.mktemp("sample"))
    make_table(warehouse, NAME, MESS, told.append)
    return TableAddress(warehouse, NAME)


@pytest.fixture(scope="module")
def written(sample: TableAddress) -> list[pa.Table]:
    """The rows of every data file."""
    return [pq.read_table(path, partitioning=None) for path in files(sample)]


def files(sample: TableAddress) -> list[Path]:
    return sorted(Path(sample.warehouse).rglob("bucket-*/data-*"))


def test_it_has_a_dozen_commits_and_more(sample: TableAddress, told: list[int]) -> None:
    latest = open_table(sample).snapshots.latest()
    assert latest is not None
    assert latest.id == MESS.changes + 1 >= 12
    assert told == list(range(1, latest.id + 1))


def test_every_commit_leaves_a_file_in_each_bucket_of_two_partitions(sample: TableAddress) -> None:
    view = open_table(sample).view(Selection())
    assert view is not None
    assert [str(bucket) for bucket in view.bucket_ids] == BUCKETS
    for bucket in map(view.bucket, view.bucket_ids):
        assert [file.level for file in bucket.files] == [0] * (MESS.changes + 1)


def test_orders_are_written_changed_and_deleted(sample: TableAddress, written: list[pa.Table]) -> None:
    kinds = pa.concat_tables(table.select(["_VALUE_KIND", "order_id"]) for table in written)
    counts = {pair["values"]: pair["counts"] for pair in pc.value_counts(kinds["_VALUE_KIND"]).to_pylist()}
    changed = MESS.changes * MESS.orders_per_change
    assert counts.keys() == {UPDATE, DELETE}
    assert sum(counts.values()) == MESS.orders + changed
    assert 0.05 < counts[DELETE] / changed < 0.2
    assert len(pc.unique(kinds["order_id"])) == MESS.orders


def test_some_orders_are_gone_and_the_others_are_there_once(sample: TableAddress) -> None:
    left = rows(sample)
    assert 0 < left.num_rows < MESS.orders
    assert len(pc.unique(left["order_id"])) == left.num_rows
    assert set(left["dt"].to_pylist()) == {"2026-01-01", "2026-01-02"}


def test_it_can_be_compacted(sample: TableAddress) -> None:
    assert open_table(sample).refusals == ()


def test_it_is_made_the_same_every_time(sample: TableAddress, tmp_path: Path) -> None:
    few = Mess(orders=10, changes=1, orders_per_change=5)
    for name in ("a", "b"):
        make_table(str(tmp_path / name), NAME, few, lambda _: None)
    first, second = (rows(TableAddress(str(tmp_path / name), NAME)) for name in ("a", "b"))
    assert first.equals(second)
