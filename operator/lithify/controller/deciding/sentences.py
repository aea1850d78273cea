"""Makes the sentences about a LakeTable: the column WHY, messages of its conditions and of its Events.

The column WHY of `kubectl get laketables -o wide` is the field `.status.due`: `why_text`, by `conditions`.
Everything else in `deciding` hands on typed reasons (see `reasons`), and decides nothing by a text. Pure: a
message names numbers and dates, never ages, so an unchanged reason has the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from lithify.amounts import bytes_text, count_of, moment_text, seconds_text
from lithify.controller.deciding.decision_input import Decision, Due
from lithify.controller.deciding.failing import AttemptFailure
from lithify.controller.deciding.reasons import (
    CommitsReached,
    HoldReason,
    IntervalNotOver,
    IntervalOver,
    LimitReached,
    LittleGain,
    MaintenanceTime,
    NamespaceRuns,
    NotDue,
    NothingFound,
    NotReady,
    OlderLakeTable,
    OperatorRuns,
    PolicyBytes,
    PolicyHold,
    PolicyInvalid,
    PolicyMissing,
    PolicyRuns,
    PolicySuspended,
    Requested,
    RunActive,
    RunCancelled,
    RunsFailed,
    ScheduledTime,
    SlotLimit,
    TableSuspended,
    TimedHold,
    TriggerFired,
    WindowClosed,
)
from lithify.formats.protocol.observation import (
    CommitCount,
    Finding,
    KeptSnapshots,
    Observation,
    OtherCompactor,
)
from lithify.resources.compaction import RunStrategy
from lithify.resources.objects import shortened
from lithify.resources.table import NOT_OBSERVED, LakeTableStatus, MaintenanceRecord, RunSummary
from lithify.resources.windows import Window

_ERROR_LENGTH = 400
_REQUEST_LENGTH = 64
_NAMES = 3
_EXPIRY_HINTS = {
    True: "the operator does if maintenance.expireSnapshots.mode of the policy is Automatic or Always",
    False: "the operator does if maintenance.expireSnapshots.mode of the policy is Always",
    None: "this release does not expire snapshots of such tables",
}


def why_text(decision: Decision) -> str:
    """Why a table is compacted, or why not."""
    held = None if decision.held is None else hold_text(decision.held)
    if decision.due is not None:
        due = due_text(decision.due)
        return due if held is None else f"{due}; held back: {held}"
    if isinstance(decision.held, NotReady) or decision.not_due is None:
        return held or ""
    not_due = not_due_text(decision.not_due)
    return not_due if held is None else f"{held}; {not_due}"


def due_text(due: Due) -> str:
    """Why a compaction is due, for example `Interval: a full compaction is due every 1 d, ...`."""
    match due.reason:
        case Requested() as reason:
            text = f"the annotation requested-at is {reason.value[:_REQUEST_LENGTH]}"
            return f"{reason.trigger}: {text}{_strategy_text(reason)}"
        case IntervalOver(seconds, last) as reason:
            was = "there was none yet" if last is None else f"the last one was at {moment_text(last)}"
            return f"{reason.trigger}: a full compaction is due every {seconds_text(seconds)}, {was}"
        case ScheduledTime(since) as reason:
            return f"{reason.trigger}: a full compaction was due at {moment_text(since)}"
        case CommitsReached(commits) as reason:
            return f"{reason.trigger}: {_commits_text(commits)}"
        case MaintenanceTime(_, since, detail) as reason:
            return f"{reason.trigger}: {detail or f'due since {moment_text(since)}'}"
        case TriggerFired(finding):
            return _finding_text(finding)
        case unknown:
            assert_never(unknown)


def not_due_text(reason: NotDue) -> str:
    """Why no compaction is due: the figure that is nearest to a trigger, and what else is waited for."""
    seen = reason.observation
    if seen is None:
        return "no compaction is known to be due"
    parts = [_no_trigger_text(seen), *seen.waits]
    if seen.blocked:
        left = count_of(len(seen.blocked), "group")
        parts.append(f"{left} left out because of BucketsBlocked, see that condition")
    if seen.commits is not None:
        parts.append(_commits_text(seen.commits))
    parts.extend(f"{need.kind.value}: {need.detail}" for need in seen.needs)
    if reason.without_zone:
        kinds = " and ".join(reason.without_zone)
        parts.append(f"{kinds} wait until spec.timeZone of the LakeTable names the time zone of its writers")
    if seen.full_wait:
        parts.append(seen.full_wait)
    elif not reason.full_gains:
        parts.append("a full compaction has nothing to do")
    if reason.next_full is not None:
        parts.append(f"the next full compaction is due at {moment_text(reason.next_full)}")
    return "; ".join(parts)


def hold_text(held: HoldReason) -> str:
    """Sentence for the reason that holds a compaction back."""
    match held:
        case TableSuspended():
            return "spec.suspend of the LakeTable is true"
        case NotReady(problem):
            return NOT_OBSERVED if problem is None else problem.message
        case RunActive(run, failure):
            but = "" if failure is None else f", but {attempt_failure_text(failure)}"
            return f"Compaction {run} is active{but}"
        case OlderLakeTable(name):
            return f"LakeTable {name} is older and is for the same table"
        case LittleGain():
            return _little_gain_text(held)
        case WindowClosed(window, time_zone):
            return f"the next window is {_window_text(window, time_zone)}"
        case LimitReached(limit):
            return limit_text(limit)
        case PolicyMissing() | PolicyInvalid() | PolicySuspended():
            return policy_text(held)
        case RunsFailed() | NothingFound() | RunCancelled() | IntervalNotOver():
            return _timed_text(held)
        case unknown:
            assert_never(unknown)


def policy_text(held: PolicyHold) -> str:
    """Why a policy is not followed, and what to do about it."""
    match held:
        case PolicyMissing(policy):
            return f"there is no CompactionPolicy {policy}; create it or change policyRef"
        case PolicyInvalid(policy, problem):
            return f"CompactionPolicy {policy} cannot be followed: {problem}"
        case PolicySuspended(policy):
            return f"spec.suspend of CompactionPolicy {policy} is true"
        case unknown:
            assert_never(unknown)


def limit_text(limit: SlotLimit) -> str:
    """Sentence for the limit that keeps a run waiting."""
    match limit:
        case OperatorRuns(most):
            return f"the operator's limit of {most} active runs is reached"
        case NamespaceRuns(most):
            return f"the limit of {most} active runs in a namespace is reached"
        case PolicyRuns(policy, most):
            return f"CompactionPolicy {policy}'s limit of {most} active runs is reached"
        case PolicyBytes(policy, most):
            size = bytes_text(most)
            return f"CompactionPolicy {policy} allows {size} an hour, which its runs have used"
        case unknown:
            assert_never(unknown)


def attempt_failure_text(failure: AttemptFailure) -> str:
    """How an attempt of an unfinished run failed, and what follows."""
    cause = shortened(failure.message.strip(), _ERROR_LENGTH).rstrip(".")
    if failure.searched_until is not None:
        following = f"its commit is searched for at most until {moment_text(failure.searched_until)}"
    elif failure.next_attempt is not None:
        following = f"the next one starts at {moment_text(failure.next_attempt)}"
    else:
        following = f"the next one is {failure.stage}"
    return f"attempt {failure.attempt} failed with {failure.reason}{_after_colon(cause)}; {following}"


def failures_text(status: LakeTableStatus) -> str:
    """How many runs of a table failed in a row, and how the last one did."""
    failed = count_of(status.consecutive_failures, "compaction")
    return f"{failed} failed in a row{_after_colon(last_failure_text(status))}"


def last_failure_text(status: LakeTableStatus) -> str:
    """How the last run failed, in one line; empty unless the table's runs fail."""
    last = status.last_failure
    if status.consecutive_failures == 0 or last is None:
        return ""
    return f"{last.name} ended with {last.reason}{_after_colon(shortened(last.message, _ERROR_LENGTH))}"


