"""The demo's table is as messy as it says: many commits that insert, change and delete in two partitions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lithify.errors import InvalidOption
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.sample import Mess, PaimonSamples
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.registry import sample_maker
from support.cases import case
from support.orders_table import BUCKETS, NAME, rows
from unit.cli.conftest import Lithify

pytestmark = pytest.mark.thorough

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
    address = TableAddress(warehouse, NAME)
    PaimonSamples(MESS).make_sample(address, told.append)
    return address


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
        PaimonSamples(few).make_sample(TableAddress(str(tmp_path / name), NAME), lambda _: None)
    first, second = (rows(TableAddress(str(tmp_path / name), NAME)) for name in ("a", "b"))
    assert first.equals(second)


def test_a_scan_has_all_rows_and_says_how_long_it_took(sample: TableAddress) -> None:
    scan = PaimonSamples(MESS).read_sample(sample)
    assert scan.rows.equals(rows(sample))
    assert scan.seconds > 0


@pytest.mark.parametrize("name", [case("parchment", id="unknown"), case("memory", id="without samples")])
def test_a_format_without_sample_is_refused_by_name(name: str) -> None:
    assert sample_maker("paimon").commits == Mess().changes + 1
    with pytest.raises(InvalidOption) as refused:
        sample_maker(name)
    assert refused.value.option == "format"
    assert name in str(refused.value)


def test_the_demo_makes_the_sample_of_a_format(
    lithify: Lithify, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithify.formats.paimon.sample.sample_maker", lambda: PaimonSamples(MESS))
    folder = tmp_path / "demo"
    ended = lithify("demo", "--format", "paimon", "--folder", str(folder), "--only-make")
    assert ended.code == 0, ended.err
    assert f"{MESS.changes + 1} sorted runs" in ended.out
    assert [name for name in BUCKETS if name not in ended.out] == []
    assert lithify("demo", "--format", "parchment").code == 2
