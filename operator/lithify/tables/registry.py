"""Which adapter serves which table format. Adapters are imported when one is first needed.

Called by `job`, which knows no format otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from lithify.errors import InvalidOption
from lithify.tables.format import OpenTable, TableAddress

_ADAPTERS: Mapping[str, str] = MappingProxyType({"paimon": "lithify.tables.paimon.adapter"})
"""Modules with a function `open_table`, by format."""


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run.

    Raises:
        InvalidOption: there is no such format, or an option cannot be used.
        NotFound: the warehouse, database or table does not exist.
        UserError: it cannot be served.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    name = _ADAPTERS.get(address.format)
    if name is None:
        known = ", ".join(sorted(_ADAPTERS))
        raise InvalidOption(
            "format", f"'{address.format}' is no table format that this release knows ({known})"
        )
    opens: Callable[[TableAddress], OpenTable] = import_module(name).open_table
    return opens(address)
