"""Parses JDBC URIs, in one strict form. Pure.

Used by the adapters whose catalogs are databases; every other form is refused. Libraries pass a URI's
query to the database driver as arguments, some of which read or send local files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lithify.errors import InvalidOption
from lithify.settings import URI

_SERVER = re.compile(
    r"jdbc:(?P<kind>mysql|postgresql)://"
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)"
    r"(:(?P<port>[0-9]{1,5}))?/(?P<database>[A-Za-z0-9_][A-Za-z0-9_$-]*)"
)
_SQLITE = re.compile(r"jdbc:sqlite:(?P<file>[^:?#%\x00-\x1f]+)")
_PORTS = {"mysql": 3306, "postgresql": 5432}
_FORMS = (
    "jdbc:mysql://host:port/database, jdbc:postgresql://host:port/database and jdbc:sqlite:/path/of/a/file"
)


@dataclass(frozen=True, slots=True)
class JdbcUri:
    """The database of a URI: a file, or a server's host and port."""

    kind: str
    file: str = ""
    host: str = ""
    port: int = 0


def read_jdbc_uri(uri: str) -> JdbcUri:
    """Parses a JDBC URI.

    Raises:
        InvalidOption: it has another form. The message does not show it: URIs may contain passwords.
    """
    sqlite = _SQLITE.fullmatch(uri)
    if sqlite is not None and not sqlite["file"].startswith("//"):
        return JdbcUri("sqlite", file=sqlite["file"])
    server = _SERVER.fullmatch(uri)
    port = int(server["port"] or _PORTS[server["kind"]]) if server is not None else 0
    if server is None or not 0 < port < 1 << 16:
        problem = (
            f"this release takes {_FORMS}, without parameters; user and password are the options jdbc.user "
            "and jdbc.password"
        )
        raise InvalidOption(URI, problem)
    return JdbcUri(server["kind"], host=server["host"].strip("[]"), port=port)