def end_text(run: RunSummary) -> str:
    """The end of a run: what it did, or why it failed."""
    return f"Compaction {run.name} ended with {run.reason}{_after_colon(run.message)}"


def duplicate_text(older: str) -> str:
    """What it means for a LakeTable that an older one is for the same table, and what to do."""
    return (
        f"LakeTable {older} is older and is for the same table, so this one starts no automatic runs. "
        "Delete one of the two"
    )


def others_text(others: Sequence[OtherCompactor]) -> str:
    """Who else compacts a table, how that is known, what follows, and what to do."""
    told = "; ".join(_other_text(other) for other in others)
    return (
        "others compact the table, too, and of two that compact the same files the second fails to commit. "
        f"Leave it to one: suspend it here (spec.suspend), or turn the other off. {told}"
    )


def _other_text(other: OtherCompactor) -> str:
    seen = "" if other.last_seen is None else f", last at {moment_text(other.last_seen)}"
    return f"{other.name}: found by {other.evidence}{seen}; {other.remedy}"


def snapshots_text(kept: KeptSnapshots) -> str:
    """How many snapshots a table keeps that nobody expires, and what to do."""
    oldest = "" if kept.oldest is None else f", the oldest of {kept.oldest:%Y-%m-%d}"
    return (
        "writers that leave compaction to others expire no snapshots, so compaction only adds files: "
        f"{count_of(kept.count, 'snapshot')} kept{oldest}, holding at least {bytes_text(kept.expired_bytes)} "
        "that the newest does not need. Expire its snapshots regularly; "
        f"{_EXPIRY_HINTS[kept.operator_expires]}"
    )


