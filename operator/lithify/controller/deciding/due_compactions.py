"""What is due for a table: a requested compaction, a full one by the clock, or a minor one.

Used by `decide`. `holds` decides whether it may start now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lithify.amounts import count_of, moment_text, seconds_text
from lithify.controller.deciding.decision_input import DecisionInput, Due
from lithify.controller.deciding.schedule import FullTime, full_time
from lithify.controller.deciding.wording import finding_text
from lithify.formats.protocol.observation import CommitCount, Observation
from lithify.plain_text import plain_line
from lithify.resources.compaction import RunStrategy
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable

MOST_PARTITIONS = 256
"""Number of partitions that a Compaction may name; the others follow with the next one."""

_NO_TRIGGER = "no trigger fires"
_HANDLED_LENGTH = 256
_SHOWN_LENGTH = 64


class Occasion(StrEnum):
    """Why a compaction is due regardless of triggers."""

    REQUESTED = "Requested"
    SCHEDULE = "Schedule"
    INTERVAL = "Interval"
    COMMITS = "Commits"


@dataclass(frozen=True, slots=True)
class DueCompactions:
    """What is due.

    Attributes:
        due: the compaction that goes first, None if none is due.
        reason: why none is due, for people; empty if one is.
        next_full: when the next full one is due; in the past if it is overdue.
        changes: when this answer changes by itself, None for never.
    """

    due: Due | None
    reason: str
    next_full: datetime | None
    changes: datetime | None


def due_compactions(situation: DecisionInput, now: datetime) -> DueCompactions:
    """What is due now: a request goes first, then a full compaction, then a minor one."""
    policy = situation.policy if situation.policy_problem is None else None
    # Observations from before a table became unreachable do not count: they are lost at a restart.
    seen = situation.observation if situation.problem is None else None
    clock = FullTime() if policy is None else full_time(situation.table, policy, now)
    gains = seen is None or policy is None or _full_gains(seen, policy)
    next_full = clock.due if clock.due is not None and gains else clock.next
    due = _requested(situation, seen, policy)
    if due is None and policy is not None and clock.due is not None and gains:
        due = _full(clock.due, situation.table, policy, seen)
    if due is None and policy is not None and seen is not None and gains:
        due = _full_after_commits(seen, policy)
    if due is None and seen is not None and seen.findings:
        due = _minor(seen, policy)
    reason = "" if due is not None else _why_not(seen, next_full, gains=gains)
    return DueCompactions(due, reason, next_full, clock.changes)


def handled_request(requested: str) -> str:
    """The value of the annotation as status repeats it once the request is handled."""
    return plain_line(requested[:_HANDLED_LENGTH], _HANDLED_LENGTH)


def _requested(
    situation: DecisionInput, seen: Observation | None, policy: CompactionPolicySpec | None
) -> Due | None:
    """The requested compaction. A full one takes partitions that are not idle, too: it is wanted now."""
    value = situation.requested
    if not value or handled_request(value) == situation.table.status.handled_request:
        return None
    asked = (situation.requested_strategy or RunStrategy.MINOR).strip().capitalize()
    strategy = RunStrategy.FULL if asked == RunStrategy.FULL else RunStrategy.MINOR
    message = f"{Occasion.REQUESTED}: the annotation requested-at is {value[:_SHOWN_LENGTH]}"
    if asked != strategy:
        message += (
            f", requested-strategy is neither {RunStrategy.MINOR} nor {RunStrategy.FULL}: {strategy} is used"
        )
    partitions = () if policy is None else policy.partitions
    size = 0
    if seen is not None:
        size = seen.bytes if strategy is RunStrategy.FULL else _found_bytes(seen)
        if strategy is RunStrategy.MINOR:
            partitions = seen.partitions_due or partitions
    return Due(strategy, Occasion.REQUESTED, message, _named(partitions), size)


def _full(since: datetime, table: LakeTable, policy: CompactionPolicySpec, seen: Observation | None) -> Due:
    assert policy.full is not None  # noqa: S101  # it is what is due
    if policy.full.schedule is None:
        last = table.status.last_full_time
        was = "there was none yet" if last is None else f"the last one was at {moment_text(last)}"
        interval = seconds_text(policy.full.interval_seconds or 0)
        message = f"{Occasion.INTERVAL}: a full compaction is due every {interval}, {was}"
        occasion = Occasion.INTERVAL
    else:
        message = f"{Occasion.SCHEDULE}: a full compaction was due at {moment_text(since)}"
        occasion = Occasion.SCHEDULE
    partitions = policy.partitions if seen is None else seen.full_partitions or policy.partitions
    size = 0 if seen is None else seen.full_bytes
    return Due(RunStrategy.FULL, occasion, message, _named(partitions), size)


def _full_after_commits(seen: Observation, policy: CompactionPolicySpec) -> Due | None:
    """The full compaction that the table asks for after a number of commits; None before that."""
    commits = seen.commits
    if commits is None or commits.found < commits.wanted:
        return None
    partitions = seen.full_partitions or policy.partitions
    message = f"{Occasion.COMMITS}: {_commits_text(commits)}"
    return Due(RunStrategy.FULL, Occasion.COMMITS, message, _named(partitions), seen.full_bytes)


def _commits_text(commits: CommitCount) -> str:
    counted = count_of(commits.found, "commit")
    return f"{counted} since the last full compaction, {commits.option} is {commits.wanted}"


def _minor(seen: Observation, policy: CompactionPolicySpec | None) -> Due:
    strongest = seen.findings[0]
    partitions = seen.partitions_due or (() if policy is None else policy.partitions)
    return Due(
        RunStrategy.MINOR,
        strongest.trigger,
        finding_text(strongest),
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


def _why_not(seen: Observation | None, next_full: datetime | None, *, gains: bool) -> str:
    if seen is None:
        return "no compaction is known to be due"
    reasons = [_no_trigger(seen), *seen.waits]
    if seen.blocked:
        left = count_of(len(seen.blocked), "bucket")
        reasons.append(f"{left} left out because of BucketsBlocked, see that condition")
    if seen.commits is not None:
        reasons.append(_commits_text(seen.commits))
    if seen.full_wait:
        reasons.append(seen.full_wait)
    elif not gains:
        reasons.append("a full compaction has nothing to do")
    if next_full is not None:
        reasons.append(f"the next full compaction is due at {moment_text(next_full)}")
    return "; ".join(reasons)


def _no_trigger(seen: Observation) -> str:
    """The figure that is nearest to a trigger, and from where on that fires."""
    if seen.files == 0:
        return "the table has no files"
    tree = seen.merge_tree
    if seen.append is not None:
        if not seen.append.max_small_files:
            return "there are no small files"
        small = count_of(seen.append.max_small_files, "small file")
        return f"at most {small} in a partition or bucket, joined from {seen.append.file_trigger} on"
    if tree is None:
        return _NO_TRIGGER
    runs = f"at most {count_of(tree.sorted_runs, 'sorted run')} in a bucket"
    return runs if tree.run_trigger is None else f"{runs}, due above {tree.run_trigger}"
