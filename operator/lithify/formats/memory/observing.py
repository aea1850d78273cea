"""Observes reference tables and lists those of a warehouse; implements `formats.protocol.observing`.

Loaded by `formats.registry`. `engine.observe` does the observation, and asks each table through
`observed_table`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from lithify.clock import Clock
from lithify.engine.observe.cache_folder import ObservationCaches
from lithify.engine.observe.observer import Observer
from lithify.errors import NotFound
from lithify.formats.memory.observed_table import LAYOUT, open_observed
from lithify.formats.memory.past_runs import past_run
from lithify.formats.memory.table import open_table, warehouse_of
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation, RunFound
from lithify.formats.protocol.observing import ObservationRequest


class MemoryObserver:
    """Observes tables, and caches what makes the next observation cheap."""

    def __init__(self, caches: ObservationCaches, clock: Clock, most_open: int) -> None:
        self._tables = Observer(open_observed, LAYOUT, caches, clock, most_open)

    def observe(self, request: ObservationRequest) -> Observation | None:
        """Observes a table; None if its newest snapshot is still the known one."""
        return self._tables.observe(request)

    def find_run(self, address: TableAddress, run: str, since: datetime | None = None) -> RunFound | None:
        """The commits of a run."""
        del since
        past = past_run(open_table(address), run)
        return None if past is None else past.found

    def check_catalog(self, address: TableAddress) -> None:
        """Checks that the warehouse exists.

        Raises:
            NotFound: it does not.
        """
        if not Path(warehouse_of(address)).is_dir():
            raise NotFound("warehouse", address.warehouse)

    def list_tables(self, address: TableAddress) -> tuple[str, ...]:
        """All tables of the warehouse."""
        warehouse = Path(warehouse_of(address))
        folders = (path.parent.relative_to(warehouse) for path in warehouse.rglob("definition.json"))
        return tuple(sorted(".".join(folder.parts) for folder in folders))


def open_observer(cache: Path, limit: int, clock: Clock, most_open: int) -> MemoryObserver:
    """Opens an observer that caches tables in a folder of about `limit` bytes."""
    return MemoryObserver(ObservationCaches(cache, limit), clock, most_open)
