"""The tokens with which a REST catalog's server gives access to the files of one table.

Made by `connecting`. pypaimon caches them for the whole process by the catalog's bearer token and the table's
name: two Catalogs with the same token, or with none, would get each other's, and sign requests to their own
endpoint with them. Here a token belongs to one Catalog with all of its options.
"""

from __future__ import annotations

from typing import Any

from pypaimon.catalog.rest.rest_token_file_io import RESTTokenFileIO
from pypaimon.common.identifier import Identifier
from pypaimon.common.options import Options

from lithify.formats.paimon.access import rest_client as _bounded  # noqa: F401  # tokens are asked for through it
from lithify.io.owned_entries import Latest, owner_of

_MOST_TOKENS = 4096
"""Tokens are requested again after this number of others, so that they do not fill the memory."""


class DataTokens(RESTTokenFileIO):  # type: ignore[misc]  # pypaimon is untyped
    """Tokens for the files of one table of one Catalog. Picklable: executors get them with their task.

    Args:
        identifier: the table.
        path: its folder.
        options: the options with which its catalog was opened, credentials included.
        catalog: the Catalog as `namespace/name`, empty outside the operator.
    """

    _TOKEN_CACHE: Latest[Any] = Latest(_MOST_TOKENS)  # used under locks
    _TOKEN_LOCKS: Latest[Any] = Latest(_MOST_TOKENS)

    def __init__(self, identifier: Identifier, path: str, options: Options, catalog: str) -> None:
        super().__init__(identifier, path, options)
        self._owner = owner_of(catalog, [str(identifier)], options.to_map())

    def _build_cache_key(self) -> str:
        return self._owner
