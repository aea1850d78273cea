"""Connects to the database of a JDBC catalog, and keeps the driver's messages out of errors.

Used by `connecting`. pypaimon passes every option that begins with `jdbc.` to the database driver, so
dangerous driver defaults (reading a password file, sending local files to a server that requests them) are
switched off.
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

from lithify.errors import CatalogUnavailable, LithifyError, NotAllowed, NotFound
from lithify.formats.paimon.access.s3_file_io import S3FileIO
from lithify.io.access_policy import AccessPolicy
from lithify.io.guard import admit, is_guarded
from lithify.io.jdbc_uri import JdbcUri, read_jdbc_uri
from lithify.io.network_words import NO_SUCH_HOST, network_words, words_of

_CONNECT_SECONDS = 10
_SILENCE_SECONDS = 120
_REFUSED_STATES = "28"
"""The class of SQL states for credentials that are not accepted."""
_REFUSED_NUMBERS = frozenset({"1044", "1045", "1698"})
"""MySQL's numbers for the same."""
_REFUSED = re.compile(r"(password|ident|peer|SCRAM) authentication failed|role .* does not exist")
"""PostgreSQL's texts for the same; psycopg2 has no code for an error while it connects."""
_CODE = re.compile(r"[0-9A-Z]{5}|SQLITE_[A-Z_]{1,40}")


class JdbcCatalogOnS3(JdbcCatalog):  # type: ignore[misc]  # pypaimon is untyped
    """pypaimon's JDBC catalog without its own S3 access."""

    def __init__(self, warehouse: str, options: Mapping[str, Any], file_io: S3FileIO) -> None:
        self.catalog_options = Options(dict(options))
        self.context = CatalogContext.create_from_options(self.catalog_options)
        self.options = self.catalog_options.to_map()
        self.warehouse = warehouse
        self.catalog_key = self.catalog_options.get(JdbcCatalogOptions.CATALOG_KEY)
        self.file_io = file_io
        self.connection = _DbApiConnection(self.options)
        self._initialize_catalog_tables()


def check_database(uri: str, reach: AccessPolicy) -> JdbcUri:
    """Parses a URI and checks that its database may be accessed.

    Raises:
        InvalidOption: the URI does not have a supported form.
        OutOfReach: the process may not read the file, or not connect to the server.
        NotFound: the file does not exist: SQLite would create it, and users would not find their table.
        CatalogUnavailable: there is no such server.
    """
    database = read_jdbc_uri(uri)
    if database.kind == "sqlite":
        reach.check(database.file)
        if not Path(database.file).exists():
            raise NotFound("SQLite database", database.file, "the file does not exist")
    elif is_guarded() and not admit(database.host, database.port):
        raise CatalogUnavailable(uri, f"the database gives no answer ({NO_SUCH_HOST})")
    return database


def driver_settings(database: JdbcUri) -> dict[str, Any]:
    """Driver settings in addition to the catalog's options, by option name."""
    if database.kind == "postgresql":
        return {"jdbc.connect_timeout": _CONNECT_SECONDS, "jdbc.passfile": "/dev/null"}
    if database.kind != "mysql":
        return {}
    if find_spec("pymysql") is not None:  # preferred by pypaimon; it sends no files unless configured to
        silence = {"jdbc.read_timeout": _SILENCE_SECONDS, "jdbc.write_timeout": _SILENCE_SECONDS}
        return {"jdbc.connect_timeout": _CONNECT_SECONDS, **silence}
    return {"jdbc.connection_timeout": _CONNECT_SECONDS, "jdbc.allow_local_infile": False}


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
        if _is_refused(error):
            raise NotAllowed(uri, f"the database refuses the credentials ({_code(error)})") from None
        said = words_of(error) or network_words(str(error)) or _code(error)
        raise CatalogUnavailable(uri, f"the database gives no answer ({said})") from None


def _is_refused(error: Exception) -> bool:
    """Whether a server refuses the user, by its code; or by its text, where the driver has no code."""
    code = _code(error).rpartition(" ")[2]
    return (
        code.startswith(_REFUSED_STATES)
        or code in _REFUSED_NUMBERS
        or _REFUSED.search(str(error)) is not None
    )


def _code(error: Exception) -> str:
    """The class of a driver's error, and its error code if it has one."""
    first = error.args[0] if error.args else None
    names = [getattr(error, name, None) for name in ("sqlite_errorname", "sqlstate", "pgcode")]
    known = [name for name in names if isinstance(name, str) and _CODE.fullmatch(name)]
    numbers = [str(number) for number in (first, getattr(error, "errno", None)) if isinstance(number, int)]
    return " ".join([type(error).__name__, *[*known, *numbers][:1]])
