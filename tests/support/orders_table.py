"""Small tables of the demo's kind, made with pypaimon: two days with two buckets, a file in each a commit."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from lithify.clock import SystemClock
from lithify.engine.run.driver import Observer, Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.paimon.sample import Mess, make_table, read_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy

NAME = "shop.orders"
DAYS = ("2026-01-01", "2026-01-02")
BUCKETS = [f"dt={day}/bucket-{number}" for day in DAYS for number in (0, 1)]
ALL_THERE = "all files are in the top level already"


def make_orders(warehouse: Path, commits: int, name: str = NAME) -> TableAddress:
    """A table with so many commits; all but the first change and delete orders of the first."""
    warehouse.mkdir(parents=True, exist_ok=True)
    make_table(str(warehouse), name, Mess(40, commits - 1, 20), lambda _: None)
    return TableAddress(str(warehouse), name)


def copy_of(made: TableAddress, warehouse: Path) -> TableAddress:
    """The same table in a warehouse of its own, to change it there."""
    shutil.copytree(made.warehouse, warehouse)
    return replace(made, warehouse=str(warehouse))


def without_snapshots(made: TableAddress, warehouse: Path) -> TableAddress:
    """The same table as it was before anybody wrote to it."""
    copied = copy_of(made, warehouse)
    database, name = made.name.split(".")
    for path in (warehouse / f"{database}.db" / name).iterdir():
        if path.name != "schema":
            shutil.rmtree(path)
    return copied


def run(
    address: TableAddress,
    strategy: Strategy = Strategy.FULL,
    *,
    buckets: frozenset[int] = frozenset(),
    partitions: tuple[dict[str, str], ...] = (),
    observer: Observer | None = None,
    held: Mapping[str, str] | None = None,
    **changes: Any,
) -> Report:
    """Compacts in this process."""
    request = Request(address, Selection(partitions, buckets, strategy, held or {}), **changes)
    return compact(request, InlineRunner(), SystemClock(), observer)


def rows(address: TableAddress) -> pa.Table:
    """What pypaimon reads, in key order."""
    found, _ = read_table(address.warehouse, address.name)
    return found
