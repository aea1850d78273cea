"""What Iceberg's adapter gives `engine.observe`. Loaded by `formats.registry`, in the operator's workers."""

from __future__ import annotations

from datetime import datetime

from lithify.engine.observe.format_observer import ObservedFormat
from lithify.formats.iceberg.attempts import past_runs
from lithify.formats.iceberg.catalog import connecting
from lithify.formats.iceberg.catalog.connecting import AnyCatalog, open_catalog
from lithify.formats.iceberg.observing.cached_files import LAYOUT
from lithify.formats.iceberg.observing.observed_table import open_observed
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import RunFound


def _find_run(address: TableAddress, run: str, since: datetime | None) -> RunFound | None:
    return past_runs.find_run(open_iceberg_table(address), run, since)


def check_catalog(address: TableAddress) -> None:
    """Asks a catalog for its namespaces; raises the error of one that cannot be asked."""
    _catalog_of(address).namespaces(())


def list_tables(address: TableAddress) -> tuple[str, ...]:
    """All tables of a catalog, in order."""
    return tuple(sorted(connecting.list_tables(_catalog_of(address))))


def _catalog_of(address: TableAddress) -> AnyCatalog:
    return open_catalog(address.warehouse, address.catalog_options, address.reach)


OBSERVED = ObservedFormat(open_observed, LAYOUT, _find_run, check_catalog, list_tables)
open_observer = OBSERVED.open_observer
