"""The catalog options of Iceberg; `io.catalog_options` checks them. Pure.

Called by `connecting` before any connection, and by `rest_client` for what a server sends. pyiceberg honours
far more options: some load classes (`py-catalog-impl`, `py-io-impl`, `auth`), read local files, or sign
requests with the process's identity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lithify.errors import InvalidOption
from lithify.io.catalog_options import FOLDER, CatalogOptions, Check, anything, boolean, http_uri
from lithify.io.jdbc_uri import read_jdbc_uri
from lithify.io.objects.gcs import ENDPOINT as GCS_ENDPOINT
from lithify.io.objects.oss import ICEBERG_ENDPOINT as OSS_ENDPOINT
from lithify.io.objects.stores import OPTION_FAMILIES, OPTION_NAMES, WITH_LINES
from lithify.settings import URI

REST, SQL, HIVE, GLUE = "rest", "jdbc", "hive", "glue"

_THRIFT = re.compile(r"thrift://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?):[0-9]{1,5}")
_PREFIX = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9_~. /-]{0,255}")
_SEPARATOR = re.compile(r"(%[0-9A-Fa-f]{2}|[.\x1f]){1,4}")


def check_catalog_options(warehouse: str, options: Mapping[str, str]) -> None:
    """Refuses unknown options, and values that are ambiguous.

    Raises:
        InvalidOption: names the first of them.
    """
    CATALOG_OPTIONS.check(warehouse, options)
    if CATALOG_OPTIONS.metastore_of(options) == SQL and read_jdbc_uri(options["uri"]).kind == "mysql":
        raise InvalidOption(URI, "catalogs of Iceberg are read from PostgreSQL and SQLite, not from MySQL")


def _thrift_uri(text: str) -> str | None:
    return None if _THRIFT.fullmatch(text) else "it is not of the form thrift://host:port"


def _prefix(text: str) -> str | None:
    return None if _PREFIX.fullmatch(text) and ".." not in text else "it cannot be a part of a URL's path"


def _separator(text: str) -> str | None:
    return None if _SEPARATOR.fullmatch(text) else "it is no separator of a URL's path"


def _page_size(text: str) -> str | None:
    is_right = text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= 100_000
    return None if is_right else f"'{text}' is no number of names in a page"


_ICEBERG_S3 = frozenset(
    {"s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.path-style-access", "client.region"}
)
"""The names that Iceberg's own clients have for S3; `credentials` translates them."""

_EVERYWHERE: dict[str, Check] = {
    **dict.fromkeys((*OPTION_NAMES, *_ICEBERG_S3), anything),  # `io.objects` checks their values
}
CATALOG_OPTIONS = CatalogOptions(
    format="Iceberg",
    known={
        FOLDER: _EVERYWHERE,
        REST: {
            **_EVERYWHERE,
            **dict.fromkeys(("credential", "token", "scope", "audience", "resource"), anything),
            "oauth2-server-uri": http_uri,
            "prefix": _prefix,
            "rest-page-size": _page_size,
        },
        SQL: {**_EVERYWHERE, **dict.fromkeys(("jdbc.user", "jdbc.password", "catalog-name"), anything)},
        HIVE: {**_EVERYWHERE, "hive.hive2-compatible": boolean},
        GLUE: {
            **_EVERYWHERE,
            **dict.fromkeys(("glue.id", "glue.region", "glue.access-key-id"), anything),
            **dict.fromkeys(("glue.secret-access-key", "glue.session-token"), anything),
            "glue.endpoint": http_uri,
        },
    },
    uris={REST: http_uri, SQL: anything, HIVE: _thrift_uri},
    from_server={
        "prefix": _prefix,
        "namespace-separator": _separator,  # usually the unit separator, which is a control character
        "rest-page-size": _page_size,
        "s3.remote-signing-enabled": boolean,
        **dict.fromkeys(("s3.endpoint", "s3.region", "client.region", "s3.path-style-access"), anything),
        **dict.fromkeys((GCS_ENDPOINT, OSS_ENDPOINT), anything),
    },
    families=OPTION_FAMILIES,
    skips_empty=True,
    control_characters=frozenset({"namespace-separator", *WITH_LINES}),
    own_headers=frozenset({"x-iceberg-access-delegation"}),
)
