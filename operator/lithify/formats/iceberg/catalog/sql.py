"""Catalogs in a database (Java's JdbcCatalog): a row per table has the place of its newest metadata.

The row is replaced where it still has the place that the new metadata was built on, in one statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError
from sqlalchemy import URL, ColumnElement, Engine, NullPool, create_engine, select, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from lithify.errors import NotFound
from lithify.formats.iceberg.catalog.metastores import MetastoreTables
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.catalog.names import TableName
from lithify.io.access_policy import AccessPolicy
from lithify.io.databases import CONNECT_SECONDS, SILENCE_SECONDS, check_database, database_failure
from lithify.io.jdbc_uri import JdbcUri


def sql_engine(uri: str, user: str | None, password: str | None, reach: AccessPolicy) -> Engine:
    """The database of a URI; opens no connection.

    Raises:
        InvalidOption: the URI does not have a supported form.
        OutOfReach: the process may not read the file, or not connect to the server.
        NotFound: the file does not exist: SQLite would create it, and users would not find their table.
        CatalogUnavailable: there is no such server.
    """
    database = check_database(uri, reach)
    if database.kind == "sqlite":
        return create_engine(URL.create("sqlite", database=database.file), poolclass=NullPool)
    return create_engine(_server_url(uri, database, user, password), poolclass=NullPool)


def _server_url(uri: str, database: JdbcUri, user: str | None, password: str | None) -> URL:
    bounds = {
        "connect_timeout": str(CONNECT_SECONDS),
        "passfile": "/dev/null",
        "options": f"-c statement_timeout={SILENCE_SECONDS * 1000}",
    }
    name = uri.rpartition("/")[2]
    return URL.create("postgresql+psycopg2", user, password, database.host, database.port, name, bounds)


class SqlTables(MetastoreTables):
    """The tables of a catalog in a database; implements `PointerCatalog`.

    Args:
        engine: the database.
        catalog: the name under which the catalog's rows are.
        uri: the database for messages.
    """

    _client: _Client

    def __init__(self, engine: Engine, catalog: str, uri: str) -> None:
        self._uri = uri
        self._name = catalog
        self._engine = engine
        with self._answering():
            self._client = _Client(catalog, engine)

    def load(self, name: TableName) -> Pointer:
        """The place of the newest metadata."""
        with self._answering(), self._engine.connect() as connection:
            query = select(IcebergTables.metadata_location).where(*self._row(name))
            found = connection.execute(query).scalar()
        if not found:
            raise NotFound("table", str(name), f"{self._uri} does not have it in the catalog {self._name}")
        return Pointer(found)

    def swap(
        self, name: TableName, base: Pointer, location: str, text: str, is_wanted: Callable[[], bool]
    ) -> bool:
        """Replaces the place in the table's row."""
        del text
        statement = (
            update(IcebergTables)
            .where(*self._row(name), IcebergTables.metadata_location == base.location)
            .values(metadata_location=location, previous_metadata_location=base.location)
        )
        if not is_wanted():
            return False
        with self._answering(), self._engine.begin() as connection:
            return connection.execute(statement).rowcount == 1

    def namespaces(self, parent: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """The namespaces right below another one."""
        with self._answering():
            try:
                return self._client.list_namespaces(parent)
            except NoSuchNamespaceError:
                return []

    def _row(self, name: TableName) -> tuple[ColumnElement[bool], ...]:
        return (
            IcebergTables.catalog_name == self._name,
            IcebergTables.table_namespace == ".".join(name.namespace),
            IcebergTables.table_name == name.table,
            *self._client.of_tables(),
        )

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Turns the driver's errors into ours; its messages are not repeated."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            raise database_failure(self._uri, cause) from None


class _Client(SqlCatalog):
    """pyiceberg's catalog without its access to files, on a database of ours; creates no tables."""

    def __init__(self, name: str, engine: Engine) -> None:
        PyIcebergCatalog.__init__(self, name, init_catalog_tables="false")
        self.engine = engine
        self._init_catalog()

    def of_tables(self) -> tuple[ColumnElement[bool], ...]:
        """The condition that a row is a table, in catalogs that have views."""
        condition = self._iceberg_type_filter()
        return () if condition is None else (condition,)
