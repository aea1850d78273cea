"""Observes Iceberg tables; implements `formats.protocol.observing`. Loaded by `formats.registry`.

Reads manifests, never data files. A view of the last observation is kept for each table, so that only new
manifests are decoded; if the newest snapshot is the known one, no manifest is read at all.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lithify.clock import Clock
from lithify.formats.iceberg.attempts.past_runs import find_run
from lithify.formats.iceberg.catalog.connecting import AnyCatalog, list_tables, open_catalog
from lithify.formats.iceberg.compaction.inspecting import GroupFigures, group_figures
from lithify.formats.iceberg.compaction.planning import options_of, pin_view
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import (
    AppendObservation,
    Finding,
    KeptSnapshots,
    Observation,
    RunFound,
)
from lithify.formats.protocol.observing import Filter, ObservationRequest


class IcebergObserver:
    """Observes tables.

    Args:
        clock: source of the current time.
        most_open: maximum number of tables whose views are kept.
    """

    def __init__(self, clock: Clock, most_open: int) -> None:
        self._clock = clock
        self._most = most_open
        self._views: OrderedDict[str, View] = OrderedDict()

    def observe(self, request: ObservationRequest) -> Observation | None:
        """Observes a table; None if its newest snapshot is still the known one."""
        table = open_iceberg_table(request.address)
        head = table.head()
        newest = None if head is None else head.snapshot_id
        is_known = (request.known_uuid, request.known_snapshot) == (table.uuid, newest)
        if is_known and not request.is_full and not request.reconsider:
            return None
        previous = None if request.is_full else self._views.get(request.cache_key)
        pinned = pin_view(table, request.wanted.selection, previous)
        if pinned is not None:
            self._keep(request.cache_key, pinned.whole)
        groups = [] if pinned is None else group_figures(table, pinned, request.wanted.selection)
        return _observation(table, groups, request.wanted, self._clock.now())

    def find_run(self, address: TableAddress, run: str, since: datetime | None = None) -> RunFound | None:
        """What a run has committed."""
        return find_run(open_iceberg_table(address), run, since)

    def check_catalog(self, address: TableAddress) -> None:
        """Checks that a catalog answers, by listing its namespaces."""
        _catalog_of(address).namespaces(())

    def list_tables(self, address: TableAddress) -> tuple[str, ...]:
        """All tables of a catalog."""
        return tuple(sorted(list_tables(_catalog_of(address))))

    def _keep(self, key: str, view: View) -> None:
        self._views[key] = view
        self._views.move_to_end(key)
        while len(self._views) > self._most:
            self._views.popitem(last=False)


def _catalog_of(address: TableAddress) -> AnyCatalog:
    return open_catalog(address.warehouse, address.catalog_options, address.reach)


def _observation(
    table: IcebergTable, groups: Sequence[GroupFigures], wanted: Filter, now: datetime
) -> Observation:
    head, metadata, rows = table.head(), table.metadata, [group.row for group in groups]
    most = max(groups, key=lambda group: group.row["small_files"], default=None)
    counted = sum(row["rows"] for row in rows)
    deleted = sum(row["deleted_rows"] for row in rows)
    full = [group for group in groups if _is_idle(group, wanted, now)]
    is_filtered = bool(wanted.selection.partitions)
    return Observation(
        table_uuid=table.uuid,
        snapshot=None if head is None else head.snapshot_id,
        snapshot_time=None if head is None else _time(head.millis),
        schema_id=metadata.schema_id,
        refusals=table.refusals,
        write_only=True,
        partitions=len(groups),
        files=sum(row["files"] for row in rows),
        bytes=sum(row["bytes"] for row in rows),
        small_files=sum(row["small_files"] for row in rows),
        delete_percent=100 * deleted // counted if counted else 0,
        findings=tuple(_findings(groups)),
        full_bytes=sum(group.row["bytes"] for group in full),
        snapshots=KeptSnapshots(
            count=len(metadata.snapshots),
            oldest=min((_time(each.millis) for each in metadata.snapshots.values()), default=None),
            expired_bytes=0,
            writers_expire=False,
        ),
        partitions_due=tuple(_values(group for group in groups if group.trigger)) if is_filtered else (),
        full_partitions=tuple(_values(full)) if is_filtered or wanted.idle_seconds is not None else (),
        append=AppendObservation(
            buckets=len(groups),
            max_small_files=0 if most is None else most.row["small_files"],
            max_small_files_bucket=None if most is None or not most.row["small_files"] else most.place,
            file_trigger=options_of(table, wanted.selection).min_input_files,
            deleted_rows=deleted,
        ),
    )


def _findings(groups: Sequence[GroupFigures]) -> Iterator[Finding]:
    """One finding per trigger, of the groups for which it is the most telling one."""
    due: dict[str, list[GroupFigures]] = {}
    for group in groups:
        if group.trigger is not None:
            due.setdefault(group.trigger, []).append(group)
    found = [_finding(trigger, of_it) for trigger, of_it in due.items()]
    yield from sorted(found, key=lambda each: (-each.bytes, each.trigger))


def _finding(trigger: str, groups: Sequence[GroupFigures]) -> Finding:
    first = max(groups, key=lambda group: group.row["due_bytes"])
    return Finding(
        trigger=trigger,
        bucket=first.place,
        detail=first.detail,
        buckets=len(groups),
        bytes=sum(group.row["due_bytes"] for group in groups),
        files=sum(group.row["due_files"] for group in groups),
    )


def _is_idle(group: GroupFigures, wanted: Filter, now: datetime) -> bool:
    if wanted.idle_seconds is None:
        return True
    return now - _time(group.written_millis) >= timedelta(seconds=wanted.idle_seconds)


def _values(groups: Any) -> Iterator[Mapping[str, str]]:
    return (group.values for group in groups if group.values)


def _time(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)


def open_observer(cache: Path, limit: int, clock: Clock, most_open: int) -> IcebergObserver:
    """Opens an observer, which caches in memory."""
    del cache, limit
    return IcebergObserver(clock, most_open)
