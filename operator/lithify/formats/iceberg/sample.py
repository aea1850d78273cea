"""A fragmented table for the demo: orders that are appended in many small commits, and some removed again.

Called by `lithify demo` through `formats.registry`. Written with pyiceberg like any user's table, in a
catalog on SQLite beside it, without Lithify's own writers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, DecimalType, LongType, NestedField, StringType, TimestampType

from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.sample import SampleScan

Orders = npt.NDArray[np.int64]

_SCHEMA = Schema(
    NestedField(1, "dt", DateType(), required=True),
    NestedField(2, "order_id", LongType(), required=True),
    NestedField(3, "customer", LongType()),
    NestedField(4, "status", StringType()),
    NestedField(5, "amount", DecimalType(12, 2)),
    NestedField(6, "updated", TimestampType()),
)
_COLUMNS = pa.schema(
    [
        pa.field("dt", pa.date32(), nullable=False),
        pa.field("order_id", pa.int64(), nullable=False),
        pa.field("customer", pa.int64()),
        pa.field("status", pa.string()),
        pa.field("amount", pa.decimal128(12, 2)),
        pa.field("updated", pa.timestamp("us")),
    ]
)
_BY_DAY = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "dt"))
_CATALOG = "demo"
_DATABASE = "catalog.db"
_FIRST_DAY = 20_454
_DAYS = 2
_STATES = np.array(["new", "paid", "packed", "sent", "done"])
_START_MICROS = 1_767_225_600_000_000


@dataclass(frozen=True, slots=True)
class Mess:
    """The amount of fragmentation: commits that each append orders, and one that removes some of them."""

    appends: int = 40
    orders_per_append: int = 4_000
    removed: int = 100


@dataclass(frozen=True, slots=True)
class IcebergSamples:
    """Creates fragmented tables in warehouses with a catalog on SQLite."""

    mess: Mess = field(default_factory=Mess)

    story = "that append orders, and one that removes some"

    @property
    def commits(self) -> int:
        """The number of a sample's commits."""
        return self.mess.appends + 1

    def address(self, warehouse: str, name: str) -> TableAddress:
        """The address of a sample in a folder."""
        database = Path(warehouse).absolute() / _DATABASE
        options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{database}", "catalog-name": _CATALOG}
        return TableAddress(warehouse, name, options, format="iceberg")

    def make_sample(self, address: TableAddress, progress: Callable[[int], None]) -> None:
        """Creates the table and fills it."""
        catalog = _catalog(address.warehouse)
        catalog.create_namespace(address.name.split(".", maxsplit=1)[0])
        table = catalog.create_table(address.name, _SCHEMA, partition_spec=_BY_DAY)
        random = np.random.default_rng(seed=1)
        for number in range(self.mess.appends):
            first = number * self.mess.orders_per_append
            table.append(_rows(np.arange(first, first + self.mess.orders_per_append), random))
            progress(number + 1)
        table.delete(f"order_id < {self.mess.removed}")
        progress(self.commits)

    def read_sample(self, address: TableAddress) -> SampleScan:
        """All rows in key order."""
        table: Table = _catalog(address.warehouse).load_table(address.name)
        started = time.perf_counter()
        rows = table.scan().to_arrow()
        seconds = time.perf_counter() - started
        return SampleScan(rows.sort_by([("dt", "ascending"), ("order_id", "ascending")]), seconds)


def sample_maker() -> IcebergSamples:
    """Returns the creator of demo tables; looked up by `formats.registry`."""
    return IcebergSamples()


def _catalog(warehouse: str) -> SqlCatalog:
    folder = Path(warehouse).absolute()
    return SqlCatalog(_CATALOG, uri=f"sqlite:///{folder / _DATABASE}", warehouse=f"file://{folder}")


def _rows(orders: Orders, random: np.random.Generator) -> pa.Table:
    count = len(orders)
    return pa.table(
        [
            pa.array((_FIRST_DAY + orders % _DAYS).astype(np.int32)).cast(pa.date32()),
            pa.array(orders),
            pa.array(random.integers(0, 5_000, count)),
            pa.array(_STATES[random.integers(0, len(_STATES), count)]),
            pa.array(random.integers(1, 10_000, count, dtype=np.int32)).cast(pa.decimal128(12, 2)),
            pa.array(_START_MICROS + random.integers(0, 86_400_000_000, count), pa.timestamp("us")),
        ],
        schema=_COLUMNS,
    )
