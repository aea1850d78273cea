"""Fixtures for tests that need real Iceberg: a Spark per test process, a REST server, and catalogs of a test.

Tests that use one are marked `iceberg` by themselves. Java's parts are built when the first test asks for
them. Every test process loads this module, so what takes its time to import is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from infrastructure.objectstore.server import S3Server

if TYPE_CHECKING:
    from infrastructure.iceberg.catalogs import CatalogAddress
    from infrastructure.iceberg.proxy import RestProxy
    from infrastructure.iceberg.rest_server import RestCatalogServer
    from infrastructure.iceberg.spark import SparkIceberg
    from infrastructure.iceberg.tables import SparkTable

_NEEDS = frozenset({"spark_iceberg", "rest_catalog_server", "rest_on_s3", "second_reader"})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests, so that `-m "not iceberg"` leaves them out."""
    for item in items:
        if _NEEDS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.iceberg)


@pytest.fixture(scope="session")
def spark_iceberg() -> Iterator[SparkIceberg]:
    """Spark with Iceberg, to make tables, change them between our steps, and read them after."""
    from infrastructure.iceberg.spark import SparkIceberg

    with SparkIceberg.start() as started:
        yield started


@pytest.fixture(scope="session")
def rest_catalog_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestCatalogServer]:
    """Iceberg's REST catalog server over local files; who kills it starts it again."""
    from infrastructure.iceberg.rest_server import RestCatalogServer

    with RestCatalogServer(tmp_path_factory.mktemp("rest-catalog")) as server:
        yield server


@pytest.fixture(scope="session")
def second_reader() -> Path:
    """The folder with iceberg-go's programs; building them takes longer than a test may."""
    from infrastructure.iceberg.programs import GO

    return GO.built()


@pytest.fixture
def sql_catalog(spark_iceberg: SparkIceberg, tmp_path: Path) -> CatalogAddress:
    """A SQL catalog of this test, which Spark and pyiceberg share."""
    from infrastructure.iceberg import catalogs

    return spark_iceberg.add_catalog(catalogs.sql(tmp_path / "sql-catalog"))


@pytest.fixture
def rest_catalog(spark_iceberg: SparkIceberg, rest_catalog_server: RestCatalogServer) -> CatalogAddress:
    """The REST catalog, which is shared: tests use namespaces of their own."""
    return spark_iceberg.add_catalog(rest_catalog_server.address())


@pytest.fixture
def folder_catalog(spark_iceberg: SparkIceberg, tmp_path: Path) -> CatalogAddress:
    """A folder of tables, for Spark alone."""
    from infrastructure.iceberg import catalogs

    return spark_iceberg.add_catalog(catalogs.folder_of_tables(tmp_path / "folder-catalog"))


@pytest.fixture
def rest_proxy(rest_catalog_server: RestCatalogServer) -> Iterator[RestProxy]:
    """A proxy before the REST catalog's server, which fails as a test says."""
    from infrastructure.iceberg.proxy import RestProxy

    with RestProxy(rest_catalog_server.url) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def rest_on_s3(
    spark_iceberg: SparkIceberg, s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CatalogAddress]:
    """A REST catalog whose tables are on the S3 server."""
    from infrastructure.iceberg.catalogs import S3_IO, fresh_name
    from infrastructure.iceberg.rest_server import RestCatalogServer

    bucket = fresh_name("lake").replace("_", "-")
    given = {**S3_IO, **s3_properties(s3_server)}
    warehouse = f"{s3_server.create_bucket(bucket)}/warehouse"
    with RestCatalogServer(tmp_path_factory.mktemp("rest-on-s3"), warehouse, given) as server:
        yield spark_iceberg.add_catalog(server.address(given))


@pytest.fixture
def sql_table(spark_iceberg: SparkIceberg, sql_catalog: CatalogAddress) -> SparkTable:
    """A table of the SQL catalog, not made yet."""
    from infrastructure.iceberg.tables import SparkTable

    return SparkTable(spark_iceberg, sql_catalog, "db.t")


@pytest.fixture
def rest_table(spark_iceberg: SparkIceberg, rest_catalog: CatalogAddress) -> SparkTable:
    """A table of the REST catalog, not made yet, in a namespace of its own."""
    from infrastructure.iceberg.catalogs import fresh_name
    from infrastructure.iceberg.tables import SparkTable

    return SparkTable(spark_iceberg, rest_catalog, f"{fresh_name('db')}.t")


def s3_properties(server: S3Server) -> dict[str, str]:
    """How Iceberg's clients, in any language, reach an S3 server."""
    known = server.options()
    return {
        "s3.endpoint": known["s3.endpoint"],
        "s3.access-key-id": known["s3.access-key"],
        "s3.secret-access-key": known["s3.secret-key"],
        "s3.region": known["s3.region"],
        "client.region": known["s3.region"],
        "s3.path-style-access": "true",
    }
