"""What holds a compaction back, and how long a table waits after a failure.

Used by `decide` and, for `held_until`, by `reconciling` when a Compaction has failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from lithify.amounts import bytes_text, count_of, moment_text
from lithify.clock import find_zone
from lithify.controller.deciding.decision_input import DecisionInput, Due, Hold
from lithify.controller.deciding.due_compactions import Occasion
from lithify.controller.deciding.problems import TableProblem
from lithify.controller.deciding.windows import describe_window, opening
from lithify.resources.compaction import Reason
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.quantities import quantity_bytes
from lithify.resources.table import NOT_OBSERVED, RunSummary

_MOST_DOUBLINGS = 20
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Held:
    """What holds a table back.

    Attributes:
        hold: the reason, None if nothing does.
        message: the same for people.
        changes: when this answer changes by itself, None for never.
    """

    hold: Hold | None = None
    message: str = ""
    changes: datetime | None = None


def hold_reason(situation: DecisionInput, due: Due | None, now: datetime) -> Held:
    """The first reason that holds the table back.

    Reasons that apply whether or not a compaction is due come first; back-off, windows and limits hold back
    only what is due.
    """
    standing = _standing(situation)
    if standing.hold is None and situation.duplicate_of is not None:
        standing = _duplicated(situation.duplicate_of, due)
    if standing.hold is not None or due is None or situation.policy is None:
        return standing
    held = Held()
    if due.trigger != Occasion.REQUESTED:
        held = _by_the_clock(situation, situation.policy, due, now)
    if held.hold is None and not situation.admitted:
        limit = situation.limit or "it waits for a slot"
        return Held(Hold.CONCURRENCY_LIMIT, limit, held.changes)
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


def policy_hold(situation: DecisionInput) -> Held:
    """Why the table's policy cannot be followed, None if it can."""
    name, policy = situation.policy_name, situation.policy
    if policy is None:
        message = f"there is no CompactionPolicy {name}; create it or change policyRef"
        return Held(Hold.POLICY_MISSING, message)
    if situation.policy_problem is not None:
        message = f"CompactionPolicy {name} cannot be followed: {situation.policy_problem}"
        return Held(Hold.POLICY_INVALID, message)
    if policy.suspend:
        return Held(Hold.POLICY_SUSPENDED, f"spec.suspend of CompactionPolicy {name} is true")
    return Held()


def _standing(situation: DecisionInput) -> Held:
    if situation.table.spec.suspend:
        return Held(Hold.SUSPENDED, "spec.suspend of the LakeTable is true")
    unready = _unready(situation)
    if unready is not None:
        return Held(Hold.NOT_READY, unready)
    by_policy = policy_hold(situation)
    if by_policy.hold is None and situation.active is not None:
        failing = situation.failing
        text = f", but {failing.message}" if failing is not None else ""
        return Held(Hold.ALREADY_ACTIVE, f"Compaction {situation.active} is active{text}")
    return by_policy


def _duplicated(older: str, due: Due | None) -> Held:
    """A duplicate starts only what is requested for it."""
    if due is not None and due.trigger == Occasion.REQUESTED:
        return Held()
    return Held(Hold.DUPLICATE, f"LakeTable {older} is older and is for the same table")


def _unready(situation: DecisionInput) -> str | None:
    if situation.problem is not None:
        return situation.problem.message
    if situation.observation is None:
        return NOT_OBSERVED
    if situation.observation.refusals:
        return TableProblem.unsupported(situation.observation.refusals).message
    return None


def _by_the_clock(situation: DecisionInput, policy: CompactionPolicySpec, due: Due, now: datetime) -> Held:
    """Back-off, intervals, gain and windows; not applied to requests."""
    doubted = None
    backoff = timedelta(seconds=policy.retries.max_backoff_seconds) + _SECOND
    interval = timedelta(seconds=policy.min_interval_seconds or 0)
    for hold, until, message in _waits(situation, due, backoff):
        longest = interval + _SECOND if hold is Hold.MIN_INTERVAL else backoff
        # A longer wait was set by a clock that was wrong, or under another policy.
        if now < until <= now + longest:
            return Held(hold, message, until)
        if now < until:
            doubted = _earlier(doubted, until - longest)
    too_little = _gain_text(policy, due)
    if too_little:
        return Held(Hold.LITTLE_GAIN, too_little, doubted)
    found = opening(policy.windows, find_zone(policy.time_zone), now)
    changes = _earlier(doubted, found.until)
    if found.is_open or found.next_window is None:
        return Held(changes=changes)
    window = describe_window(found.next_window, policy.time_zone)
    return Held(Hold.OUTSIDE_WINDOW, f"the next window is {window}", changes)