def expiry_text(last: MaintenanceRecord) -> str:
    """That the operator expires a table's snapshots, and when it last did."""
    if last.completion_time is None:
        return "the operator expires old snapshots; it has not yet had to"
    return f"the operator expires old snapshots, last at {moment_text(last.completion_time)}: {last.message}"


def failed_maintenance_text(last: MaintenanceRecord) -> str:
    """How often a kind of maintenance failed in a row, how it did last, and when it is tried again."""
    failed = f"{last.kind} failed {count_of(last.consecutive_failures, 'time')} in a row"
    again = "" if last.held_until is None else f"; it is tried again at {moment_text(last.held_until)}"
    cause = _after_colon(shortened(last.message, _ERROR_LENGTH))
    return f"{failed}: {last.name} ended with {last.reason}{cause}{again}"


def names_text(names: Iterable[str]) -> str:
    """The first names in alphabetical order, and the number of the others."""
    found = sorted(names)
    more = f" and {len(found) - _NAMES} more" if len(found) > _NAMES else ""
    return f"{', '.join(found[:_NAMES])}{more}"


def _strategy_text(reason: Requested) -> str:
    if reason.is_understood:
        return ""
    known = f"neither {RunStrategy.MINOR} nor {RunStrategy.FULL}"
    return f", requested-strategy is {known}: {reason.strategy} is used"


def _finding_text(finding: Finding) -> str:
    """A finding with the number of other buckets or partitions that it applies to."""
    others = finding.buckets - 1
    more = f" (and {others} more like it)" if others > 0 else ""
    return f"{finding.trigger}: {finding.detail}{more}"


def _commits_text(commits: CommitCount) -> str:
    counted = count_of(commits.found, "commit")
    return f"{counted} since the last full compaction, {commits.option} is {commits.wanted}"


def _no_trigger_text(seen: Observation) -> str:
    """The figure that is nearest to a trigger, and from where on that fires."""
    return (seen.nearest or "no trigger fires") if seen.files else "the table has no files"


def _timed_text(held: TimedHold) -> str:
    until = moment_text(held.until)
    match held:
        case RunsFailed(failures):
            counted = count_of(failures, "compaction")
            return f"{counted} failed in a row; the next one starts no earlier than {until}"
        case NothingFound(run):
            return (
                f"Compaction {run} found nothing to do, and nothing has been written since; the next one "
                f"starts once something is written, or at {until}"
            )
        case RunCancelled(run):
            return (
                f"Compaction {run} was cancelled; the next one starts once the table, the "
                f"LakeTable or its policy changes, one is requested, or at {until}"
            )
        case IntervalNotOver(run, ended, seconds):
            return (
                f"Compaction {run} ended at {moment_text(ended)} and minIntervalSeconds is "
                f"{seconds}, so the next one starts no earlier than {until}"
            )
        case unknown:
            assert_never(unknown)


def _little_gain_text(held: LittleGain) -> str:
    wanted = []
    if held.least_files is not None:
        wanted.append(count_of(held.least_files, "file"))
    if held.least_bytes is not None:
        wanted.append(bytes_text(held.least_bytes))
    return (
        f"it would read {bytes_text(held.bytes)} and remove at most {count_of(held.files, 'file')}; "
        f"minGain requires {' or '.join(wanted)}"
    )


def _window_text(window: Window, time_zone: str | None) -> str:
    """A window independent of the current time, for example `22:00 to 06:00 Europe/Berlin`."""
    days = f" on {', '.join(window.days)}" if window.days else ""
    return f"{window.start} to {window.end} {time_zone or 'UTC'}{days}"


def _after_colon(text: str) -> str:
    return f": {text}" if text else ""
