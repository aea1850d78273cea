"""What the adapter gives `engine.observe`. Loaded by `formats.registry`, in the operator's workers."""

from __future__ import annotations

from datetime import datetime

from lithify.engine.observe.format_observer import ObservedFormat
from lithify.formats.iceberg.attempts import past_runs
from lithify.formats.iceberg.catalog.options import CATALOG_OPTIONS, HIVE
from lithify.formats.iceberg.observing.observer import check_catalog, list_tables
from lithify.formats.mixed.observing.observed_table import LAYOUT, open_observed
from lithify.formats.mixed.stores import open_mixed_table, tables_among
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import RunFound


def _find_run(address: TableAddress, run: str, since: datetime | None) -> RunFound | None:
    return past_runs.find_run(open_mixed_table(address).base, run, since)


def _list_tables(address: TableAddress) -> tuple[str, ...]:
    found = set(tables_among(list_tables(address)))
    if CATALOG_OPTIONS.metastore_of(address.catalog_options) == HIVE:
        from lithify.formats.mixed.hive_metastore import hive_tables_in  # its client takes long to import

        found.update(hive_tables_in(address))
    return tuple(sorted(found))


OBSERVED = ObservedFormat(open_observed, LAYOUT, _find_run, check_catalog, _list_tables)
open_observer = OBSERVED.open_observer
