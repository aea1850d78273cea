"""Keyed tables on S3, in a REST catalog: their changes are merged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.iceberg.catalogs import S3_IO, CatalogAddress, fresh_name
from infrastructure.iceberg.fixtures import s3_properties
from infrastructure.iceberg.rest_server import RestCatalogServer
from infrastructure.objectstore.server import S3Server
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.iceberg_runs import options_of
from support.keyed_tables import KeyedStores


@pytest.fixture
def catalog(s3_server: S3Server, tmp_path: Path) -> Iterator[CatalogAddress]:
    bucket = fresh_name("keyed").replace("_", "-")
    given = {**S3_IO, **s3_properties(s3_server)}
    with RestCatalogServer(tmp_path, f"{s3_server.create_bucket(bucket)}/warehouse", given) as server:
        yield server.address(given)


@pytest.mark.parametrize("strategy", [case(each, id=each.value) for each in Strategy])
def test_changes_on_s3_are_merged(catalog: CatalogAddress, strategy: Strategy) -> None:
    stores = KeyedStores(catalog.open(), "db.orders")
    stores.catalog.create_namespace("db")
    stores.create().write_base(1, [(number, "old") for number in range(8)])
    stores.delete(2, [(1, "old"), (2, "old")])
    stores.insert(3, [(2, "new"), (9, "new")])
    warehouse, options = options_of(catalog)
    address = TableAddress(
        warehouse, "db.orders", options, overrides={"compact.major.file.cnt": "2"}, format="mixed-iceberg"
    )

    report = compact(Request(address, Selection(strategy=strategy)), InlineRunner(), SystemClock())

    assert report.status == "Compacted"
    kept = [(number, "old") for number in (0, 3, 4, 5, 6, 7)]
    assert stores.merged() == sorted([*kept, (2, "new"), (9, "new")])
