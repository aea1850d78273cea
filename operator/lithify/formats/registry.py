"""Finds the adapter of a table format (`adapters`), and imports it on first use.

Called by `engine.run`, the operator's workers and the command line, which reach adapters only here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from lithify.clock import Clock
from lithify.errors import InvalidOption, NotFound, UnsupportedTable
from lithify.formats.adapters import ADAPTERS, FORMATS, Adapter
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.importing import ImportedSettings, Importer
from lithify.formats.protocol.maintenance import (
    DEFAULT_SETTINGS,
    MaintainedTable,
    Maintenance,
    MaintenanceKind,
    MaintenanceSettings,
)
from lithify.formats.protocol.observing import TableObserver
from lithify.formats.protocol.sample import SampleMaker
from lithify.formats.protocol.table import OpenTable

Opened = TypeVar("Opened", OpenTable, MaintainedTable)


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run and checks that its UUID is the expected one.

    Raises:
        InvalidOption: the format does not exist, or an option cannot be used.
        NotFound: the warehouse, database or table does not exist, or the UUID differs.
        UserError: the table cannot be served.
        StorageError: the file system refuses access, or the catalog does not answer.
    """
    opens: Callable[[TableAddress], OpenTable] = _module(_adapter(address.format).runs).open_table
    return _identified(opens(address), address)


def open_maintenance(
    address: TableAddress, kind: MaintenanceKind, settings: MaintenanceSettings = DEFAULT_SETTINGS
) -> Maintenance[Any]:
    """Opens a table for one kind of maintenance; its UUID is checked as for a run.

    Raises:
        InvalidOption: the format does not exist, or an option cannot be used.
        NotFound: the warehouse, database or table does not exist, or the UUID differs.
        UnsupportedTable: tables of its format do not have this kind.
        UserError: the table cannot be served.
        StorageError: the file system refuses access, or the catalog does not answer.
    """
    module = _adapter(address.format).maintains
    if module is not None:
        opens: Callable[[TableAddress, MaintenanceSettings], MaintainedTable]
        opens = _module(module).open_maintained
        found = _identified(opens(address, settings), address).kinds.get(kind)
        if found is not None:
            return found()
    reason = f"this release has no {kind} for tables of format {address.format}"
    raise UnsupportedTable(address.name, (reason,), "maintained")


def open_observer(name: str, cache: Path, limit: int, clock: Clock, most_open: int) -> TableObserver:
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
    opens: Callable[[Path, int, Clock, int], TableObserver] = _module(_adapter(name).observes).open_observer
    return opens(cache, limit, clock, most_open)


def has_nested_namespaces(name: str) -> bool:
    """Whether tables of a format may lie in namespaces of several levels.

    Raises:
        InvalidOption: the format does not exist.
    """
    return _adapter(name).has_nested_namespaces


def group_noun(name: str) -> str:
    """What a format calls the groups of files that are compacted, for sentences.

    Raises:
        InvalidOption: the format does not exist.
    """
    return _adapter(name).group_noun


def sample_maker(name: str) -> SampleMaker:
    """Returns the maker of sample tables of a format.

    Raises:
        InvalidOption: the format does not exist or has no sample table.
    """
    module = _adapter(name).samples
    if module is None:
        known = ", ".join(name for name, adapter in ADAPTERS.items() if adapter.samples is not None)
        raise InvalidOption("format", f"there is no sample table of format {name}, only of {known}")
    makes: Callable[[], SampleMaker] = _module(module).sample_maker
    return makes()


def import_settings(text: str, table: str | None) -> ImportedSettings | None:
    """What settings of other programs become, by the first format that knows them; None if none does.

    Args:
        text: the settings.
        table: the table whose settings these are, if the text does not name it.

    Raises:
        InvalidOption: the text cannot be read, or a value is invalid.
    """
    for adapter in ADAPTERS.values():
        if adapter.imports is not None:
            reads: Importer = _module(adapter.imports).import_settings
            found = reads(text, table)
            if found is not None:
                return found
    return None


def _identified(table: Opened, address: TableAddress) -> Opened:
    if address.uuid is not None and table.uuid != address.uuid:
        hint = "another table has its name now, so it was dropped and created again since this was asked for"
        raise NotFound("table", table.name, hint)
    return table


def _adapter(name: str) -> Adapter:
    found = ADAPTERS.get(name)
    if found is None:
        problem = f"'{name}' is no table format that this release knows"
        raise InvalidOption("format", f"{problem} ({', '.join(FORMATS)})")
    return found


def _module(name: str) -> Any:
    return import_module(name)
