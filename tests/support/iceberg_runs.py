"""Runs of Lithify on tables that Spark made: in tests and in benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC

from infrastructure.iceberg.catalogs import CatalogAddress
from infrastructure.iceberg.tables import SparkTable
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy

CLOCK = SystemClock(UTC)


def run(
    table: SparkTable,
    strategy: Strategy = Strategy.FULL,
    branch: str = "",
    overrides: Mapping[str, str] | None = None,
) -> Report:
    """Compacts a table in this process; Spark sees the result."""
    address = replace(address_of(table, branch), overrides=overrides or {})
    report = compact(Request(address, Selection(strategy=strategy)), InlineRunner(), CLOCK)
    table.run(f"REFRESH TABLE {table.name}")
    return report


def address_of(table: SparkTable, branch: str = "") -> TableAddress:
    """Where our runs find a table of a SQL or REST catalog, or a branch of it."""
    name = f"{table.identifier}$branch_{branch}" if branch else table.identifier
    warehouse, options = options_of(table.catalog)
    return TableAddress(warehouse, name, options, format="iceberg")


def options_of(known: CatalogAddress) -> tuple[str, dict[str, str]]:
    """The warehouse and the options of a catalog, as our runs open it."""
    if not known.pyiceberg:
        return str(known.spark["warehouse"]).removeprefix("file://"), {}
    if known.pyiceberg["type"] == "rest":
        options = {"metastore": "rest", "uri": known.pyiceberg["uri"]}
        options |= {
            key: value for key, value in known.pyiceberg.items() if key.startswith(("s3.", "client."))
        }
        return "", options
    database = known.pyiceberg["uri"].removeprefix("sqlite:///")
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{database}", "catalog-name": known.name}
    return known.pyiceberg["warehouse"], options
