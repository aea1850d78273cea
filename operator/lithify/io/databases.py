"""Databases of JDBC catalogs: whether one may be accessed, and what its driver's errors mean.

Called by adapters, which connect by libraries of their own. Messages of drivers are not repeated: they may
have passwords in them, and texts of the server's.
"""

from __future__ import annotations

import re
from pathlib import Path

from lithify.errors import CatalogUnavailable, LithifyError, NotAllowed, NotFound
from lithify.io.access_policy import AccessPolicy
from lithify.io.guard import admit, is_guarded
from lithify.io.jdbc_uri import JdbcUri, read_jdbc_uri
from lithify.io.network_words import NO_SUCH_HOST, network_words, words_of

CONNECT_SECONDS = 10
"""Time that a server has for a connection."""
SILENCE_SECONDS = 120
"""Time that it has for an answer."""

_REFUSED_STATES = "28"
"""The class of SQL states for credentials that are not accepted."""
_REFUSED_NUMBERS = frozenset({"1044", "1045", "1698"})
"""MySQL's numbers for the same."""
_REFUSED = re.compile(r"(password|ident|peer|SCRAM) authentication failed|role .* does not exist")
"""PostgreSQL's texts for the same; psycopg2 has no code for an error while it connects."""
_CODE = re.compile(r"[0-9A-Z]{5}|SQLITE_[A-Z_]{1,40}")


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


def database_failure(uri: str, error: BaseException) -> LithifyError:
    """What a driver's error means: NotAllowed for credentials that are refused, else CatalogUnavailable."""
    if _is_refused(error):
        return NotAllowed(uri, f"the database refuses the credentials ({_code(error)})")
    said = words_of(error) or network_words(str(error)) or _code(error)
    return CatalogUnavailable(uri, f"the database gives no answer ({said})")


def _is_refused(error: BaseException) -> bool:
    """Whether a server refuses the user, by its code; or by its text, where the driver has no code."""
    code = _code(error).rpartition(" ")[2]
    return (
        code.startswith(_REFUSED_STATES)
        or code in _REFUSED_NUMBERS
        or _REFUSED.search(str(error)) is not None
    )


def _code(error: BaseException) -> str:
    """The class of a driver's error, and its error code if it has one."""
    first = error.args[0] if error.args else None
    names = [getattr(error, name, None) for name in ("sqlite_errorname", "sqlstate", "pgcode")]
    known = [name for name in names if isinstance(name, str) and _CODE.fullmatch(name)]
    numbers = [str(number) for number in (first, getattr(error, "errno", None)) if isinstance(number, int)]
    return " ".join([type(error).__name__, *[*known, *numbers][:1]])
