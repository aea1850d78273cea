"""Maps errors and plans to reasons and outcomes. Pure.

Used by drivers (`cli.drive`) and by the operator where it plans itself (`controller.reconciling.planning`).
The only place that maps errors to reasons, by their class, never by their message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lithify.contract.outcome import Outcome
from lithify.contract.summaries import plan_summary
from lithify.errors import (
    AttemptFenced,
    CanaryFailed,
    CatalogLocked,
    CommitConflict,
    CommitOutrun,
    CorruptTable,
    Failure,
    LithifyError,
    NoExecutors,
    NotAllowed,
    NotFound,
    OutOfMemory,
    OutOfReach,
    ProcessLimit,
    ProcessLost,
    StalePlan,
    StorageError,
    UnsupportedTable,
    UserError,
)
from lithify.formats.protocol.model import BlockedGroup
from lithify.formats.protocol.observation import PlanFound
from lithify.resources.compaction import MOST_BLOCKED_OF_A_RUN, PlanSummary, Reason
from lithify.resources.table import BucketBlock

_PROBLEM_LENGTH = 160
_LONGEST_PATH = 400

_REASONS: Mapping[type[BaseException], Reason] = {
    LithifyError: Reason.DRIVER_FAILED,
    UserError: Reason.INVALID_SPEC,
    NotAllowed: Reason.ACCESS_DENIED,
    OutOfReach: Reason.ACCESS_DENIED,
    UnsupportedTable: Reason.UNSUPPORTED,
    CanaryFailed: Reason.CANARY_FAILED,
    CorruptTable: Reason.CORRUPT_TABLE,
    StorageError: Reason.STORAGE_UNAVAILABLE,
    CommitConflict: Reason.COMMIT_CONFLICT,
    CommitOutrun: Reason.COMMIT_CONFLICT,
    CatalogLocked: Reason.COMMIT_CONFLICT,
    StalePlan: Reason.COMMIT_CONFLICT,
    NoExecutors: Reason.SCHEDULING_TIMED_OUT,
    AttemptFenced: Reason.DRIVER_LOST,
    ProcessLost: Reason.DRIVER_LOST,
    ProcessLimit: Reason.OUT_OF_MEMORY,
    OutOfMemory: Reason.OUT_OF_MEMORY,
    MemoryError: Reason.OUT_OF_MEMORY,
}
"""The nearest class among an error's ancestors counts."""
_TABLE = frozenset({"table", "branch", "database", "warehouse"})
"""Kinds of missing objects that mean a missing table; the run itself named any other one."""


def reason_of(error: BaseException) -> Reason:
    """The final reason for an error."""
    if isinstance(error, NotFound) and vars(error).get("what") in _TABLE:
        return Reason.TABLE_NOT_FOUND
    return next((_REASONS[kind] for kind in type(error).__mro__ if kind in _REASONS), Reason.DRIVER_FAILED)


def failure_of(error: BaseException) -> Failure:
    """Who can make an error go away."""
    if isinstance(error, MemoryError):
        return Failure.OUT_OF_MEMORY
    return error.failure if isinstance(error, LithifyError) else Failure.BUG


def blocks_of(blocked: Iterable[BlockedGroup]) -> tuple[BucketBlock, ...]:
    """The blocked groups that an outcome names.

    Paths of any length would leave no room for others; those that are left out are tried again.
    """
    short = (each for each in blocked if len(each.group) <= _LONGEST_PATH)
    return tuple(BucketBlock.of(each, _PROBLEM_LENGTH) for each in short)[:MOST_BLOCKED_OF_A_RUN]


def outcome_of_plan(run: str, attempt: int, found: PlanFound) -> Outcome:
    """The outcome of a plan-only attempt, including one that blocked groups leave with nothing to do."""
    outcome = Outcome(
        run=run,
        attempt=attempt,
        reason=Reason.PLANNED if found.groups else Reason.NOTHING_TO_DO,
        base_snapshot_id=found.snapshot,
        plan=_summary(found),
        blocked=blocks_of(found.blocked),
        blocked_count=found.blocked_count,
    )
    if not found.problem:
        return outcome
    is_corrupt = any(each.is_corrupt for each in found.blocked)
    return Outcome(
        run=run,
        attempt=attempt,
        reason=Reason.CORRUPT_TABLE if is_corrupt else Reason.UNSUPPORTED,
        failure=Failure.USER,
        message=found.problem,
        blocked=outcome.blocked,
        blocked_count=outcome.blocked_count,
    )


def outcome_of_error(
    run: str, attempt: int, error: BaseException, plan: PlanSummary | None = None
) -> Outcome:
    """The outcome of an attempt that failed before it had committed anything."""
    message = str(error) if isinstance(error, LithifyError) else f"{type(error).__name__}: {error}"
    return Outcome(
        run=run,
        attempt=attempt,
        reason=reason_of(error),
        failure=failure_of(error),
        message=message,
        plan=plan,
    )


def _summary(found: PlanFound) -> PlanSummary | None:
    """The summary of a plan; None for a table without a snapshot, which has nothing to plan."""
    if found.snapshot is None:
        return None
    return plan_summary(found.groups, found.tasks, found.files, found.bytes, found.totals)
