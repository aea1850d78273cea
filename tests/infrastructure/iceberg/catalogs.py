"""Catalogs as their clients open them: Spark's options and pyiceberg's properties for the same tables.

A SQL catalog is a SQLite file that Spark's JDBC catalog and pyiceberg's share, which they do by its name. A
REST catalog is a server's, at its address or at a proxy's. A folder of tables is for Spark alone: pyiceberg
has no such catalog, and reads its tables by the location of their metadata.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog

S3_IO = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}


@dataclass(frozen=True, slots=True)
class CatalogAddress:
    """Where a catalog is.

    Attributes:
        name: what Spark calls it, and what a SQL catalog's rows carry.
        spark: options of Iceberg's catalog for Spark.
        pyiceberg: properties of pyiceberg's; empty for a folder of tables.
    """

    name: str
    spark: Mapping[str, str]
    pyiceberg: Mapping[str, str] = field(default_factory=dict)

    def open(self) -> Catalog:
        """The catalog through pyiceberg."""
        return load_catalog(self.name, **self.pyiceberg)


def sql(folder: Path, name: str | None = None, warehouse: str | None = None) -> CatalogAddress:
    """A catalog in a SQLite file, made when it is first used."""
    folder.mkdir(parents=True, exist_ok=True)
    database = folder / "catalog.db"
    where = warehouse or f"file://{folder / 'warehouse'}"
    return CatalogAddress(
        name or fresh_name("sql"),
        {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:sqlite:file:{database}",
            "jdbc.schema-version": "V1",
            "warehouse": where,
        },
        {"type": "sql", "uri": f"sqlite:///{database}", "warehouse": where},
    )


def rest(url: str, properties: Mapping[str, str] | None = None, name: str | None = None) -> CatalogAddress:
    """A REST catalog; properties are Iceberg's, which Spark and pyiceberg write in one way."""
    shared = {"type": "rest", "uri": url, **(properties or {})}
    return CatalogAddress(name or fresh_name("rest"), shared, shared)


def folder_of_tables(folder: Path, name: str | None = None) -> CatalogAddress:
    """Tables that are folders with a version hint, as Iceberg's Hadoop catalog keeps them."""
    return CatalogAddress(name or fresh_name("folder"), {"type": "hadoop", "warehouse": f"file://{folder}"})


def fresh_name(kind: str) -> str:
    """A name that no catalog of this session has."""
    return f"{kind}_{secrets.token_hex(3)}"
