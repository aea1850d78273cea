"""What processes keep of credentials that servers gave for single tables, apart for each owner.

Used by adapters whose catalogs vend credentials. A worker serves the Catalogs of all tenants, so an entry is
found only with the Catalog, the table and all options for which it was made.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeVar

Kept = TypeVar("Kept")


class Latest(OrderedDict[str, Kept]):
    """The entries that were stored last: renewed credentials would grow it without bound.

    Args:
        most: the number of entries.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: str, value: Kept) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


def owner_of(catalog: str, table: Sequence[str], options: Mapping[str, Any]) -> str:
    """A digest that is equal only for the same table of the same Catalog with the same options.

    Args:
        catalog: the Catalog as `namespace/name`, empty outside of the operator.
        table: what tells the table from others of the Catalog.
        options: the options with which the catalog was opened, credentials included.
    """
    text = json.dumps([catalog, *table, sorted((name, str(value)) for name, value in options.items())])
    return sha256(text.encode()).hexdigest()
