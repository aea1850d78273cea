"""Runs of Lithify on tables that Spark made: in tests and in benchmarks."""

from __future__ import annotations

from infrastructure.iceberg.tables import SparkTable
from lithify.formats.protocol.address import TableAddress


def address_of(table: SparkTable, branch: str = "") -> TableAddress:
    """Where our runs find a table of a SQL or REST catalog, or a branch of it."""
    known = table.catalog
    name = f"{table.identifier}$branch_{branch}" if branch else table.identifier
    if known.pyiceberg["type"] == "rest":
        options = {"metastore": "rest", "uri": known.pyiceberg["uri"]}
        options |= {
            key: value for key, value in known.pyiceberg.items() if key.startswith(("s3.", "client."))
        }
        return TableAddress("", name, options, format="iceberg")
    database = known.pyiceberg["uri"].removeprefix("sqlite:///")
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{database}", "catalog-name": known.name}
    return TableAddress(known.pyiceberg["warehouse"], name, options, format="iceberg")
