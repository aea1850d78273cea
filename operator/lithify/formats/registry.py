"""Maps table formats to adapters, which are imported on first use.

Called by `engine.application`, the operator's workers and the command line, which reach adapters only through
this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lithify.clock import Clock
from lithify.errors import InvalidOption, NotFound
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observing import TableObserver
from lithify.formats.protocol.sample import SampleMaker
from lithify.formats.protocol.table import OpenTable


@dataclass(frozen=True, slots=True)
class _Adapter:
    """The modules of an adapter.

    Attributes:
        runs: module with `open_table`.
        looks: module with `open_watch`; imports nothing that writes data files.
        samples: module with `sample_maker`; None for formats without sample tables.
    """

    runs: str
    looks: str
    samples: str | None = None


_ADAPTERS = MappingProxyType(
    {
        "paimon": _Adapter(
            runs="lithify.formats.paimon.adapter",
            looks="lithify.formats.paimon.observing.looking",
            samples="lithify.formats.paimon.sample",
        )
    }
)

FORMATS = tuple(_ADAPTERS)
"""The formats that this release knows."""


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run and checks that its UUID is the expected one.

    Raises:
        InvalidOption: the format does not exist, or an option cannot be used.
        NotFound: the warehouse, database or table does not exist, or the UUID differs.
        UserError: the table cannot be served.
        StorageError: the file system refuses access, or the catalog does not answer.
    """
    opens: Callable[[TableAddress], OpenTable] = _module(_adapter(address.format).runs).open_table
    table = opens(address)
    if address.uuid is not None and table.uuid != address.uuid:
        hint = "another table has its name now, so it was dropped and created again since this was asked for"
        raise NotFound("table", table.name, hint)
    return table


def open_watch(name: str, cache: Path, limit: int, clock: Clock, most_open: int) -> TableObserver:
    """Opens the observer of a format's tables.

    Args:
        name: the format.
        cache: folder of the data cached between observations.
        limit: approximate size limit of the cache in bytes.
        clock: source of the current time.
        most_open: maximum number of tables that stay open.

    Raises:
        InvalidOption: the format does not exist.
    """
    opens: Callable[[Path, int, Clock, int], TableObserver] = _module(_adapter(name).looks).open_watch
    return opens(cache, limit, clock, most_open)


def sample_maker(name: str) -> SampleMaker:
    """Returns the maker of sample tables of a format.

    Raises:
        InvalidOption: the format does not exist or has no sample table.
    """
    module = _adapter(name).samples
    if module is None:
        known = ", ".join(name for name, adapter in _ADAPTERS.items() if adapter.samples is not None)
        raise InvalidOption("format", f"there is no sample table of format {name}, only of {known}")
    makes: Callable[[], SampleMaker] = _module(module).sample_maker
    return makes()


def _adapter(name: str) -> _Adapter:
    found = _ADAPTERS.get(name)
    if found is None:
        problem = f"'{name}' is no table format that this release knows"
        raise InvalidOption("format", f"{problem} ({', '.join(FORMATS)})")
    return found


def _module(name: str) -> Any:
    return import_module(name)
