"""Maintenance that is due for a table: the first kind whose time has come and that would do something.

Used by `decide`, for tables that nothing else holds back. Pure. Kinds that the table's own options describe
(its snapshots expire, say) need two things: an observation that says there is something to do, and a policy
that lets the operator do it; the others only a policy with their interval or schedule. A kind that waits, for
a window or after a failure, does not hold back the next one, nor compactions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from lithify.clock import earliest, find_zone
from lithify.controller.deciding.decision_input import Due, DueMaintenance
from lithify.controller.deciding.reasons import MaintenanceTime
from lithify.controller.deciding.schedule import MOST_AHEAD, DueTime, Recurrence, due_time
from lithify.controller.deciding.windows import opening
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import MaintenanceNeed, Observation
from lithify.resources.compaction import Reason, RunStrategy
from lithify.resources.maintenance import (
    MaintenanceMode,
    MaintenanceRule,
    OrphanRemoval,
    OrphanRemovals,
    RunKind,
    TableMaintenance,
)
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable, MaintenanceRecord

INTERVALS: Mapping[RunKind, int] = {
    RunKind.EXPIRE_SNAPSHOTS: 3600,
    RunKind.EXPIRE_PARTITIONS: 3600,
    RunKind.MANAGE_TAGS: 3600,
    RunKind.MERGE_MANIFESTS: 86400,
    RunKind.REMOVE_ORPHANS: 7 * 86400,
}
"""The kinds in the order in which they run, with the seconds between two runs that no policy sets."""

_BY_LOCAL_TIME = frozenset({MaintenanceKind.EXPIRE_PARTITIONS, MaintenanceKind.MANAGE_TAGS})
"""Kinds that compare local times of the table's writers with the present one."""
_DONE = frozenset({Reason.MAINTAINED.value, Reason.NOTHING_TO_DO.value})
_IDLE = timedelta(hours=6)
"""How long a table that nobody writes to is left alone after a run that did all there was."""


def due_maintenance(
    table: LakeTable, policy: CompactionPolicySpec, seen: Observation, now: datetime
) -> DueMaintenance:
    """The maintenance that is due.

    Raises:
        ValueError: the policy has a problem, see `policy_problem`.
    """
    kinds = [*_wanted(table, policy, seen)]
    due: Due | None = None
    next_times: dict[RunKind, datetime] = {}
    if not kinds:
        return DueMaintenance(next_times=next_times)
    windows = policy.maintenance.windows or policy.windows
    window = opening(windows, find_zone(policy.time_zone), now)
    changes = [window.until]
    for wanted in kinds:
        time = wanted.time(policy, now)
        if wanted.rule.schedule is not None and time.next is not None:
            next_times[wanted.kind] = time.next
        until = None if time.due is None else wanted.waits_until(policy, seen, now)
        changes += [time.changes, until]
        if due is None and time.due is not None and until is None and window.is_open:
            due = wanted.due(time.due)
    return DueMaintenance(due, next_times, earliest(*changes))


def is_expired_by_operator(policy: CompactionPolicySpec | None, seen: Observation) -> bool:
    """Whether the operator expires a table's snapshots, now or later."""
    by_default = seen.snapshots.operator_expires
    mode = MaintenanceMode.NEVER if policy is None else policy.maintenance.expire_snapshots.mode
    if mode is MaintenanceMode.AUTOMATIC:
        return bool(by_default)
    return mode is MaintenanceMode.ALWAYS and by_default is not None


