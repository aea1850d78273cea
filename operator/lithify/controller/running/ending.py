"""Ends attempts and runs: by their outcome, by failure, or on request.

Used by the modules of this package only. Pure. No run is reported as failed before its table was searched for
what it may have committed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from lithify.contract.outcome import Outcome
from lithify.controller.driver import DriverState
from lithify.controller.running.backoff import backoff_seconds
from lithify.controller.running.facts import Action, Step, Unknown
from lithify.controller.running.failures import (
    FailureVerdict,
    count_of,
    counted,
    failure_of,
    limit_of,
    verdict_of_death,
    verdict_of_outcome,
)
from lithify.controller.running.reconcile_input import ReconcileInput
from lithify.controller.running.release import free_table, settle
from lithify.controller.running.searching import (
    UNANSWERED,
    begin_search,
    ended_text,
    go_on_searching,
    reason_of_search,
    searched_for,
    verdict_of_search,
)
from lithify.controller.running.status import message_of, stand, with_attempt
from lithify.controller.running.summary import (
    bytes_text,
    duration_text,
    files_text,
    plan_text,
    result_text,
)
from lithify.errors import Failure
from lithify.formats.protocol.model import is_snapshot_id
from lithify.formats.protocol.observation import RunFound
from lithify.resources.compaction import (
    MOST_BLOCKED_OF_A_RUN,
    DriverStatus,
    PlanSummary,
    Reason,
    ResultSummary,
    StopStatus,
)
from lithify.resources.objects import ConditionStatus, shortened
from lithify.resources.policy import Approval

CANCELLED = "Cancelled by spec.cancel."
OUT_OF_TIME = "The run exceeded its spec.activeDeadlineSeconds."
SUSPENDED = "Suspended by spec.suspend; set it to false to continue."
_UNDECIDED = frozenset({Reason.SUSPENDED.value, Reason.QUEUED.value})
_REFUSED = frozenset({Reason.INVALID_SPEC, Reason.TABLE_NOT_FOUND, Reason.UNSUPPORTED, Reason.ACCESS_DENIED})
"""Outcomes of a driver that was not allowed to work. The operator may never be able to read the table either,
and a search for commits would delay the message by a day."""
_CAUSE_LENGTH = 500
_LOOKING = "Searching the table for a commit of the run."


def record(case: ReconcileInput, outcome: Outcome) -> Step:
    """Applies the outcome of the attempt's driver."""
    case = _with_blocked(case, outcome)
    if outcome.reason is Reason.COMPACTED:
        return compacted(case, outcome)
    if outcome.reason is Reason.PLANNED and _is_plan_wanted(case):
        return _planned(case, outcome)
    if outcome.reason is Reason.NOTHING_TO_DO:
        message = outcome.message or "No bucket needs compacting."
        return finish(case, Reason.NOTHING_TO_DO, message, plan=outcome.plan or case.status.plan)
    verdict = verdict_of_outcome(outcome)
    if verdict.reason is Reason.SCHEDULING_TIMED_OUT and case.reason is Reason.WAITING_FOR_EXECUTORS:
        verdict = replace(verdict, message=_with_cause(case, verdict.message))
    is_last_word = verdict.reason in _REFUSED and outcome.attempt == case.status.attempts == 1
    return _failed(case, verdict, overrides_stop=verdict.failure is Failure.USER, is_last_word=is_last_word)


def _with_cause(case: ReconcileInput, message: str) -> str:
    """Prepends the last message about executors' pods in status, which the driver cannot see."""
    return f"{shortened(message_of(case), _CAUSE_LENGTH)} {message}".strip()


def leave_shared(case: ReconcileInput, why: str) -> Step:
    """Queues a run again, for a driver of its own: its shared driver will not begin with it.

    That is no failure of this run. If it did commit, its next attempt finds that.
    """
    if case.spec.cancel:
        return finish(case, Reason.CANCELLED, CANCELLED)
    message = f"{why} The run starts again with a driver of its own."
    attempts = with_attempt(case, Reason.DRIVER_LOST, why)
    queued = stand(case, Reason.QUEUED, message, attempt_history=attempts)
    return case.answer(queued, free_table(case))


def bury(case: ReconcileInput, driver: DriverState | None) -> Step:
    """Ends an attempt whose driver ended without an outcome, or is gone."""
    if driver is not None and driver.waits:
        seen = f" ({driver.message})" if driver.message else ""
        return leave_shared(case, f"Driver {driver.name} ended{seen} before it began with this table.")
    if not case.may_have_committed:
        return _failed(case, verdict_of_death(driver), overrides_stop=False)
    if case.spec.cancel:
        return begin_search(case, Reason.CANCELLED, CANCELLED)
    verdict = verdict_of_death(driver)
    return begin_search(case, verdict.reason, verdict.message, verdict.failure)


