"""Compactions that are due for a table: a requested compaction, a full one by the clock, or a minor one.

Used by `decide`. `hold_reasons` decides whether it may start now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from lithify.controller.deciding.decision_input import DecisionInput, Due
from lithify.controller.deciding.due_maintenance import kinds_without_zone
from lithify.controller.deciding.reasons import (
    CommitsReached,
    DueReason,
    IntervalOver,
    NotDue,
    Requested,
    ScheduledTime,
    TriggerFired,
)
from lithify.controller.deciding.schedule import DueTime, full_time
from lithify.formats.protocol.observation import Observation
from lithify.plain_text import plain_line
from lithify.resources.compaction import RunStrategy
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable

MOST_PARTITIONS = 256
"""Number of partitions that a Compaction may name; the others follow with the next one."""

_HANDLED_LENGTH = 256


@dataclass(frozen=True, slots=True)
class DueCompactions:
    """The compactions that are due.

    Attributes:
        due: the compaction that goes first, None if none is due.
        not_due: why none is due, None if one is.
        next_full: when the next full one is due; in the past if it is overdue.
        changes: when this answer changes by itself, None for never.
    """

    due: Due | None
    not_due: NotDue | None
    next_full: datetime | None
    changes: datetime | None


def due_compactions(decision_input: DecisionInput, now: datetime) -> DueCompactions:
    """Returns the due compactions: a request goes first, then a full compaction, then a minor one."""
    policy = decision_input.policy if decision_input.policy_problem is None else None
    # Observations from before a table became unreachable do not count: they are lost at a restart.
    seen = decision_input.observation if decision_input.problem is None else None
    clock = DueTime() if policy is None else full_time(decision_input.table, policy, now)
    gains = seen is None or policy is None or _full_gains(seen, policy)
    next_full = clock.due if clock.due is not None and gains else clock.next
    due = _requested(decision_input, seen, policy)
    if due is None and policy is not None and clock.due is not None and gains:
        due = _full(clock.due, decision_input.table, policy, seen)
    if due is None and policy is not None and seen is not None and gains:
        due = _full_after_commits(seen, policy)
    if due is None and seen is not None and seen.findings:
        due = _minor(seen, policy)
    without_zone: tuple[str, ...] = ()
    if seen is not None and policy is not None:
        without_zone = kinds_without_zone(decision_input.table, policy, seen)
    not_due = None if due is not None else NotDue(seen, gains, next_full, without_zone)
    return DueCompactions(due, not_due, next_full, clock.changes)


def handled_request(requested: str) -> str:
    """The value of the annotation as status repeats it once the request is handled."""
    return plain_line(requested[:_HANDLED_LENGTH], _HANDLED_LENGTH)


def _requested(
    decision_input: DecisionInput, seen: Observation | None, policy: CompactionPolicySpec | None
) -> Due | None:
    """The requested compaction. A full one takes partitions that are not idle, too: it is wanted now."""
    value = decision_input.requested
    if not value or handled_request(value) == decision_input.table.status.handled_request:
        return None
    asked = (decision_input.requested_strategy or RunStrategy.MINOR).strip().capitalize()
    strategy = RunStrategy.FULL if asked == RunStrategy.FULL else RunStrategy.MINOR
    partitions = () if policy is None else policy.partitions
    size = 0
    if seen is not None:
        size = seen.bytes if strategy is RunStrategy.FULL else _found_bytes(seen)
        if strategy is RunStrategy.MINOR:
            partitions = seen.partitions_due or partitions
    reason = Requested(value, strategy, is_understood=asked == strategy)
    return Due(strategy, reason, _named(partitions), size)


def _full(since: datetime, table: LakeTable, policy: CompactionPolicySpec, seen: Observation | None) -> Due:
    assert policy.full is not None  # noqa: S101  # it is what is due
    reason: DueReason = ScheduledTime(since)
    if policy.full.schedule is None:
        reason = IntervalOver(policy.full.interval_seconds or 0, table.status.last_full_time)
    partitions = policy.partitions if seen is None else seen.full_partitions or policy.partitions
    size = 0 if seen is None else seen.full_bytes
    return Due(RunStrategy.FULL, reason, _named(partitions), size)


def _full_after_commits(seen: Observation, policy: CompactionPolicySpec) -> Due | None:
    """The full compaction that the table asks for after a number of commits; None before that."""
    commits = seen.commits
    if commits is None or commits.found < commits.wanted:
        return None
    partitions = seen.full_partitions or policy.partitions
    return Due(RunStrategy.FULL, CommitsReached(commits), _named(partitions), seen.full_bytes)


def _minor(seen: Observation, policy: CompactionPolicySpec | None) -> Due:
    partitions = seen.partitions_due or (() if policy is None else policy.partitions)
    return Due(
        RunStrategy.MINOR,
        TriggerFired(seen.findings[0]),
        _named(partitions),
        _found_bytes(seen),
        surplus_files=sum(finding.files - finding.buckets for finding in seen.findings),
    )


def _full_gains(seen: Observation, policy: CompactionPolicySpec) -> bool:
    """Whether a full compaction has work to do; an empty list of idle partitions must not mean all."""
    return seen.full_bytes > 0 and (policy.partition_idle_seconds is None or bool(seen.full_partitions))


def _found_bytes(seen: Observation) -> int:
    return min(seen.bytes, sum(finding.bytes for finding in seen.findings))


def _named(partitions: tuple[Mapping[str, str], ...]) -> tuple[Mapping[str, str], ...]:
    return partitions[:MOST_PARTITIONS]
