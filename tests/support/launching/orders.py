"""Orders for drivers of small tables that pypaimon made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lithify.controller.driver import DriverOrder
from lithify.resources.catalog import CatalogSpec
from lithify.resources.compaction import RunStrategy
from lithify.resources.names import ObjectKey
from lithify.resources.policy import SparkTemplate

KEY = ObjectKey("shop", "orders-1-x7k2p")
ORDER = DriverOrder(
    key=KEY,
    uid="0b5f6c1e-5a0c-4f2e-9a70-0d8c8f3f1c11",
    attempt=1,
    lake_table="orders",
    identifier="shop.orders",
    table_uuid=None,
    catalog=CatalogSpec(warehouse="/warehouse"),
    overrides={},
    time_zone=None,
    strategy=RunStrategy.FULL,
    partitions=(),
    buckets=(),
    spark=SparkTemplate(image="lithify-spark:test"),
)


def order(warehouse: Path | str = "/warehouse", **changes: Any) -> DriverOrder:
    """An order for the first attempt at a full compaction, but for what is said."""
    catalog = changes.pop("catalog", CatalogSpec(warehouse=str(warehouse)))
    return replace(ORDER, catalog=catalog, **changes)
