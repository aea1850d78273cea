"""Observes the tables of one format and what is in their catalogs; implements `formats.protocol.observing`.

Each adapter has one `ObservedFormat`, a value that says how its tables are opened and its catalogs asked.
`formats.registry` opens its observer, in the workers of the controller's observer pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Generic

from lithify.clock import Clock
from lithify.engine.observe.cache_folder import ObservationCaches
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.observer import MOST_OPEN, Observer
from lithify.engine.observe.source import ObservedTable
from lithify.engine.observe.state import Details
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation, RunFound
from lithify.formats.protocol.observing import ObservationRequest


@dataclass(frozen=True, slots=True)
class ObservedFormat(Generic[Details]):
    """What an adapter gives its observer; `TableObserver` says what the last three return and raise.

    Attributes:
        open_table: opens a table.
        layout: how its files are cached.
        find_run: the commits of a run since a time.
        check_catalog: checks that a catalog answers.
        list_tables: all tables of a catalog.
    """

    open_table: Callable[[TableAddress], ObservedTable[Details]]
    layout: Layout[Details]
    find_run: Callable[[TableAddress, str, datetime | None], RunFound | None]
    check_catalog: Callable[[TableAddress], None]
    list_tables: Callable[[TableAddress], tuple[str, ...]]

    def open_observer(
        self, cache: Path, limit: int, clock: Clock, most_open: int = MOST_OPEN
    ) -> FormatObserver[Details]:
        """Opens an observer that caches tables in a folder of about `limit` bytes."""
        return FormatObserver(self, ObservationCaches(cache, limit), clock, most_open)


class FormatObserver(Generic[Details]):
    """Observes tables, and caches what makes the next observation cheap; implements `TableObserver`.

    Args:
        its: the format.
        caches: on-disk caches, for what does not fit into memory.
        clock: the current time.
        most_open: maximum number of open tables.
    """

    def __init__(
        self, its: ObservedFormat[Details], caches: ObservationCaches, clock: Clock, most_open: int
    ) -> None:
        self._format = its
        self._tables = Observer(its.open_table, its.layout, caches, clock, most_open)

    def observe(self, request: ObservationRequest) -> Observation | None:
        """Observes a table; None if its newest snapshot is still the known one."""
        return self._tables.observe(request)

    def find_run(self, address: TableAddress, run: str, since: datetime | None = None) -> RunFound | None:
        """The commits of a run; None if no snapshot records one."""
        return self._format.find_run(address, run, since)

    def check_catalog(self, address: TableAddress) -> None:
        """Checks that a catalog answers."""
        self._format.check_catalog(address)

    def list_tables(self, address: TableAddress) -> tuple[str, ...]:
        """All tables of a catalog."""
        return self._format.list_tables(address)
