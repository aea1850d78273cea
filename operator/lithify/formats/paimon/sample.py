"""A fragmented table for the demo: orders that are written, changed and deleted in many small commits.

Called by `lithify demo` through `formats.registry`. Written with pypaimon like any user's table, without
Lithify's own writers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.table.file_store_table import FileStoreTable

from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.sample import SampleScan

Orders = npt.NDArray[np.int64]

_SCHEMA = pa.schema(
    [
        pa.field("dt", pa.string(), nullable=False),
        pa.field("order_id", pa.int64(), nullable=False),
        pa.field("customer", pa.int64()),
        pa.field("status", pa.string()),
        pa.field("amount", pa.decimal128(12, 2)),
        pa.field("updated", pa.timestamp("us")),
        pa.field("note", pa.string()),
        pa.field("op", pa.string()),
    ]
)
_OPTIONS = {"bucket": "2", "write-only": "true", "metadata.stats-mode": "truncate(16)"}
_DAYS = np.array(["2026-01-01", "2026-01-02"])
_STATES = np.array(["new", "paid", "packed", "sent", "done"])
_START_MICROS = 1_767_225_600_000_000


@dataclass(frozen=True, slots=True)
class Mess:
    """The amount of fragmentation: initial orders, then commits that each change or delete some of them."""

    orders: int = 60_000
    changes: int = 14
    orders_per_change: int = 12_000
    delete_ratio: float = 0.1


@dataclass(frozen=True, slots=True)
class PaimonSamples:
    """Creates fragmented tables in filesystem warehouses."""

    mess: Mess = field(default_factory=Mess)

    story = "that insert, change and delete"

    @property
    def commits(self) -> int:
        """The number of a sample's commits."""
        return self.mess.changes + 1

    def address(self, warehouse: str, name: str) -> TableAddress:
        """The address of a sample in a folder."""
        return TableAddress(warehouse, name)

    def make_sample(self, address: TableAddress, progress: Callable[[int], None]) -> None:
        """Creates the table and fills it; see `make_table`."""
        make_table(address.warehouse, address.name, self.mess, progress)

    def read_sample(self, address: TableAddress) -> SampleScan:
        """All rows in key order."""
        return SampleScan(*read_table(address.warehouse, address.name))


def sample_maker() -> PaimonSamples:
    """Returns the creator of demo tables; looked up by `formats.registry`."""
    return PaimonSamples()


def make_table(warehouse: str, name: str, mess: Mess, progress: Callable[[int], None]) -> None:
    """Creates `database.table` in a warehouse and fills it; reports the number of commits done."""
    catalog = CatalogFactory.create({"warehouse": warehouse})
    catalog.create_database(name.split(".", maxsplit=1)[0], ignore_if_exists=True)
    schema = Schema.from_pyarrow_schema(
        _SCHEMA, partition_keys=["dt"], primary_keys=["dt", "order_id"], options=_OPTIONS
    )
    catalog.create_table(name, schema, ignore_if_exists=False)
    table = catalog.get_table(name)
    random = np.random.default_rng(seed=1)
    everybody = np.arange(mess.orders)
    _commit(table, _rows(everybody, random, delete_ratio=0.0))
    progress(1)
    for number in range(mess.changes):
        changed = np.sort(random.choice(everybody, mess.orders_per_change, replace=False))
        _commit(table, _rows(changed, random, mess.delete_ratio))
        progress(number + 2)


def read_table(warehouse: str, name: str) -> tuple[pa.Table, float]:
    """All rows in key order, as pypaimon reads them, and the seconds that reading took."""
    table = CatalogFactory.create({"warehouse": warehouse}).get_table(name)
    builder = table.new_read_builder()
    started = time.perf_counter()
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    seconds = time.perf_counter() - started
    return rows.sort_by([("dt", "ascending"), ("order_id", "ascending")]), seconds


def _rows(orders: Orders, random: np.random.Generator, delete_ratio: float) -> pa.Table:
    count = len(orders)
    return pa.table(
        [
            pa.array(_DAYS[orders % len(_DAYS)]),
            pa.array(orders),
            pa.array(random.integers(0, 5_000, count)),
            pa.array(_STATES[random.integers(0, len(_STATES), count)]),
            pa.array(random.integers(1, 10_000, count, dtype=np.int32)).cast(pa.decimal128(12, 2)),
            pa.array(_START_MICROS + random.integers(0, 86_400_000_000, count), pa.timestamp("us")),
            pa.array(random.integers(0, 10**9, count)).cast(pa.string()),
            pa.array(np.where(random.random(count) < delete_ratio, "-D", "+U")),
        ],
        schema=_SCHEMA,
    )


def _commit(table: FileStoreTable, rows: pa.Table) -> None:
    """One commit; the column `op` has the operation of each row."""
    builder = table.copy({"rowkind.field": "op"}).new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    try:
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
    finally:
        write.close()
        commit.close()
