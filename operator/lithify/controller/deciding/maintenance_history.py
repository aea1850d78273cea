"""Updates a table's status by its finished runs of maintenance: the last one of each kind, failures in a row.

Called by `history`. Pure. They count apart from compactions: a table whose snapshots cannot be expired is
still compacted, and the other way around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from lithify.controller.deciding.ended_runs import NO_FAILURES, EndedRun
from lithify.plain_text import plain_line
from lithify.resources.maintenance import RunKind
from lithify.resources.modelling import MESSAGE_LENGTH
from lithify.resources.objects import ConditionStatus
from lithify.resources.table import LakeTableStatus, MaintenanceRecord

Backoff = Callable[[int, datetime], datetime | None]
"""Until when to wait after so many failures in a row, the last of which ended then."""


def after_maintenance(
    status: LakeTableStatus, ended: Iterable[EndedRun], backoff: Backoff
) -> LakeTableStatus:
    """The status with all runs counted that have ended since the last write.

    Args:
        status: of the table.
        ended: its finished runs, in the order in which their ends were recorded; compactions do not matter.
        backoff: how long a kind is left alone after a failure.
    """
    records = {record.kind: record for record in status.maintenance}
    for each in ended:
        kind, is_real = each.run.spec.kind.value, each.run.is_maintenance and not each.run.spec.dry_run
        before = records.get(kind, MaintenanceRecord(kind=kind))
        if is_real and each.is_after(before.recorded_time or before.completion_time, before.name):
            records[kind] = _counted(before, each, backoff)
    return replace(status, maintenance=_in_order(records))


def with_next_times(status: LakeTableStatus, times: Mapping[RunKind, datetime] | None) -> LakeTableStatus:
    """The status with the next times by schedule; unchanged if they are not known now."""
    if times is None:
        return status
    records = {record.kind: replace(record, next_time=None) for record in status.maintenance}
    for kind, time in times.items():
        before = records.get(kind.value, MaintenanceRecord(kind=kind.value))
        records[kind.value] = replace(before, next_time=time)
    return replace(status, maintenance=_in_order(records))


def _in_order(records: Mapping[str, MaintenanceRecord]) -> tuple[MaintenanceRecord, ...]:
    said = (record for record in records.values() if record.name is not None or record.next_time is not None)
    return tuple(sorted(said, key=lambda record: record.kind))


def _counted(record: MaintenanceRecord, ended: EndedRun, backoff: Backoff) -> MaintenanceRecord:
    run = ended.run
    has_failed = run.reason.status is ConditionStatus.FALSE and run.reason not in NO_FAILURES
    failures = record.consecutive_failures + 1 if has_failed else 0
    return replace(
        record,
        name=run.metadata.name,
        reason=run.reason.value,
        message=plain_line(run.message, MESSAGE_LENGTH),
        completion_time=ended.completed,
        recorded_time=ended.recorded,
        consecutive_failures=failures,
        held_until=backoff(failures, ended.completed),
    )
