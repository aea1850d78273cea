"""Which adapter serves which table format. Adapters are imported when one is first needed.

Called by `job`, the operator's workers and the command line, which know no format otherwise.
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
from lithify.tables.address import TableAddress
from lithify.tables.format import OpenTable
from lithify.tables.sample import SampleMaker
from lithify.tables.watching import TableWatch


@dataclass(frozen=True, slots=True)
class _Adapter:
    """The modules of an adapter.

    Attributes:
        runs: has `open_table`.
        looks: has `open_watch`; needs nothing that writes data files.
        samples: has `sample_maker`; None where there are no sample tables.
    """

    runs: str
    looks: str
    samples: str | None = None


_ADAPTERS = MappingProxyType(
    {
        "paimon": _Adapter(
            runs="lithify.tables.paimon.adapter",
            looks="lithify.tables.paimon.observing.looking",
            samples="lithify.tables.paimon.sample",
        )
    }
)

FORMATS = tuple(_ADAPTERS)
"""The formats that this release knows."""


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run, and makes sure that it is the one that is expected.

    Raises:
        InvalidOption: there is no such format, or an option cannot be used.
        NotFound: the warehouse, database or table does not exist, or it is another table.
        UserError: it cannot be served.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    opens: Callable[[TableAddress], OpenTable] = _module(_adapter(address.format).runs).open_table
    table = opens(address)
    if address.uuid is not None and table.uuid != address.uuid:
        hint = "another table has its name now, so it was dropped and created again since this was asked for"
        raise NotFound("table", table.name, hint)
    return table


def open_watch(name: str, cache: Path, limit: int, clock: Clock, most_open: int) -> TableWatch:
    """What looks at the tables of a format.

    Args:
        name: the format.
        cache: a folder for what is kept of tables between two looks.
        limit: bytes of that, about.
        clock: what the time is.
        most_open: how many tables stay open.

    Raises:
        InvalidOption: there is no such format.
    """
    opens: Callable[[Path, int, Clock, int], TableWatch] = _module(_adapter(name).looks).open_watch
    return opens(cache, limit, clock, most_open)


def sample_maker(name: str) -> SampleMaker:
    """What makes sample tables of a format.

    Raises:
        InvalidOption: there is no such format, or it has no sample table.
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
