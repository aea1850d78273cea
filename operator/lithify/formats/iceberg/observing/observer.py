"""Observes Iceberg tables and what is in their catalogs; implements `formats.protocol.observing`.

Loaded by `formats.registry`, in the workers of the controller's observer pool. `engine.observe` does the
observation, and asks each table through `observed_table`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from lithify.clock import Clock
from lithify.engine.observe.cache_folder import ObservationCaches
from lithify.engine.observe.observer import MOST_OPEN, Observer
from lithify.formats.iceberg.attempts import past_runs
from lithify.formats.iceberg.catalog import connecting
from lithify.formats.iceberg.catalog.connecting import AnyCatalog, open_catalog
from lithify.formats.iceberg.observing.cached_files import LAYOUT
from lithify.formats.iceberg.observing.observed_table import open_observed
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation, RunFound
from lithify.formats.protocol.observing import ObservationRequest


class IcebergObserver:
    """Observes tables, and caches what makes the next observation cheap.

    Args:
        caches: on-disk caches, for what does not fit into memory.
        clock: the current time.
        most_open: maximum number of open tables.
    """

    def __init__(self, caches: ObservationCaches, clock: Clock, most_open: int = MOST_OPEN) -> None:
        self._tables = Observer(open_observed, LAYOUT, caches, clock, most_open)

    def observe(self, request: ObservationRequest) -> Observation | None:
        """Observes a table; None if its newest snapshot is still the known one.

        Raises:
            InvalidOption: the filter names a column that is not a partition column.
            LithifyError: see `open_iceberg_table` and `observed_table`.
        """
        return self._tables.observe(request)

    def find_run(self, address: TableAddress, run: str, since: datetime | None = None) -> RunFound | None:
        """What a run has committed; see `past_runs.find_run`."""
        return past_runs.find_run(open_iceberg_table(address), run, since)

    def check_catalog(self, address: TableAddress) -> None:
        """Checks that a catalog answers, by listing its namespaces."""
        _catalog_of(address).namespaces(())

    def list_tables(self, address: TableAddress) -> tuple[str, ...]:
        """All tables of a catalog."""
        return tuple(sorted(connecting.list_tables(_catalog_of(address))))


def _catalog_of(address: TableAddress) -> AnyCatalog:
    return open_catalog(address.warehouse, address.catalog_options, address.reach)


def open_observer(cache: Path, limit: int, clock: Clock, most_open: int) -> IcebergObserver:
    """Opens an observer that caches tables in a folder of about `limit` bytes."""
    return IcebergObserver(ObservationCaches(cache, limit), clock, most_open)
