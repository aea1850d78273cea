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
from lithify.controller.running.maintaining import MAINTAINED, maintenance_fields, maintenance_text
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
    undo_field,
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
_SEARCHING = "Searching the table for a commit of the run."


def record(inputs: ReconcileInput, outcome: Outcome) -> Step:
    """Applies the outcome of the attempt's driver."""
    inputs = _with_blocked(inputs, outcome)
    if inputs.run.is_maintenance and outcome.reason in MAINTAINED:
        return _final(
            inputs, outcome.reason, maintenance_text(outcome), **maintenance_fields(outcome.maintenance)
        )
    if outcome.reason is Reason.COMPACTED and not inputs.run.is_maintenance:
        return compacted(inputs, outcome)
    if outcome.reason is Reason.PLANNED and _is_plan_wanted(inputs):
        return _planned(inputs, outcome)
    if outcome.reason is Reason.NOTHING_TO_DO:
        message = outcome.message or "No group needs compacting."
        return finish(inputs, Reason.NOTHING_TO_DO, message, plan=outcome.plan or inputs.status.plan)
    verdict = verdict_of_outcome(outcome)
    if verdict.reason is Reason.SCHEDULING_TIMED_OUT and inputs.reason is Reason.WAITING_FOR_EXECUTORS:
        verdict = replace(verdict, message=_with_cause(inputs, verdict.message))
    is_last_word = verdict.reason in _REFUSED and outcome.attempt == inputs.status.attempts == 1
    return _failed(inputs, verdict, overrides_stop=verdict.failure is Failure.USER, is_last_word=is_last_word)


def _with_cause(inputs: ReconcileInput, message: str) -> str:
    """Prepends the last message about executors' pods in status, which the driver cannot see."""
    return f"{shortened(message_of(inputs), _CAUSE_LENGTH)} {message}".strip()


def leave_shared(inputs: ReconcileInput, why: str) -> Step:
    """Queues a run again, for a driver of its own: its shared driver will not begin with it.

    That is no failure of this run. If it did commit, its next attempt finds that.
    """
    if inputs.spec.cancel:
        return finish(inputs, Reason.CANCELLED, CANCELLED)
    message = f"{why} The run starts again with a driver of its own."
    attempts = with_attempt(inputs, Reason.DRIVER_LOST, why)
    queued = stand(inputs, Reason.QUEUED, message, attempt_history=attempts)
    return inputs.answer(queued, free_table(inputs))


def bury(inputs: ReconcileInput, driver: DriverState | None) -> Step:
    """Ends an attempt whose driver ended without an outcome, or is gone."""
    if driver is not None and driver.waits:
        seen = f" ({driver.message})" if driver.message else ""
        return leave_shared(inputs, f"Driver {driver.name} ended{seen} before it began with this table.")
    if not inputs.may_have_committed:
        return _failed(inputs, verdict_of_death(driver), overrides_stop=False)
    if inputs.spec.cancel:
        return begin_search(inputs, Reason.CANCELLED, CANCELLED)
    verdict = verdict_of_death(driver)
    return begin_search(inputs, verdict.reason, verdict.message, verdict.failure)


def search(inputs: ReconcileInput) -> Step:
    """The next step of a run whose table is searched for its commits."""
    goal, found = searched_for(inputs, CANCELLED), inputs.facts.found
    verdict = verdict_of_search(goal)
    if isinstance(found, Unknown) and inputs.now < goal.deadline:
        return go_on_searching(inputs, goal)
    if verdict is None:
        return finish(inputs, reason_of_search(goal), goal.message)
    if isinstance(found, RunFound) and found.is_complete:
        return recovered(inputs, found)
    if isinstance(found, Unknown):
        return _final(inputs, Reason.DRIVER_LOST, f"{ended_text(goal.message)} {UNANSWERED}")
    return _failed(inputs, verdict, overrides_stop=False)


