"""The demo's table of Iceberg is as messy as it says, and the address of a sample opens it."""

from __future__ import annotations

from pathlib import Path

from lithify.clock import SystemClock
from lithify.formats.iceberg.sample import IcebergSamples, Mess
from lithify.formats.protocol.address import Selection
from lithify.formats.registry import open_table

MESS = Mess(appends=5, orders_per_append=20, removed=4)


def test_every_commit_leaves_a_small_file_in_each_of_two_partitions(tmp_path: Path) -> None:
    samples, told = IcebergSamples(MESS), list[int]()
    address = samples.address(str(tmp_path), "shop.orders")
    samples.make_sample(address, told.append)

    groups = open_table(address).inspect(Selection(), SystemClock()).groups

    assert told == [*range(1, samples.commits + 1)]
    assert [(group.group, group.files, group.due) for group in groups] == [
        ("dt=2026-01-01", MESS.appends, "FileSizes"),
        ("dt=2026-01-02", MESS.appends, "FileSizes"),
    ]
    rows = samples.read_sample(address).rows
    assert rows.num_rows == MESS.appends * MESS.orders_per_append - MESS.removed
    assert rows["order_id"].to_pylist()[0] == MESS.removed
