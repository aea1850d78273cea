"""Connects to the database of a JDBC catalog, and keeps the driver's messages out of errors.

Used by `connecting`. pypaimon passes every option that begins with `jdbc.` to the database driver, so
dangerous driver defaults (reading a password file, sending local files to a server that requests them) are
switched off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from pypaimon.api.rest_exception import RESTException
from pypaimon.catalog.catalog_context import CatalogContext
from pypaimon.catalog.catalog_exception import CatalogException
from pypaimon.catalog.jdbc_catalog import JdbcCatalog, _DbApiConnection
from pypaimon.common.options import Options
from pypaimon.common.options.config import JdbcCatalogOptions

from lithify.errors import LithifyError
from lithify.formats.paimon.access.object_file_io import ObjectFileIO
from lithify.io.databases import CONNECT_SECONDS, SILENCE_SECONDS, database_failure
from lithify.io.jdbc_uri import JdbcUri


class JdbcCatalogOfObjects(JdbcCatalog):  # type: ignore[misc]  # pypaimon is untyped
    """pypaimon's JDBC catalog without its own access to object stores."""

    def __init__(self, warehouse: str, options: Mapping[str, Any], file_io: ObjectFileIO) -> None:
        self.catalog_options = Options(dict(options))
        self.context = CatalogContext.create_from_options(self.catalog_options)
        self.options = self.catalog_options.to_map()
        self.warehouse = warehouse
        self.catalog_key = self.catalog_options.get(JdbcCatalogOptions.CATALOG_KEY)
        self.file_io = file_io
        self.connection = _DbApiConnection(self.options)
        self._initialize_catalog_tables()


def driver_settings(database: JdbcUri) -> dict[str, Any]:
    """Driver settings in addition to the catalog's options, by option name."""
    if database.kind == "postgresql":
        return {"jdbc.connect_timeout": CONNECT_SECONDS, "jdbc.passfile": "/dev/null"}
    if database.kind != "mysql":
        return {}
    if find_spec("pymysql") is not None:  # preferred by pypaimon; it sends no files unless configured to
        silence = {"jdbc.read_timeout": SILENCE_SECONDS, "jdbc.write_timeout": SILENCE_SECONDS}
        return {"jdbc.connect_timeout": CONNECT_SECONDS, **silence}
    return {"jdbc.connection_timeout": CONNECT_SECONDS, "jdbc.allow_local_infile": False}


@contextmanager
def database_answering(uri: str) -> Iterator[None]:
    """Turns driver errors into ours: drivers have their own exception classes, with the server's messages.

    Raises:
        NotAllowed: the database refuses the credentials.
        CatalogUnavailable: the database gives no answer.
    """
    try:
        yield
    except (LithifyError, CatalogException, RESTException, OSError):
        raise
    except Exception as error:  # noqa: BLE001  # each driver has another family of them
        raise database_failure(uri, error) from None
