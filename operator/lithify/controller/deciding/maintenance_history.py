"""Updates a table's status by its finished runs of maintenance: the last one of each kind, failures in a row.

Called by `history`. Pure. They count apart from compactions: a table whose snapshots cannot be expired is
still compacted, and the other way around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from lithify.plain_text import plain_line
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.maintenance import RunKind
from lithify.resources.modelling import MESSAGE_LENGTH
from lithify.resources.objects import ConditionStatus
from lithify.resources.table import LakeTableStatus, MaintenanceRecord

Backoff = Callable[[int, datetime], datetime | None]
"""Until when to wait after so many failures in a row, the last of which ended then."""

_UNCOUNTED = frozenset({Reason.CANCELLED, Reason.TABLE_NOT_FOUND})
"""Ends that a user wanted, or that an observation reports."""


def after_maintenance(
    status: LakeTableStatus, ended: Iterable[Compaction], backoff: Backoff
) -> LakeTableStatus:
    """The status with all runs counted that have ended since the last write.

    Args:
        status: of the table.
        ended: its finished runs of maintenance, in the order in which their ends were recorded.
        backoff: how long a kind is left alone after a failure.
    """
    records = {record.kind: record for record in status.maintenance}
    for run in ended:
        before = records.get(run.spec.kind.value, MaintenanceRecord(kind=run.spec.kind.value))
        if _is_newer(run, before):
            records[run.spec.kind.value] = _counted(before, run, backoff)
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


def _is_newer(run: Compaction, record: MaintenanceRecord) -> bool:
    known, time = record.recorded_time or record.completion_time, run.recorded_time
    return time is not None and (known is None or (time, run.metadata.name) > (known, record.name or ""))


def _counted(record: MaintenanceRecord, run: Compaction, backoff: Backoff) -> MaintenanceRecord:
    assert run.status.completion_time is not None  # noqa: S101  # only runs that are over are counted
    ended = run.status.completion_time
    has_failed = run.reason.status is ConditionStatus.FALSE and run.reason not in _UNCOUNTED
    failures = record.consecutive_failures + 1 if has_failed else 0
    return replace(
        record,
        name=run.metadata.name,
        reason=run.reason.value,
        message=plain_line(run.message, MESSAGE_LENGTH),
        completion_time=ended,
        recorded_time=run.recorded_time,
        consecutive_failures=failures,
        held_until=backoff(failures, ended),
    )
