"""The catalog options of Paimon; `io.catalog_options` checks them. Pure.

Called by `connecting` before any connection, and by `rest_client` for options that a catalog's server sets.
pypaimon honours far more options: some read local files, request tokens from other addresses, or load other
file systems.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pypaimon.common.time_utils import parse_duration

from lithify.errors import InvalidOption
from lithify.io.catalog_options import FOLDER, CatalogOptions, Check, anything, boolean, http_uri
from lithify.io.jdbc_uri import read_jdbc_uri
from lithify.io.objects.stores import OPTION_FAMILIES, OPTION_NAMES, WITH_LINES
from lithify.settings import catalog_option

_PREFIX = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9_~. -]{0,255}")


def check_catalog_options(warehouse: str, options: Mapping[str, str]) -> None:
    """Refuses unknown options, and values that are ambiguous.

    Raises:
        InvalidOption: names the first of them.
    """
    CATALOG_OPTIONS.check(warehouse, options)
    metastore = CATALOG_OPTIONS.metastore_of(options)
    if metastore == "jdbc":
        read_jdbc_uri(options["uri"])
    if metastore == "rest" and not options.get("token", "").strip():
        raise InvalidOption(catalog_option("token"), "the metastore rest needs it, for token.provider bear")


def _provider(text: str) -> str | None:
    return None if text == "bear" else f"this release knows the provider bear only, not '{text}'"


def _duration(text: str) -> str | None:
    try:
        is_valid = parse_duration(text) >= 0
    except ValueError:
        is_valid = False
    return None if is_valid else f"'{text}' is no duration such as 8 min"


def _length(text: str) -> str | None:
    return None if text.isascii() and text.isdigit() and int(text[:9]) > 0 else f"'{text}' is no length"


def _prefix(text: str) -> str | None:
    return None if _PREFIX.fullmatch(text) else "it is no single name that a path could contain"


_EVERYWHERE: dict[str, Check] = {
    **dict.fromkeys(OPTION_NAMES, anything),  # `io.objects` checks their values
    "lock.enabled": boolean,
    # Known to Java's catalogs; accepted so that one description serves both, ignored here.
    **dict.fromkeys(("allow-upper-case", "cache-enabled", "case-sensitive", "client-pool-size"), anything),
    "lock.type": anything,
    **dict.fromkeys(("lock-acquire-timeout", "lock-check-max-sleep"), _duration),
    "sync-all-properties": boolean,
}
CATALOG_OPTIONS = CatalogOptions(
    known={
        FOLDER: _EVERYWHERE,
        "rest": {
            **_EVERYWHERE,
            "token.provider": _provider,
            "token": anything,
            "data-token.enabled": boolean,
            "prefix": _prefix,
        },
        "jdbc": {
            **_EVERYWHERE,
            "lock-key-max-length": _length,
            **dict.fromkeys(("catalog-key", "jdbc.user", "jdbc.username", "jdbc.password"), anything),
        },
    },
    uris={"rest": http_uri, "jdbc": anything},
    families=OPTION_FAMILIES,
    from_server={"prefix": _prefix, "data-token.enabled": boolean},
    control_characters=WITH_LINES,
)
