"""The tokens with which a REST catalog's server gives access to the files of one table.

Made by `connecting`. pypaimon caches them for the whole process by the catalog's bearer token and the table's
name: two Catalogs with the same token, or with none, would get each other's, and sign requests to their own
endpoint with them. Here a token belongs to one Catalog with all of its options.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, TypeVar

from pypaimon.catalog.rest.rest_token_file_io import RESTTokenFileIO
from pypaimon.common.identifier import Identifier
from pypaimon.common.options import Options

from lithify.formats.paimon.access import rest_client as _bounded  # noqa: F401  # tokens are asked for through it

_MOST_TOKENS = 4096
"""Tokens are requested again after this number of others, so that they do not fill the memory."""
Kept = TypeVar("Kept")


class _Latest(OrderedDict[str, Kept]):
    """The entries that were stored last, at most `_MOST_TOKENS`. pypaimon uses it under a lock."""

    def __setitem__(self, key: str, value: Kept) -> None:
        super().__setitem__(key, value)
        if len(self) > _MOST_TOKENS:
            self.popitem(last=False)


class DataTokens(RESTTokenFileIO):  # type: ignore[misc]  # pypaimon is untyped
    """Tokens for the files of one table of one Catalog. Picklable: executors get them with their task.

    Args:
        identifier: the table.
        path: its folder.
        options: the options with which its catalog was opened, credentials included.
        catalog: the Catalog as `namespace/name`, empty outside the operator.
    """

    _TOKEN_CACHE: _Latest[Any] = _Latest()
    _TOKEN_LOCKS: _Latest[Any] = _Latest()

    def __init__(self, identifier: Identifier, path: str, options: Options, catalog: str) -> None:
        super().__init__(identifier, path, options)
        self._owner = _digest(catalog, str(identifier), options.to_map())

    def _build_cache_key(self) -> str:
        return self._owner


def _digest(catalog: str, table: str, options: Mapping[str, Any]) -> str:
    """A digest that is equal only for the same table of the same Catalog with the same options."""
    text = json.dumps([catalog, table, sorted((name, str(value)) for name, value in options.items())])
    return sha256(text.encode()).hexdigest()
