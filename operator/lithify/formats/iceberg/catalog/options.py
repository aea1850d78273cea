"""The catalog options that may be set, by metastore, and the form of their values. Pure.

Called by `connecting` before any connection, and by `rest_client` for what a server sends. pyiceberg honours
far more options: some load classes (`py-catalog-impl`, `py-io-impl`, `auth`), read local files, or sign
requests with the process's identity. Only the options listed here reach it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from lithify.errors import InvalidOption
from lithify.io.jdbc_uri import read_jdbc_uri
from lithify.io.s3.settings import OPTION_NAMES as S3_OPTIONS
from lithify.io.s3.settings import PATIENCE
from lithify.settings import METASTORE, URI, catalog_option

FOLDER, REST, SQL, HIVE, GLUE = METASTORES = ("filesystem", "rest", "jdbc", "hive", "glue")

Check = Callable[[str], str | None]
"""Returns what is wrong with a value, None if it is valid."""

_HEADER = "header."
_HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_OWN_HEADERS = frozenset(
    {
        *("authorization", "host", "connection", "content-length", "content-type", "content-encoding"),
        *("transfer-encoding", "te", "trailer", "upgrade", "expect", "accept-encoding", "range"),
        "x-iceberg-access-delegation",
    }
)
_URL_PATH = re.compile(r"(/[A-Za-z0-9_~.-]+)*/?")
_URL_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)(:[0-9]{1,5})?")
_THRIFT = re.compile(r"thrift://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?):[0-9]{1,5}")
_PREFIX = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9_~. /-]{0,255}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SEPARATOR = re.compile(r"(%[0-9A-Fa-f]{2}|[.\x1f]){1,4}")


def metastore_of(options: Mapping[str, str]) -> str:
    """The kind of catalog.

    Raises:
        InvalidOption: this release does not know it.
    """
    metastore = options.get("metastore", FOLDER)
    if metastore not in METASTORES:
        raise InvalidOption(
            METASTORE, f"this release does not know '{metastore}', only {', '.join(METASTORES)}"
        )
    return metastore


def check_catalog_options(warehouse: str, options: Mapping[str, str]) -> None:
    """Refuses unknown options, and values that are ambiguous.

    Raises:
        InvalidOption: names the first of them.
    """
    metastore = metastore_of(options)
    _check_value("warehouse", warehouse, _no_check)
    for name in sorted(options):
        _check(name, str(options[name]), metastore)
    _check_uri(metastore, options)


def options_from_server(sent: object) -> dict[str, str]:
    """The options of a REST server that it may set for its clients; others are dropped.

    Raises:
        TypeError: the value is not a map of options.
        InvalidOption: an option's value cannot be used.
    """
    if sent is None:
        return {}
    if not isinstance(sent, Mapping):
        raise TypeError(f"a {type(sent).__name__} is no mapping of options")
    taken = {}
    for name, value in sent.items():
        if name in _FROM_SERVER and isinstance(value, str) and value:
            label = f"{name}, which the catalog's server sets"
            if name != "namespace-separator":  # usually the unit separator, which is a control character
                _check_value(label, value, _FROM_SERVER[name])
            elif not _SEPARATOR.fullmatch(value):
                raise InvalidOption(catalog_option(label), "it is no separator of a URL's path")
            taken[name] = value
    return taken


def _check(name: str, value: str, metastore: str) -> None:
    if name in ("metastore", "uri"):
        return
    if name == "warehouse":
        raise InvalidOption(catalog_option(name), "it stands beside the options, not among them")
    if metastore == REST and name.startswith(_HEADER):
        header = name.removeprefix(_HEADER)
        is_ours = header.lower() in _OWN_HEADERS or header.lower().startswith("proxy-")
        if not _HEADER_NAME.fullmatch(header) or is_ours:
            raise InvalidOption(catalog_option(name), "this header cannot be set")
        _check_value(name, value, _no_check)
        return
    check = OF_METASTORES[metastore].get(name)
    if check is None:
        problem = (
            f"it is no catalog option that this release knows for Iceberg and the metastore {metastore}; "
            "docs/commands.md lists those that it does"
        )
        raise InvalidOption(catalog_option(_CONTROL.sub("?", name[:128])), problem)
    _check_value(name, value, check)


def _check_value(name: str, value: str, check: Check) -> None:
    problem = "it contains control characters" if _CONTROL.search(value) else check(value)
    if problem is not None:
        raise InvalidOption(catalog_option(name), problem)


def _check_uri(metastore: str, options: Mapping[str, str]) -> None:
    uri = options.get("uri")
    if metastore in (FOLDER, GLUE):
        if uri is not None:
            raise InvalidOption(URI, f"it has no meaning for the metastore {metastore}")
        return
    if uri is None:
        raise InvalidOption(URI, f"the metastore {metastore} needs it")
    _check_value("uri", uri, {REST: http_uri, HIVE: _thrift_uri}.get(metastore, _no_check))
    if metastore == SQL and read_jdbc_uri(uri).kind == "mysql":
        raise InvalidOption(URI, "catalogs of Iceberg are read from PostgreSQL and SQLite, not from MySQL")


def http_uri(text: str) -> str | None:
    """What is wrong with the address of a server; None if it is valid."""
    scheme, colon, rest = text.partition("://")
    host, slash, path = rest.partition("/")
    is_plain = scheme.lower() in ("http", "https") and colon and _URL_HOST.fullmatch(host)
    segments = path.split("/")
    if not is_plain or not _URL_PATH.fullmatch(slash + path) or "." in segments or ".." in segments:
        return "it is not of the form https://host:port/path, without user, query or fragment"
    try:
        _ = urlsplit(text).port
    except ValueError:
        return "its port is none"
    return None


def _thrift_uri(text: str) -> str | None:
    return None if _THRIFT.fullmatch(text) else "it is not of the form thrift://host:port"


def _no_check(_: str) -> str | None:
    return None


def _boolean(text: str) -> str | None:
    return None if text.strip().lower() in ("true", "false") else f"'{text}' is neither true nor false"


def _prefix(text: str) -> str | None:
    return None if _PREFIX.fullmatch(text) and ".." not in text else "it cannot be a part of a URL's path"


def _page_size(text: str) -> str | None:
    is_right = text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= 100_000
    return None if is_right else f"'{text}' is no number of names in a page"


_ICEBERG_S3 = frozenset(
    {"s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.path-style-access", "client.region"}
)
"""The names that Iceberg's own clients have for S3; `credentials` translates them."""