def _waits(situation: DecisionInput, due: Due, longest: timedelta) -> Iterator[tuple[Hold, datetime, str]]:
    """Until when the table is left alone, and why: after failures, and after the last run."""
    status = situation.table.status
    if status.held_until is not None:
        yield Hold.BACK_OFF, status.held_until, _back_off_text(situation, status.held_until)
    yield from _after_cancel(situation, longest)
    last, seen = status.last_compaction, situation.observation
    interval = situation.policy.min_interval_seconds if situation.policy is not None else None
    if last is not None and interval is not None:
        yield Hold.MIN_INTERVAL, *_min_interval(last, interval)
    if last is None or seen is None or last.reason != Reason.NOTHING_TO_DO:
        return
    # If an observation and a planner ever disagree, runs must not follow one another endlessly.
    is_unwritten = seen.snapshot_time is None or seen.snapshot_time <= last.completion_time
    if is_unwritten and last.strategy == due.strategy:
        until = last.completion_time + longest
        text = (
            f"Compaction {last.name} found nothing to do, and nothing has been written since; the next one "
            f"starts once something is written, or at {moment_text(until)}"
        )
        yield Hold.BACK_OFF, until, text


def _min_interval(last: RunSummary, seconds: int) -> tuple[datetime, str]:
    """When the next automatic run may begin after the last run, and why not earlier."""
    until = last.completion_time + timedelta(seconds=seconds)
    text = (
        f"Compaction {last.name} ended at {moment_text(last.completion_time)} and minIntervalSeconds is "
        f"{seconds}, so the next one starts no earlier than {moment_text(until)}"
    )
    return until, text


def _gain_text(policy: CompactionPolicySpec, due: Due) -> str:
    """A run's gain and the policy's minimum as text, empty if the gain is enough.

    Only runs by triggers are measured: the clock alone asks for a full one by interval or schedule.
    """
    least = policy.min_gain
    if least is None or due.surplus_files is None:
        return ""
    wanted = []
    if least.files is not None:
        if due.surplus_files >= least.files:
            return ""
        wanted.append(count_of(least.files, "file"))
    if least.bytes is not None:
        size = quantity_bytes(least.bytes)
        if due.bytes >= size:
            return ""
        wanted.append(bytes_text(int(size)))
    return (
        f"it would read {bytes_text(due.bytes)} and remove at most {count_of(due.surplus_files, 'file')}; "
        f"minGain requires {' or '.join(wanted)}"
    )


def _after_cancel(situation: DecisionInput, longest: timedelta) -> Iterator[tuple[Hold, datetime, str]]:
    """Delay after a user cancelled a run: the same one must not start again at once."""
    cancelled, seen = situation.table.status.cancelled_run, situation.observation
    if cancelled is None:
        return
    generations = (situation.table.metadata.generation, situation.policy_generation)
    if generations != (cancelled.table_generation, cancelled.policy_generation):
        return
    written = None if seen is None else seen.snapshot_time
    if written is not None and written > cancelled.completion_time:
        return
    until = cancelled.completion_time + longest
    text = (
        f"Compaction {cancelled.name} was cancelled; the next one starts once the table, the "
        f"LakeTable or its policy changes, one is requested, or at {moment_text(until)}"
    )
    yield Hold.CANCELLED, until, text


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((moment for moment in (one, other) if moment is not None), default=None)


def _back_off_text(situation: DecisionInput, until: datetime) -> str:
    failures = max(1, situation.table.status.consecutive_failures)
    counted = count_of(failures, "compaction")
    return f"{counted} failed in a row; the next one starts no earlier than {moment_text(until)}"