def search(case: ReconcileInput) -> Step:
    """The next step of a run whose table is searched for its commits."""
    goal, found = searched_for(case, CANCELLED), case.facts.found
    verdict = verdict_of_search(goal)
    if isinstance(found, Unknown) and case.now < goal.deadline:
        return go_on_searching(case, goal)
    if verdict is None:
        return finish(case, reason_of_search(goal), goal.message)
    if isinstance(found, RunFound) and found.is_complete:
        return recovered(case, found)
    if isinstance(found, Unknown):
        return _final(case, Reason.DRIVER_LOST, f"{ended_text(goal.message)} {UNANSWERED}")
    return _failed(case, verdict, overrides_stop=False)


def fail(case: ReconcileInput, verdict: FailureVerdict, *, is_last_word: bool = False) -> Step:
    """Counts a failure; another attempt follows unless the limit is exceeded.

    `is_last_word`: the run's only driver reports that it was refused, so it committed nothing.
    """
    status, retries = case.status, case.facts.policy.retries
    counts = counted(status.failures, verdict.failure)
    failed = count_of(counts, verdict.failure)
    if failed > limit_of(retries, verdict.failure):
        if is_last_word:
            return _final(case, verdict.reason, verdict.message, failures=counts)
        return finish(case, verdict.reason, verdict.message, failures=counts)
    wait = backoff_seconds(retries, verdict.failure, failed, case.run.metadata.uid, status.attempts)
    message = f"Attempt {status.attempts} failed with {verdict.reason.value}; it will be retried: "
    following = case.at(case.now, wait)
    new = stand(
        case,
        Reason.BACKING_OFF,
        message + verdict.message,
        failures=counts,
        next_attempt_time=following,
        attempt_history=with_attempt(case, verdict.reason, verdict.message),
    )
    return case.answer(new, free_table(case), [following])


def finish(case: ReconcileInput, reason: Reason, message: str, **changes: Any) -> Step:
    """Ends the run, unless its table shows a commit of it."""
    may_hide_commit = reason.status is ConditionStatus.FALSE or case.status.attempts > 1
    if not (may_hide_commit and case.may_have_committed):
        return _final(case, reason, message, **changes)
    if case.reason is not Reason.SEARCHING_COMMIT:
        return begin_search(case, reason, message, **changes)
    found = case.facts.found
    if isinstance(found, RunFound):
        return recovered(case, found, message)
    if isinstance(found, Unknown):
        message = f"{ended_text(message)} {UNANSWERED}"
    return _final(case, reason, message, **changes)


def lost(case: ReconcileInput, driver: DriverStatus, message: str, since: datetime) -> Step:
    """Gives up a driver, counted as lost since `since`, that may still be alive somewhere.

    It is not ended by force, and the lock stays until the driver is known to be gone.
    """
    found, patience = case.facts.found, case.deadlines.searching_seconds
    if isinstance(found, RunFound):
        return recovered(case, found)
    if case.may_have_committed and isinstance(found, Unknown) and case.since(since) < patience:
        status = stand(case, case.reason, f"{ended_text(message)} {_LOOKING}", driver=driver)
        return case.answer(status, (Action.FIND_RUN,), [case.at(since, patience)])
    told = "It is not killed and may still commit; until it is gone, no other run starts on the table."
    return _final(case, Reason.DRIVER_LOST, f"{shortened(message, 800)} {told}", driver=driver)


def compacted(case: ReconcileInput, outcome: Outcome) -> Step:
    """Ends the run with its driver's result."""
    case = _with_blocked(case, outcome)
    result = outcome.result or ResultSummary()
    message = result_text(result)
    if outcome.message:
        message = f"{message} {outcome.message}"
    return _success(
        case,
        result,
        message,
        plan=outcome.plan or case.status.plan,
        base_snapshot_id=_snapshot(outcome.base_snapshot_id),
        committed_snapshot_id=_snapshot(outcome.committed_snapshot_id),
    )


