"""What the reference adapter gives `engine.observe`. Loaded by `formats.registry`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from lithify.engine.observe.format_observer import ObservedFormat
from lithify.errors import NotFound
from lithify.formats.memory.observed_table import LAYOUT, open_observed
from lithify.formats.memory.past_runs import past_run
from lithify.formats.memory.table import open_table, warehouse_of
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import RunFound


def _find_run(address: TableAddress, run: str, since: datetime | None) -> RunFound | None:
    del since
    past = past_run(open_table(address), run)
    return None if past is None else past.found


def _check_catalog(address: TableAddress) -> None:
    if not Path(warehouse_of(address)).is_dir():
        raise NotFound("warehouse", address.warehouse)


def _list_tables(address: TableAddress) -> tuple[str, ...]:
    warehouse = Path(warehouse_of(address))
    folders = (path.parent.relative_to(warehouse) for path in warehouse.rglob("definition.json"))
    return tuple(sorted(".".join(folder.parts) for folder in folders))


OBSERVED = ObservedFormat(open_observed, LAYOUT, _find_run, _check_catalog, _list_tables)
open_observer = OBSERVED.open_observer