def fail(inputs: ReconcileInput, verdict: FailureVerdict, *, is_last_word: bool = False) -> Step:
    """Counts a failure; another attempt follows unless the limit is exceeded.

    `is_last_word`: the run's only driver reports that it was refused, so it committed nothing.
    """
    status, retries = inputs.status, inputs.facts.policy.retries
    counts = counted(status.failures, verdict.failure)
    failed = count_of(counts, verdict.failure)
    if failed > limit_of(retries, verdict.failure):
        if is_last_word:
            return _final(inputs, verdict.reason, verdict.message, failures=counts)
        return finish(inputs, verdict.reason, verdict.message, failures=counts)
    wait = backoff_seconds(retries, verdict.failure, failed, inputs.run.metadata.uid, status.attempts)
    message = f"Attempt {status.attempts} failed with {verdict.reason.value}; it will be retried: "
    following = inputs.at(inputs.now, wait)
    new = stand(
        inputs,
        Reason.BACKING_OFF,
        message + verdict.message,
        failures=counts,
        next_attempt_time=following,
        attempt_history=with_attempt(inputs, verdict.reason, verdict.message),
    )
    return inputs.answer(new, free_table(inputs), [following])


def finish(inputs: ReconcileInput, reason: Reason, message: str, **changes: Any) -> Step:
    """Ends the run, unless its table shows a commit of it."""
    may_hide_commit = reason.status is ConditionStatus.FALSE or inputs.status.attempts > 1
    if not (may_hide_commit and inputs.may_have_committed):
        return _final(inputs, reason, message, **changes)
    if inputs.reason is not Reason.SEARCHING_COMMIT:
        return begin_search(inputs, reason, message, **changes)
    found = inputs.facts.found
    if isinstance(found, RunFound):
        return recovered(inputs, found, message)
    if isinstance(found, Unknown):
        message = f"{ended_text(message)} {UNANSWERED}"
    return _final(inputs, reason, message, **changes)


def lost(inputs: ReconcileInput, driver: DriverStatus, message: str, since: datetime) -> Step:
    """Gives up a driver, counted as lost since `since`, that may still be alive somewhere.

    It is not ended by force, and the lock stays until the driver is known to be gone.
    """
    found, patience = inputs.facts.found, inputs.deadlines.searching_seconds
    if isinstance(found, RunFound):
        return recovered(inputs, found)
    if inputs.may_have_committed and isinstance(found, Unknown) and inputs.since(since) < patience:
        status = stand(inputs, inputs.reason, f"{ended_text(message)} {_SEARCHING}", driver=driver)
        return inputs.answer(status, (Action.FIND_RUN,), [inputs.at(since, patience)])
    told = "It is not killed and may still commit; until it is gone, no other run starts on the table."
    return _final(inputs, Reason.DRIVER_LOST, f"{shortened(message, 800)} {told}", driver=driver)


def compacted(inputs: ReconcileInput, outcome: Outcome) -> Step:
    """Ends the run with its driver's result."""
    inputs = _with_blocked(inputs, outcome)
    result = outcome.result or ResultSummary()
    message = result_text(result)
    if outcome.message:
        message = f"{message} {outcome.message}"
    return _success(
        inputs,
        result,
        message,
        plan=outcome.plan or inputs.status.plan,
        base_snapshot_id=_snapshot(outcome.base_snapshot_id),
        committed_snapshot_id=_snapshot(outcome.committed_snapshot_id),
    )


def recovered(inputs: ReconcileInput, found: RunFound, failure: str = "") -> Step:
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
        inputs,
        result,
        message,
        base_snapshot_id=_snapshot(found.base),
        committed_snapshot_id=_snapshot(found.snapshot),
    )


def _with_blocked(inputs: ReconcileInput, outcome: Outcome) -> ReconcileInput:
    """The input with the outcome's blocked groups in status, however the driver ended."""
    if not outcome.blocked_count:
        return inputs
    status = replace(
        inputs.status,
        blocked_buckets=outcome.blocked[:MOST_BLOCKED_OF_A_RUN],
        blocked_bucket_count=outcome.blocked_count,
    )
    return replace(inputs, run=replace(inputs.run, status=status))


