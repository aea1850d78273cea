"""Connects to the database of a JDBC catalog, and keeps its words out of errors.

Used by `connecting`. pypaimon passes every option that begins with `jdbc.` to the database's driver, so what
a driver would do by default (read a password file, send local files to a server that asks) is switched off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pypaimon.api.rest_exception import RESTException
from pypaimon.catalog.catalog_context import CatalogContext
from pypaimon.catalog.catalog_exception import CatalogException
from pypaimon.catalog.jdbc_catalog import JdbcCatalog, _DbApiConnection
from pypaimon.common.options import Options
from pypaimon.common.options.config import JdbcCatalogOptions

from lithify.errors import CatalogUnavailable, LithifyError, NotFound
from lithify.tables.io.guard import admit, is_guarded
from lithify.tables.io.reach import Reach
from lithify.tables.paimon.catalog.jdbc_uri import JdbcUri, read_jdbc_uri
from lithify.tables.paimon.catalog.s3_file_io import S3FileIO

_CONNECT_SECONDS = 10
_SILENCE_SECONDS = 120
_CODE = re.compile(r"[0-9A-Z]{5}|SQLITE_[A-Z_]{1,40}")


class JdbcCatalogOnS3(JdbcCatalog):  # type: ignore[misc]  # pypaimon is untyped
    """pypaimon's catalog of a database, without its own way to S3."""

    def __init__(self, warehouse: str, options: Mapping[str, Any], file_io: S3FileIO) -> None:
        self.catalog_options = Options(dict(options))
        self.context = CatalogContext.create_from_options(self.catalog_options)
        self.options = self.catalog_options.to_map()
        self.warehouse = warehouse
        self.catalog_key = self.catalog_options.get(JdbcCatalogOptions.CATALOG_KEY)
        self.file_io = file_io
        self.connection = _DbApiConnection(self.options)
        self._initialize_catalog_tables()


def check_database(uri: str, reach: Reach) -> JdbcUri:
    """The database of a URI, which may be reached.

    Raises:
        InvalidOption: the URI is not of a form that this release takes.
        OutOfReach: the process may not read the file, or not connect to the server.
        NotFound: the file does not exist: SQLite would make it, and users would look for their table in vain.
        CatalogUnavailable: the server's name cannot be resolved.
    """
    database = read_jdbc_uri(uri)
    if database.kind == "sqlite":
        reach.check(database.file)
        if not Path(database.file).exists():
            raise NotFound("SQLite database", database.file, "the file does not exist")
    elif is_guarded() and not admit(database.host, database.port):
        raise CatalogUnavailable(uri, "the name of its server cannot be resolved")
    return database


def driver_settings(database: JdbcUri) -> dict[str, Any]:
    """What the database's driver is told beside the catalog's options, by the names of options."""
    if database.kind == "postgresql":
        return {"jdbc.connect_timeout": _CONNECT_SECONDS, "jdbc.passfile": "/dev/null"}
    if database.kind != "mysql":
        return {}
    if find_spec("pymysql") is not None:  # which pypaimon prefers; it sends no files unless it is told to
        silence = {"jdbc.read_timeout": _SILENCE_SECONDS, "jdbc.write_timeout": _SILENCE_SECONDS}
        return {"jdbc.connect_timeout": _CONNECT_SECONDS, **silence}
    return {"jdbc.connection_timeout": _CONNECT_SECONDS, "jdbc.allow_local_infile": False}


@contextmanager
def database_answering(uri: str) -> Iterator[None]:
    """The drivers have errors of their own, each another family, with what the server says in them."""
    try:
        yield
    except (LithifyError, CatalogException, RESTException, OSError):
        raise
    except Exception as error:  # noqa: BLE001  # each driver has another family of them
        raise CatalogUnavailable(uri, f"the database gives no answer ({_code(error)})") from None


def _code(error: Exception) -> str:
    """The kind of a driver's error, and its code if it has one."""
    first = error.args[0] if error.args else None
    names = [getattr(error, name, None) for name in ("sqlite_errorname", "sqlstate", "pgcode")]
    known = [name for name in names if isinstance(name, str) and _CODE.fullmatch(name)]
    numbers = [str(number) for number in (first, getattr(error, "errno", None)) if isinstance(number, int)]
    return " ".join([type(error).__name__, *[*known, *numbers][:1]])