_EVERYWHERE: dict[str, Check] = {
    **dict.fromkeys((*S3_OPTIONS, *_ICEBERG_S3), _no_check),  # `s3.settings` checks their values
    PATIENCE: _no_check,
}
OF_METASTORES: dict[str, dict[str, Check]] = {
    FOLDER: _EVERYWHERE,
    REST: {
        **_EVERYWHERE,
        **dict.fromkeys(("credential", "token", "scope", "audience", "resource"), _no_check),
        "oauth2-server-uri": http_uri,
        "prefix": _prefix,
        "rest-page-size": _page_size,
    },
    SQL: {**_EVERYWHERE, **dict.fromkeys(("jdbc.user", "jdbc.password", "catalog-name"), _no_check)},
    HIVE: {**_EVERYWHERE, "hive.hive2-compatible": _boolean},
    GLUE: {
        **_EVERYWHERE,
        **dict.fromkeys(("glue.id", "glue.region", "glue.access-key-id"), _no_check),
        **dict.fromkeys(("glue.secret-access-key", "glue.session-token"), _no_check),
        "glue.endpoint": http_uri,
    },
}
_FROM_SERVER: dict[str, Check] = {
    "prefix": _prefix,
    "namespace-separator": _no_check,
    "rest-page-size": _page_size,
    "s3.remote-signing-enabled": _boolean,
    **dict.fromkeys(("s3.endpoint", "s3.region", "client.region", "s3.path-style-access"), _no_check),
}
