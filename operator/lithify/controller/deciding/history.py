"""Updates a table's status by its finished Compactions: last one, successes, failures in a row. Pure.

Called by `reconciling.tables`. Compactions are deleted eventually, so each is counted when it is first seen
finished; `status.last_compaction` marks how far that has been done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from lithify.controller.deciding.blocked import after_run
from lithify.controller.deciding.due_compactions import handled_request
from lithify.controller.deciding.ended_runs import NO_FAILURES, EndedRun, ended_runs
from lithify.controller.deciding.hold_reasons import held_until
from lithify.controller.deciding.maintenance_history import after_maintenance
from lithify.plain_text import plain_line
from lithify.resources.compaction import Compaction, Reason, ResultSummary, RunStrategy
from lithify.resources.modelling import MESSAGE_LENGTH
from lithify.resources.names import ANNOTATION_REQUESTED
from lithify.resources.objects import ConditionStatus
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import (
    MOST_SECONDS,
    CancelledRun,
    LakeTable,
    LakeTableStatus,
    RunSummary,
    TableUsage,
)

_DECIMALS = 3
_LARGEST = 2**63 - 1
"""Largest number in a status; any account that may change pods may report any."""


def active_of(runs: Sequence[Compaction]) -> Compaction | None:
    """The active run: the oldest unfinished one. A dry run does not block others."""
    open_runs = [run for run in runs if not (run.is_over or run.spec.dry_run)]
    return min(open_runs, key=lambda run: (_created(run), run.metadata.name), default=None)


def after_runs(
    table: LakeTable,
    runs: Sequence[Compaction],
    policy: CompactionPolicySpec,
    policy_generation: int = 0,
) -> LakeTableStatus:
    """The table's status with all runs counted that have ended since the last write."""
    status = table.status
    last = status.last_compaction
    known, name = (last.recorded_time or last.completion_time, last.name) if last else (None, None)
    ended = ended_runs(runs)
    for each in ended:
        if not each.run.is_maintenance and each.is_after(known, name):
            status = _counted(status, each, table.metadata.uid, policy)
            status = _after_cancel(status, each, table, policy_generation)
    status = after_maintenance(
        status, ended, lambda failures, moment: held_until(failures, policy, table.metadata.uid, moment)
    )
    status = _without_rolled_back(status, ended)
    active = active_of(runs)
    return replace(
        status,
        active_compaction=active.metadata.name if active else None,
        handled_request=_handled(table, runs),
    )


def _counted(
    status: LakeTableStatus, ended: EndedRun, seed: str, policy: CompactionPolicySpec
) -> LakeTableStatus:
    run, completed, reason = ended.run, ended.completed, ended.run.reason
    summary = RunSummary(
        name=run.metadata.name,
        strategy=run.spec.strategy.value,
        reason=reason.value,
        completion_time=completed,
        recorded_time=ended.recorded,
        message=plain_line(run.message, MESSAGE_LENGTH),
        snapshot_id=run.status.committed_snapshot_id,
    )
    usage = _with_usage(status.usage, run.status.result)
    status = after_run(replace(status, last_compaction=summary, usage=usage), run)
    if reason in NO_FAILURES or _says_nothing(run):
        return status
    if reason.status is ConditionStatus.TRUE:
        full_time = completed if _is_full(run) else status.last_full_time
        return replace(
            status,
            last_success_time=completed,
            last_full_time=full_time,
            last_failure=None,
            consecutive_failures=0,
            held_until=None,
        )
    failures = status.consecutive_failures + 1
    return replace(
        status,
        last_failure=summary,
        consecutive_failures=failures,
        held_until=held_until(failures, policy, seed, completed),
    )


def _without_rolled_back(status: LakeTableStatus, ended: Sequence[EndedRun]) -> LakeTableStatus:
    """The status as if runs that were rolled back had not succeeded; what they have taken stays counted.

    Earlier successes count as far as their Compactions are kept. If none is, the table is due as if there had
    been none: it is better compacted too early than too late.
    """
    gone = {each.run.metadata.name: each for each in ended if each.run.reason is Reason.ROLLED_BACK}
    last = status.last_compaction
    if last is not None and last.name in gone:
        message = plain_line(gone[last.name].run.message, MESSAGE_LENGTH)
        last = replace(last, reason=Reason.ROLLED_BACK.value, message=message)
        status = replace(status, last_compaction=last)
    times = {each.completed for each in gone.values()}
    good = [each for each in ended if _is_success(each.run)]
    if status.last_success_time in times:
        status = replace(status, last_success_time=_newest(good))
    if status.last_full_time in times:
        status = replace(status, last_full_time=_newest(each for each in good if _is_full(each.run)))
    return status


def _newest(ended: Iterable[EndedRun]) -> datetime | None:
    return max((each.completed for each in ended), default=None)


def _with_usage(usage: TableUsage, result: ResultSummary | None) -> TableUsage:
    """The usage with the result of one more run; each is counted once, when it is first seen finished."""
    if result is None:
        return usage
    return TableUsage(
        runs=usage.runs + 1,
        core_seconds=min(round(usage.core_seconds + result.core_seconds, _DECIMALS), MOST_SECONDS),
        input_bytes=min(usage.input_bytes + result.input_bytes, _LARGEST),
        output_bytes=min(usage.output_bytes + result.output_bytes, _LARGEST),
    )


def _after_cancel(
    status: LakeTableStatus, ended: EndedRun, table: LakeTable, policy_generation: int
) -> LakeTableStatus:
    """Remembers that a user cancelled a run of the operator, until a run ends otherwise.

    A user's own cancelled run says nothing about the operator's, and a dry run changes nothing.
    """
    run = ended.run
    if run.reason is Reason.PLANNED:
        return status
    if run.reason is not Reason.CANCELLED:
        return replace(status, cancelled_run=None)
    if not run.is_automatic:
        return status
    cancelled = CancelledRun(
        name=run.metadata.name,
        completion_time=ended.completed,
        table_generation=table.metadata.generation,
        policy_generation=policy_generation,
    )
    return replace(status, cancelled_run=cancelled)


def _says_nothing(run: Compaction) -> bool:
    """Whether the end says nothing of the table: a dry run, or a request that cannot be carried out."""
    is_mistaken = run.reason is Reason.INVALID_SPEC and not run.is_automatic
    return run.spec.dry_run or run.reason is Reason.PLANNED or is_mistaken


def _is_success(run: Compaction) -> bool:
    return not run.is_maintenance and run.reason.status is ConditionStatus.TRUE and not _says_nothing(run)


def _is_full(run: Compaction) -> bool:
    """Whether a run was a full compaction of the whole table, or of all partitions the operator chose.

    The operator's choice follows the policy's filter and idle time; a user's choice is just some part of the
    table.
    """
    is_part = bool(run.spec.buckets) or (bool(run.spec.partitions) and not run.is_automatic)
    return run.spec.strategy is RunStrategy.FULL and not is_part


def _handled(table: LakeTable, runs: Sequence[Compaction]) -> str | None:
    """The request that was handled last; a run that answers one names it."""
    requested = table.metadata.annotations.get(ANNOTATION_REQUESTED)
    answers = {run.metadata.annotations.get(ANNOTATION_REQUESTED) for run in runs}
    if requested and handled_request(requested) in answers:
        return handled_request(requested)
    return table.status.handled_request


def _created(run: Compaction) -> str:
    created = run.metadata.creation_timestamp
    return created.isoformat() if created else ""
