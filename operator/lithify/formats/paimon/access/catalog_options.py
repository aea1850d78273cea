"""The catalog options that may be set, by metastore, and the form of their values. Pure.

Called by `connecting` before any connection, and by `rest_client` for options that a catalog's server sets.
pypaimon honours far more options: some read local files, request tokens from other addresses, or load other
file systems. Only the options listed here reach it.
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

Check = Callable[[str], str | None]
"""Returns what is wrong with a value, None if it is valid."""

_HEADER = "header."
_HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_OWN_HEADERS = frozenset(
    {
        *("authorization", "host", "connection", "content-length", "content-type", "content-encoding"),
        *("transfer-encoding", "te", "trailer", "upgrade", "expect", "accept-encoding", "range"),
    }
)
_URL_PATH = re.compile(r"(/[A-Za-z0-9_~.-]+)*/?")
_URL_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)(:[0-9]{1,5})?")
_PREFIX = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9_~. -]{0,255}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_catalog_options(warehouse: str, options: Mapping[str, str]) -> None:
    """Refuses unknown options, and values that are ambiguous.

    Raises:
        InvalidOption: names the first of them.
    """
    metastore = options.get("metastore", "filesystem")
    if metastore not in _OF_METASTORES:
        known = ", ".join(_OF_METASTORES)
        raise InvalidOption(METASTORE, f"this release does not know '{metastore}', only {known}")
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
        if name in _FROM_SERVER and isinstance(value, str):
            _check_value(f"{name}, which the catalog's server sets", value, _FROM_SERVER[name])
            taken[name] = value
    return taken


def _check(name: str, value: str, metastore: str) -> None:
    if name in ("metastore", "uri"):
        return
    if name == "warehouse":
        raise InvalidOption(catalog_option(name), "it stands beside the options, not among them")
    if metastore == "rest" and name.startswith(_HEADER):
        header = name.removeprefix(_HEADER)
        if not _HEADER_NAME.fullmatch(header) or header.lower() in _OWN_HEADERS or _is_for_proxies(header):
            raise InvalidOption(catalog_option(name), "this header cannot be set")
        _check_value(name, value, _no_check)
        return
    check = _OF_METASTORES[metastore].get(name)
    if check is None:
        problem = (
            f"it is no catalog option that this release knows for the metastore {metastore}; "
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
    if metastore == "filesystem":
        if uri is not None:
            raise InvalidOption(URI, "it has no meaning for the metastore filesystem")
        return
    if uri is None:
        raise InvalidOption(URI, f"the metastore {metastore} needs it")
    _check_value("uri", uri, _http_uri if metastore == "rest" else lambda _: None)
    if metastore == "jdbc":
        read_jdbc_uri(uri)
    if metastore == "rest" and not options.get("token", "").strip():
        raise InvalidOption(catalog_option("token"), "the metastore rest needs it, for token.provider bear")


def _http_uri(text: str) -> str | None:
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


def _no_check(_: str) -> str | None:
    return None


def _boolean(text: str) -> str | None:
    return None if text.strip().lower() in ("true", "false") else f"'{text}' is neither true nor false"


def _provider(text: str) -> str | None:
    return None if text == "bear" else f"this release knows the provider bear only, not '{text}'"


def _prefix(text: str) -> str | None:
    return None if _PREFIX.fullmatch(text) else "it is no single name that a path could contain"


def _is_for_proxies(header: str) -> bool:
    return header.lower().startswith("proxy-")


_EVERYWHERE: dict[str, Check] = {
    **dict.fromkeys(S3_OPTIONS, _no_check),  # `s3.settings` checks their values
    PATIENCE: _no_check,
    "lock.enabled": _boolean,
    # Known to Java's catalogs; accepted so that one description serves both, ignored here.
    **dict.fromkeys(("allow-upper-case", "cache-enabled", "case-sensitive", "client-pool-size"), _no_check),
    **dict.fromkeys(("lock.type", "lock-acquire-timeout", "lock-check-max-sleep"), _no_check),
    "sync-all-properties": _boolean,
}
_OF_METASTORES: dict[str, dict[str, Check]] = {
    "filesystem": _EVERYWHERE,
    "rest": {
        **_EVERYWHERE,
        "token.provider": _provider,
        "token": _no_check,
        "data-token.enabled": _boolean,
        "prefix": _prefix,
    },
    "jdbc": {
        **_EVERYWHERE,
        **dict.fromkeys(("catalog-key", "jdbc.user", "jdbc.username", "jdbc.password"), _no_check),
    },
}
_FROM_SERVER: dict[str, Check] = {"prefix": _prefix, "data-token.enabled": _boolean}
