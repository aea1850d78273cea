"""What Paimon's adapter gives `engine.observe`. Loaded by `formats.registry`, in the operator's workers."""

from __future__ import annotations

from datetime import datetime

from lithify.engine.observe.format_observer import ObservedFormat
from lithify.formats.paimon.catalog import connecting
from lithify.formats.paimon.commit import found_runs
from lithify.formats.paimon.observing.cached_state import LAYOUT
from lithify.formats.paimon.observing.observed_table import open_observed
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import RunFound


def _find_run(address: TableAddress, run: str, since: datetime | None) -> RunFound | None:
    return found_runs.find_run(open_table(address), run, since)


def _check_catalog(address: TableAddress) -> None:
    connecting.check_catalog(address.warehouse, address.catalog_options, address.reach)


def _list_tables(address: TableAddress) -> tuple[str, ...]:
    return connecting.list_tables(address.warehouse, address.catalog_options, address.reach)


OBSERVED = ObservedFormat(open_observed, LAYOUT, _find_run, _check_catalog, _list_tables)
open_observer = OBSERVED.open_observer
