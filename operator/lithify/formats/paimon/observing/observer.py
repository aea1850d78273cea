"""Observes Paimon tables and what is in their catalogs; implements `TableObserver`.

Called by the workers of the controller's observer pool. `engine.observe` does the observation, and asks each
table through `observed_table`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from lithify.clock import Clock
from lithify.engine.observe.cache_folder import ObservationCaches
from lithify.engine.observe.observer import MOST_OPEN, Observer
from lithify.formats.paimon.catalog import connecting
from lithify.formats.paimon.commit import found_runs
from lithify.formats.paimon.observing.cached_state import LAYOUT
from lithify.formats.paimon.observing.observed_table import open_observed
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation, RunFound
from lithify.formats.protocol.observing import ObservationRequest


class PaimonObserver:
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
            LithifyError: see `open_table` and `observed_table`.
        """
        return self._tables.observe(request)

    def find_run(self, address: TableAddress, run: str, since: datetime | None = None) -> RunFound | None:
        """What a run has committed; see `found_runs.find_run`."""
        return found_runs.find_run(open_table(address), run, since)

    def check_catalog(self, address: TableAddress) -> None:
        """Checks a catalog with a cheap request; see `connecting.check_catalog`."""
        connecting.check_catalog(address.warehouse, address.catalog_options, address.reach)

    def list_tables(self, address: TableAddress) -> tuple[str, ...]:
        """All tables of a catalog; see `connecting.list_tables`."""
        return connecting.list_tables(address.warehouse, address.catalog_options, address.reach)


def open_observer(cache: Path, limit: int, clock: Clock, most_open: int) -> PaimonObserver:
    """Opens an observer that caches tables in a folder of about `limit` bytes."""
    return PaimonObserver(ObservationCaches(cache, limit), clock, most_open)