def stop_of(inputs: ReconcileInput) -> StopStatus | None:
    """Why the driver was asked to end."""
    return inputs.status.driver.stopping if inputs.status.driver else None


def _failed(
    inputs: ReconcileInput, verdict: FailureVerdict, *, overrides_stop: bool, is_last_word: bool = False
) -> Step:
    """Ends a failed attempt; a requested stop has precedence, unless `overrides_stop`."""
    stop = stop_of(inputs)
    if inputs.spec.cancel:
        return finish(inputs, Reason.CANCELLED, CANCELLED)
    if overrides_stop or stop is None:
        return fail(inputs, verdict, is_last_word=is_last_word)
    if stop.reason in _UNDECIDED:
        return _stopped(inputs, stop)
    reason = Reason(stop.reason)
    return fail(inputs, FailureVerdict(reason, failure_of(reason), stop.message))


def _stopped(inputs: ReconcileInput, stop: StopStatus) -> Step:
    reason, message = Reason.QUEUED, "The driver was stopped; the run starts again."
    if inputs.spec.suspend:
        reason, message = Reason.SUSPENDED, SUSPENDED
    attempts = with_attempt(inputs, Reason(stop.reason), stop.message)
    return inputs.answer(stand(inputs, reason, message, attempt_history=attempts), free_table(inputs))


def _is_plan_wanted(inputs: ReconcileInput) -> bool:
    return inputs.spec.dry_run or (inputs.spec.approval is Approval.MANUAL and inputs.status.plan is None)


def _planned(inputs: ReconcileInput, outcome: Outcome) -> Step:
    plan = outcome.plan or PlanSummary(buckets=0, tasks=0, files=0, bytes=0, upgraded_files=0)
    base = _snapshot(outcome.base_snapshot_id)
    if inputs.spec.dry_run:
        message = f"A run would rewrite {plan_text(plan)}."
        return _final(inputs, Reason.PLANNED, message, plan=plan, base_snapshot_id=base)
    if inputs.spec.cancel:
        return finish(inputs, Reason.CANCELLED, CANCELLED, plan=plan)
    reason, message = Reason.AWAITING_APPROVAL, approval_text(plan)
    if inputs.spec.approved:
        reason, message = Reason.QUEUED, "Approved; waiting for its turn."
    attempts = with_attempt(inputs, Reason.PLANNED, message)
    status = stand(inputs, reason, message, plan=plan, base_snapshot_id=base, attempt_history=attempts)
    return inputs.answer(status, free_table(inputs))


def approval_text(plan: PlanSummary) -> str:
    """Message of a run that awaits approval."""
    return (
        f"Planned to rewrite {plan_text(plan)}; set spec.approved or spec.cancel to true to continue or end."
    )


def _success(inputs: ReconcileInput, result: ResultSummary, message: str, **changes: Any) -> Step:
    texts = {"files": files_text(result)[:48], "bytes": bytes_text(result)[:48]}
    texts |= undo_field(inputs.facts.undo, changes.get("base_snapshot_id"))
    return _final(inputs, Reason.COMPACTED, message, result=result, **texts, **changes)


def _final(inputs: ReconcileInput, reason: Reason, message: str, **changes: Any) -> Step:
    status = inputs.status
    ended = inputs.driver_end or inputs.now
    fields: dict[str, Any] = {"completion_time": ended, "duration": None}
    if status.start_time is not None:
        fields["duration"] = duration_text((ended - status.start_time).total_seconds())
    if inputs.has_open_attempt:
        fields["attempt_history"] = with_attempt(inputs, reason, message)
    done = stand(inputs, reason, message, **{**fields, **changes})
    actions = settle(inputs)
    return inputs.answer(done, actions) if actions else Step(done)


def _snapshot(text: str | None) -> str | None:
    """A valid id, else None: every user who can change a pod can write anything into its outcome."""
    return text if text is not None and is_snapshot_id(text) else None
