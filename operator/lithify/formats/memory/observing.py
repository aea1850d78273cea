"""Observes reference tables; implements `formats.protocol.observing`. Loaded by `formats.registry`.

A snapshot lists all files, so an observation reads one file and caches nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from lithify.clock import Clock
from lithify.errors import NotFound
from lithify.formats.memory.past_runs import past_run
from lithify.formats.memory.planning import SMALL_FILES, MemoryUnit, plan, select
from lithify.formats.memory.snapshot import Snapshot
from lithify.formats.memory.table import MemoryTable, open_table, warehouse_of
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import (
    AppendObservation,
    Finding,
    KeptSnapshots,
    Observation,
    RunFound,
)
from lithify.formats.protocol.observing import Filter, ObservationRequest


class MemoryObserver:
    """Observes tables."""

    def observe(self, request: ObservationRequest) -> Observation | None:
        """Observes a table; None if its newest snapshot is still the known one."""
        table = open_table(request.address)
        newest = table.latest()
        known = (request.known_uuid, request.known_snapshot)
        is_known = known == (table.uuid, None if newest is None else newest.id)
        if is_known and not request.is_full and not request.reconsider:
            return None
        return _observation(table, newest, request.wanted)

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


def _observation(table: MemoryTable, newest: Snapshot | None, wanted: Filter) -> Observation:
    files = [] if newest is None else [*newest.all_files]
    groups = {} if newest is None else newest.files
    units = () if newest is None else plan(table, select(newest, wanted.selection), wanted.selection).units
    most = max(groups, key=lambda group: table.small(groups[group]), default=None)
    return Observation(
        table_uuid=table.uuid,
        snapshot=None if newest is None else newest.id,
        snapshot_time=None if newest is None else datetime.fromtimestamp(newest.millis / 1000, UTC),
        schema_id=0,
        refusals=table.refusals,
        write_only=True,
        partitions=len(groups),
        files=len(files),
        bytes=sum(file.bytes for file in files),
        small_files=table.small(files),
        delete_percent=0,
        findings=_findings(units),
        full_bytes=sum(file.bytes for file in files),
        snapshots=KeptSnapshots(len(table.numbers()), None, 0, writers_expire=True),
        append=AppendObservation(
            buckets=len(groups),
            max_small_files=0 if most is None else table.small(groups[most]),
            max_small_files_bucket=None if most is None else most.path,
            file_trigger=2,
        ),
    )


def _findings(units: tuple[MemoryUnit, ...]) -> tuple[Finding, ...]:
    if not units:
        return ()
    first = max(units, key=lambda unit: unit.rewritten_files)
    sizes = (sum(unit.read_bytes for unit in units), sum(unit.rewritten_files for unit in units))
    return (Finding(SMALL_FILES, first.group.path, first.reason, len(units), *sizes),)


def open_observer(cache: Path, limit: int, clock: Clock, most_open: int) -> MemoryObserver:
    """Opens an observer, which needs no cache."""
    del cache, limit, clock, most_open
    return MemoryObserver()
