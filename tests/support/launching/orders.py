"""Orders for drivers of small tables that pypaimon made."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from lithify.controller.driver import DriverOrder
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.io.access_policy import NOWHERE
from lithify.resources.catalog import CatalogSpec, catalog_options
from lithify.resources.names import ObjectKey
from lithify.resources.spark_template import SparkTemplate

KEY = ObjectKey("shop", "orders-1-x7k2p")
ORDER = DriverOrder(
    key=KEY,
    uid="0b5f6c1e-5a0c-4f2e-9a70-0d8c8f3f1c11",
    attempt=1,
    lake_table="orders",
    table=TableAddress("/warehouse", "shop.orders", reach=NOWHERE, time_zone="UTC"),
    secret_ref=None,
    selection=Selection(strategy=Strategy.FULL),
    spark=SparkTemplate(image="lithify-spark:test"),
)


def order(warehouse: Path | str = "/warehouse", **changes: Any) -> DriverOrder:
    """An order for the first attempt at a full compaction, but for what is said.

    Changes are the order's fields, or those of its table or selection.
    """
    catalog = changes.pop("catalog", CatalogSpec(warehouse=str(warehouse)))
    address = {"warehouse": catalog.warehouse, "catalog_options": catalog_options(catalog, {})}
    table = replace(ORDER.table, **{**address, **_taken(changes, TableAddress)})
    selection = replace(ORDER.selection, **_taken(changes, Selection))
    return replace(ORDER, table=table, secret_ref=catalog.secret_ref, selection=selection, **changes)


def _taken(changes: dict[str, Any], kind: type[TableAddress | Selection]) -> dict[str, Any]:
    """Takes the fields of a class out of some changes."""
    return {one.name: changes.pop(one.name) for one in fields(kind) if one.name in changes}