def recovered(case: ReconcileInput, found: RunFound, failure: str = "") -> Step:
    """Ends the run with its commits found in the table."""
    result = ResultSummary(
        input_files=found.input_files,
        output_files=found.output_files,
        input_bytes=found.input_bytes,
        output_bytes=found.output_bytes,
        recovered=True,
    )
    message = (
        f"Snapshot {found.snapshot} of the table was committed by this run, whose driver left no result."
    )
    if failure:
        message = (
            f"Snapshot {found.snapshot} of the table was committed by this run, which then ended: {failure}"
        )
    return _success(
        case,
        result,
        message,
        base_snapshot_id=_snapshot(found.base),
        committed_snapshot_id=_snapshot(found.snapshot),
    )


def _with_blocked(case: ReconcileInput, outcome: Outcome) -> ReconcileInput:
    """The case with the outcome's blocked buckets in status, however the driver ended."""
    if not outcome.blocked_count:
        return case
    status = replace(
        case.status,
        blocked_buckets=outcome.blocked[:MOST_BLOCKED_OF_A_RUN],
        blocked_bucket_count=outcome.blocked_count,
    )
    return replace(case, run=replace(case.run, status=status))


def stop_of(case: ReconcileInput) -> StopStatus | None:
    """Why the driver was asked to end."""
    return case.status.driver.stopping if case.status.driver else None


def _failed(
    case: ReconcileInput, verdict: FailureVerdict, *, overrides_stop: bool, is_last_word: bool = False
) -> Step:
    """Ends a failed attempt; a requested stop has precedence, unless `overrides_stop`."""
    stop = stop_of(case)
    if case.spec.cancel:
        return finish(case, Reason.CANCELLED, CANCELLED)
    if overrides_stop or stop is None:
        return fail(case, verdict, is_last_word=is_last_word)
    if stop.reason in _UNDECIDED:
        return _stopped(case, stop)
    reason = Reason(stop.reason)
    return fail(case, FailureVerdict(reason, failure_of(reason), stop.message))


def _stopped(case: ReconcileInput, stop: StopStatus) -> Step:
    reason, message = Reason.QUEUED, "The driver was stopped; the run starts again."
    if case.spec.suspend:
        reason, message = Reason.SUSPENDED, SUSPENDED
    attempts = with_attempt(case, Reason(stop.reason), stop.message)
    return case.answer(stand(case, reason, message, attempt_history=attempts), free_table(case))


def _is_plan_wanted(case: ReconcileInput) -> bool:
    return case.spec.dry_run or (case.spec.approval is Approval.MANUAL and case.status.plan is None)


def _planned(case: ReconcileInput, outcome: Outcome) -> Step:
    plan = outcome.plan or PlanSummary(buckets=0, tasks=0, files=0, bytes=0, upgraded_files=0)
    base = _snapshot(outcome.base_snapshot_id)
    if case.spec.dry_run:
        message = f"A run would rewrite {plan_text(plan)}."
        return _final(case, Reason.PLANNED, message, plan=plan, base_snapshot_id=base)
    if case.spec.cancel:
        return finish(case, Reason.CANCELLED, CANCELLED, plan=plan)
    reason, message = Reason.AWAITING_APPROVAL, approval_text(plan)
    if case.spec.approved:
        reason, message = Reason.QUEUED, "Approved; waiting for its turn."
    attempts = with_attempt(case, Reason.PLANNED, message)
    status = stand(case, reason, message, plan=plan, base_snapshot_id=base, attempt_history=attempts)
    return case.answer(status, free_table(case))


def approval_text(plan: PlanSummary) -> str:
    """Message of a run that awaits approval."""
    return (
        f"Planned to rewrite {plan_text(plan)}; set spec.approved or spec.cancel to true to continue or end."
    )


def _success(case: ReconcileInput, result: ResultSummary, message: str, **changes: Any) -> Step:
    texts = {"files": files_text(result)[:48], "bytes": bytes_text(result)[:48]}
    return _final(case, Reason.COMPACTED, message, result=result, **texts, **changes)


def _final(case: ReconcileInput, reason: Reason, message: str, **changes: Any) -> Step:
    status = case.status
    ended = case.driver_end or case.now
    fields: dict[str, Any] = {"completion_time": ended, "duration": None}
    if status.start_time is not None:
        fields["duration"] = duration_text((ended - status.start_time).total_seconds())
    if case.has_open_attempt:
        fields["attempt_history"] = with_attempt(case, reason, message)
    done = stand(case, reason, message, **{**fields, **changes})
    acts = settle(case)
    return case.answer(done, acts) if acts else Step(done)


def _snapshot(text: str | None) -> str | None:
    """A valid id, else None: every user who can change a pod can write anything into its outcome."""
    return text if text is not None and is_snapshot_id(text) else None