def record_of(table: LakeTable, kind: RunKind) -> MaintenanceRecord:
    """What status says of a kind; an empty record before its first run."""
    found = (record for record in table.status.maintenance if record.kind == kind.value)
    return next(found, MaintenanceRecord(kind=kind.value))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A kind that a policy wants, and that would do something."""

    kind: RunKind
    rule: MaintenanceRule
    last: MaintenanceRecord
    need: MaintenanceNeed | None

    def time(self, policy: CompactionPolicySpec, now: datetime) -> DueTime:
        """When its next run is due, by the policy; the first one at once, or by the schedule."""
        seconds = self.rule.interval_seconds or INTERVALS[self.kind]
        recurrence = Recurrence(seconds, self.rule.schedule, time_zone=policy.time_zone)
        return due_time(recurrence, self.last.next_time, self.last.completion_time, None, now)

    def waits_until(self, policy: CompactionPolicySpec, seen: Observation, now: datetime) -> datetime | None:
        """Until when the kind is left alone after its last run; None if it need not be."""
        waits = [moment for moment in self._waits(policy, seen, now) if moment > now]
        return max(waits, default=None)

    def _waits(self, policy: CompactionPolicySpec, seen: Observation, now: datetime) -> Iterator[datetime]:
        last, longest = self.last, timedelta(seconds=policy.retries.max_backoff_seconds + 1)
        ended = last.completion_time
        if ended is not None and ended - MOST_AHEAD <= now:
            # A longer wait was set under another policy.
            if last.held_until is not None and last.held_until <= ended + longest:
                yield last.held_until
            if self._is_done(ended, seen):
                yield ended + _IDLE

    def _is_done(self, ended: datetime, seen: Observation) -> bool:
        """Whether the last run did all there was, and nothing has been written since.

        The observation may say otherwise: it does not know what a consumer keeps, and notices only with the
        next commit that snapshots are gone.
        """
        is_over = self.kind is not RunKind.REMOVE_ORPHANS and self.last.reason in _DONE
        return is_over and (seen.snapshot_time is None or seen.snapshot_time <= ended)

    def due(self, since: datetime) -> Due:
        """The run to start."""
        orphans = None
        if isinstance(self.rule, OrphanRemovals):
            orphans = OrphanRemoval(min_age_seconds=self.rule.min_age_seconds, delete=self.rule.delete)
        reason = MaintenanceTime(self.kind, since, "" if self.need is None else self.need.detail)
        # Metadata of a table is little: such runs may share a driver. A listing of all its files is not.
        size = 0 if self.kind is RunKind.REMOVE_ORPHANS else 1
        return Due(RunStrategy.MINOR, reason, bytes=size, kind=self.kind, orphans=orphans)


def _wanted(table: LakeTable, policy: CompactionPolicySpec, seen: Observation) -> Iterator[_Wanted]:
    """The kinds that the policy wants, in the order in which they run."""
    needs = {need.kind.value: need for need in seen.needs}
    for kind in INTERVALS:
        rule, need = policy.maintenance.rule_of(kind), needs.get(kind.value)
        if rule is not None and (not isinstance(rule, TableMaintenance) or _is_let(table, rule, need)):
            yield _Wanted(kind, rule, record_of(table, kind), need)


def _is_let(table: LakeTable, rule: TableMaintenance, need: MaintenanceNeed | None) -> bool:
    """Whether there is something to do that table and policy leave to the operator."""
    if need is None or rule.mode is MaintenanceMode.NEVER:
        return False
    if rule.mode is MaintenanceMode.ALWAYS:
        return True
    return need.is_asked and not _lacks_zone(table, need)


def kinds_without_zone(table: LakeTable, policy: CompactionPolicySpec, seen: Observation) -> tuple[str, ...]:
    """The kinds that the table asks for, and that wait until the time zone of its writers is known."""
    automatic = (
        need
        for need in seen.needs
        if isinstance(rule := policy.maintenance.rule_of(RunKind(need.kind.value)), TableMaintenance)
        and rule.mode is MaintenanceMode.AUTOMATIC
    )
    return tuple(need.kind.value for need in automatic if need.is_asked and _lacks_zone(table, need))


def _lacks_zone(table: LakeTable, need: MaintenanceNeed) -> bool:
    """Whether ages would be counted in a zone that nobody has named.

    In UTC, what writers west of it have written would be dropped hours too early.
    """
    return need.kind in _BY_LOCAL_TIME and table.spec.time_zone is None
