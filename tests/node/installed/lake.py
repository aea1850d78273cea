"""A bucket of a real S3 server, in which Java has made tables; Java reads them in the server's own folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from infrastructure.iceberg.catalogs import S3_IO, CatalogAddress
from infrastructure.iceberg.fixtures import s3_properties
from infrastructure.iceberg.rest_server import RestCatalogServer
from infrastructure.objectstore.server import S3Server
from infrastructure.oracle.client import Table
from lithify.engine.attempts.clean_up import recover
from lithify.formats.paimon.commit.remains import PaimonRemains
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from support.operators.objects import Object, secret
from support.runs import ShiftedClock
from support.tables import copy_of

CREDENTIALS = "lake-credentials"
_IN_SECRET = {"s3.access-key": "access-key", "s3.secret-key": "secret-key"}
"""Catalog options that are secret, and what their keys in the Secret are called."""


@dataclass(frozen=True, slots=True)
class Lake:
    """One bucket.

    Attributes:
        server: who serves it.
        bucket: its name.
    """

    server: S3Server
    bucket: str

    def copied(self, model: Table, word: str) -> Table:
        """A copy of a table in a warehouse of its own, as Java sees it."""
        return copy_of(model, self.server.buckets / self.bucket / word)

    def catalog_of(self, table: Table) -> dict[str, Any]:
        """The spec of the Catalog of a table's warehouse."""
        options = self.server.options()
        return {
            "warehouse": f"s3://{self.bucket}/{Path(table.warehouse).name}",
            "options": {name: value for name, value in options.items() if name not in _IN_SECRET},
            "secretRef": {"name": CREDENTIALS, "options": dict(_IN_SECRET)},
        }

    def clean_up(self, table: Table) -> None:
        """Does what two runs that come in some days do first: they remove what dead attempts have left.

        The first condemns them, and the second deletes: what they have sent may arrive late.
        """
        catalog = self.catalog_of(table)
        address = TableAddress(catalog["warehouse"], str(table.name), self.server.options())
        for days in (3, 4):
            cleaned = recover(PaimonRemains(open_table(address)), ShiftedClock(timedelta(days=days)))
            assert cleaned.problems == ()

    def credentials(self) -> Object:
        """The Secret that its Catalogs name."""
        options: Mapping[str, str] = self.server.options()
        return secret(CREDENTIALS, **{key: options[name] for name, key in _IN_SECRET.items()})


@dataclass(frozen=True, slots=True)
class LakeCatalog:
    """A REST catalog whose tables are in the lake.

    Attributes:
        lake: the lake.
        server: who serves the catalog.
        host: the address at which pods reach it.
    """

    lake: Lake
    server: RestCatalogServer
    host: str

    @property
    def clients(self) -> CatalogAddress:
        """The catalog as Spark and pyiceberg open it, with their keys to the lake."""
        return self.server.address({**S3_IO, **s3_properties(self.lake.server)})

    def spec_of(self, table_format: str) -> dict[str, Any]:
        """What differs in the spec of its Catalog from that of a folder in the lake."""
        uri = f"http://{self.host}:{self.server.port}"
        return {"format": table_format, "metastore": "Rest", "uri": uri, "warehouse": "lake"}
