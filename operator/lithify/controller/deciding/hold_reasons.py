"""Finds what holds a compaction back, and how long a table waits after a failure.

Used by `decide` and, for `held_until`, by `history` when a Compaction has failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from lithify.clock import earliest, find_zone
from lithify.controller.deciding.decision_input import DecisionInput, Due
from lithify.controller.deciding.problems import TableProblem
from lithify.controller.deciding.reasons import (
    HoldReason,
    IntervalNotOver,
    LimitReached,
    LittleGain,
    NothingFound,
    NotReady,
    OlderLakeTable,
    PolicyHold,
    PolicyInvalid,
    PolicyMissing,
    PolicySuspended,
    Requested,
    RunActive,
    RunCancelled,
    RunsFailed,
    TableSuspended,
    TimedHold,
    WindowClosed,
)
from lithify.controller.deciding.windows import opening
from lithify.resources.compaction import Reason
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.quantities import quantity_bytes

_MOST_DOUBLINGS = 20
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Held:
    """The reason why a table is held back.

    Attributes:
        reason: the reason, None if nothing does.
        changes: when this answer changes by itself, None for never.
    """

    reason: HoldReason | None = None
    changes: datetime | None = None


def hold_reason(decision_input: DecisionInput, due: Due | None, now: datetime) -> Held:
    """The first reason that holds the table back.

    Reasons that apply whether or not a compaction is due come first; back-off, windows and limits hold back
    only what is due.
    """
    standing = standing_hold(decision_input, due)
    if standing is not None or due is None or decision_input.policy is None:
        return Held(standing)
    held = Held()
    if not _is_requested(due):
        held = _by_the_clock(decision_input, decision_input.policy, due, now)
    if held.reason is None and decision_input.limit is not None:
        return Held(LimitReached(decision_input.limit), held.changes)
    return held


def held_until(
    consecutive_failures: int, policy: CompactionPolicySpec, seed: str, now: datetime
) -> datetime | None:
    """End of the back-off after a failed compaction; None if the last one has not failed.

    The wait is longer than those between the attempts of one run, and doubles with each failure in a row up
    to the policy's limit. A table waits between three quarters of it and all, always the same share, so that
    tables that failed together are not retried together.
    """
    if consecutive_failures <= 0:
        return None
    retries = policy.retries
    doublings = min(consecutive_failures - 1 + retries.infrastructure, _MOST_DOUBLINGS)
    wait = min(retries.backoff_seconds << doublings, retries.max_backoff_seconds)
    digest = sha256(f"{seed}/{consecutive_failures}".encode()).digest()
    share = 0.75 + 0.25 * int.from_bytes(digest[:4], "big") / (1 << 32)
    until = now + timedelta(seconds=wait * share)
    return until.replace(microsecond=0) + _SECOND


def policy_hold(decision_input: DecisionInput) -> PolicyHold | None:
    """Why the table's policy is not followed, None if it is."""
    name, policy = decision_input.policy_name, decision_input.policy
    if policy is None:
        return PolicyMissing(name)
    if decision_input.policy_problem is not None:
        return PolicyInvalid(name, decision_input.policy_problem)
    return PolicySuspended(name) if policy.suspend else None


def problem_of_table(decision_input: DecisionInput) -> TableProblem | None:
    """Why the table cannot be observed or, by its last observation, compacted; None if it can."""
    seen = decision_input.observation
    if decision_input.problem is None and seen is not None and seen.refusals:
        return TableProblem.unsupported(seen.refusals)
    return decision_input.problem


def standing_hold(decision_input: DecisionInput, due: Due | None) -> HoldReason | None:
    """The lasting reason to hold a table back as a whole; a duplicate starts requested runs only."""
    if decision_input.table.spec.suspend:
        return TableSuspended()
    problem = problem_of_table(decision_input)
    if problem is not None or decision_input.observation is None:
        return NotReady(problem)
    by_policy = policy_hold(decision_input)
    if by_policy is not None:
        return by_policy
    if decision_input.active is not None:
        return RunActive(decision_input.active, decision_input.failing)
    older = decision_input.duplicate_of
    return None if older is None or _is_requested(due) else OlderLakeTable(older)


def _is_requested(due: Due | None) -> bool:
    return due is not None and isinstance(due.reason, Requested)


def _by_the_clock(
    decision_input: DecisionInput, policy: CompactionPolicySpec, due: Due, now: datetime
) -> Held:
    """Back-off, intervals, gain and windows; not applied to requests."""
    doubted = None
    backoff = timedelta(seconds=policy.retries.max_backoff_seconds) + _SECOND
    interval = timedelta(seconds=policy.min_interval_seconds or 0)
    for reason in _timed_holds(decision_input, policy, due, backoff):
        longest = interval + _SECOND if isinstance(reason, IntervalNotOver) else backoff
        # A longer wait was set by a clock that was wrong, or under another policy.
        if now < reason.until <= now + longest:
            return Held(reason, reason.until)
        if now < reason.until:
            doubted = earliest(doubted, reason.until - longest)
    too_little = _little_gain(policy, due)
    if too_little is not None:
        return Held(too_little, doubted)
    found = opening(policy.windows, find_zone(policy.time_zone), now)
    changes = earliest(doubted, found.until)
    if found.is_open or found.next_window is None:
        return Held(changes=changes)
    return Held(WindowClosed(found.next_window, policy.time_zone), changes)


def _timed_holds(
    decision_input: DecisionInput, policy: CompactionPolicySpec, due: Due, longest: timedelta
) -> Iterator[TimedHold]:
    """The reasons to leave the table alone until a time: after failures, and after the last run."""
    status, seen = decision_input.table.status, decision_input.observation
    if status.held_until is not None:
        yield RunsFailed(max(1, status.consecutive_failures), status.held_until)
    yield from _after_cancel(decision_input, longest)
    last, interval = status.last_compaction, policy.min_interval_seconds
    if last is not None and interval is not None:
        until = last.completion_time + timedelta(seconds=interval)
        yield IntervalNotOver(last.name, last.completion_time, interval, until)
    if last is None or seen is None or last.reason != Reason.NOTHING_TO_DO:
        return
    # If an observation and a planner ever disagree, runs must not follow one another endlessly.
    is_unwritten = seen.snapshot_time is None or seen.snapshot_time <= last.completion_time
    if is_unwritten and last.strategy == due.strategy:
        yield NothingFound(last.name, last.completion_time + longest)


def _little_gain(policy: CompactionPolicySpec, due: Due) -> LittleGain | None:
    """A run's gain with the policy's minimum, None if the gain is enough.

    Only runs by triggers are measured: the clock alone asks for a full one by interval or schedule.
    """
    least = policy.min_gain
    if least is None or due.surplus_files is None:
        return None
    size = None if least.bytes is None else int(quantity_bytes(least.bytes))
    if least.files is not None and due.surplus_files >= least.files:
        return None
    if size is not None and due.bytes >= size:
        return None
    return LittleGain(due.bytes, due.surplus_files, least.files, size)


def _after_cancel(decision_input: DecisionInput, longest: timedelta) -> Iterator[RunCancelled]:
    """Delay after a user cancelled a run: the same one must not start again at once."""
    cancelled, seen = decision_input.table.status.cancelled_run, decision_input.observation
    if cancelled is None:
        return
    generations = (decision_input.table.metadata.generation, decision_input.policy_generation)
    if generations != (cancelled.table_generation, cancelled.policy_generation):
        return
    written = None if seen is None else seen.snapshot_time
    if written is None or written <= cancelled.completion_time:
        yield RunCancelled(cancelled.name, cancelled.completion_time + longest)
