"""Computes the status of a LakeTable from the input and the outcome of its decision. Pure.

Called by `reconciling.tables`. The same input gives exactly the same status, so that an unchanged one is
not written again: its texts come from `sentences`. After a restart of the operator there is no
observation until the first one ends; until then status stays as it was.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lithify.amounts import size_text
from lithify.controller.deciding.blocked import after_observation, say_blocked
from lithify.controller.deciding.condition_builder import ConditionBuilder
from lithify.controller.deciding.decision_input import Decision, DecisionInput
from lithify.controller.deciding.due_maintenance import is_expired_by_operator, record_of
from lithify.controller.deciding.health import POLICY_READY, health_of, trouble_of
from lithify.controller.deciding.hold_reasons import policy_hold, problem_of_table
from lithify.controller.deciding.maintenance_history import with_next_times
from lithify.controller.deciding.problems import TableProblem, TableReason
from lithify.controller.deciding.sentences import (
    duplicate_text,
    expiry_text,
    failed_maintenance_text,
    last_failure_text,
    others_text,
    policy_text,
    snapshots_text,
    why_text,
)
from lithify.formats.protocol.observation import Observation
from lithify.resources.figures import blocks_of
from lithify.resources.maintenance import RunKind
from lithify.resources.objects import (
    READY,
    RECONCILING,
    STALLED,
    Condition,
    ConditionStatus,
    condition_of,
    shortened,
    without_condition,
)
from lithify.resources.quantities import LARGEST
from lithify.resources.table import (
    NOT_OBSERVED,
    LakeTableStatus,
    ObservationSummary,
    SnapshotSummary,
)

COMPACTION_NEEDED = "CompactionNeeded"
WRITER_COMPACTS = "WriterCompacts"
SNAPSHOTS_EXPIRE = "SnapshotsExpire"
DUPLICATE = "Duplicate"

_UUID_LENGTH = 128
_ALL_PERCENT = 100


def table_status(decision_input: DecisionInput, decision: Decision, now: datetime) -> LakeTableStatus:
    """The table's status as it should be at `now`; the results of runs are taken over from the old one."""
    status = decision_input.table.status
    found = replace(
        status,
        observed_generation=decision_input.table.metadata.generation,
        conditions=_conditions(decision_input, decision, now),
        active_compaction=decision_input.active,
    )
    found = replace(found, health=health_of(decision_input.table.spec, found.conditions))
    problem = problem_of_table(decision_input)
    if problem is None and decision_input.observation is None and _was_seen(status):
        failed = last_failure_text(status) if found.health != status.health else ""
        return replace(found, due=shortened(failed)) if failed else found
    seen = decision_input.observation
    if seen is not None:
        summary = summary_of(seen)
        found = replace(
            found,
            table_uuid=seen.table_uuid[:_UUID_LENGTH],
            observation=summary,
            size=size_text(summary.bytes),
            debt=_debt(summary.due_bytes, sum(need.bytes for need in seen.needs)),
        )
        found = after_observation(found, seen, decision_input.held)
    found = with_next_times(found, decision.maintenance.next_times)
    return replace(found, due=_due(status, decision), next_full_time=decision.next_full)


def is_initial(before: LakeTableStatus, after: LakeTableStatus) -> bool:
    """Whether a status says no more than the one with which a LakeTable is created: nothing is known yet.

    It is not written then, so a new table costs one write, that of its first observation.
    """
    said = replace(
        after,
        observed_generation=before.observed_generation,
        conditions=before.conditions,
        health=before.health,
        due=before.due,
        next_full_time=before.next_full_time,
        maintenance=before.maintenance,
    )
    return said == before and not _was_seen(after)


def _debt(due: int, old: int) -> str | None:
    """Bytes to compact, and after a plus the bytes that an expiry of snapshots would free: `1.2Gi+5.0Mi`."""
    if old:
        return f"{size_text(due)}+{size_text(old)}"
    return size_text(due) if due else None


def _due(status: LakeTableStatus, decision: Decision) -> str:
    """The column WHY: what is due and what holds it back, with the error of the last run if it failed."""
    why, failed = why_text(decision), last_failure_text(status)
    return shortened(f"{why}; {failed}" if failed else why)


def summary_of(seen: Observation) -> ObservationSummary:
    """An observation as status shows it."""
    percent, deleted = seen.delete_percent, seen.deleted_rows
    return ObservationSummary(
        snapshot_id=seen.snapshot,
        schema_id=seen.schema_id,
        partitions=seen.partitions,
        files=seen.files,
        bytes=seen.bytes,
        small_files=seen.small_files,
        deleted_rows=None if deleted is None else max(0, min(LARGEST, deleted)),
        delete_percent=None if percent is None else max(0, min(_ALL_PERCENT, percent)),
        groups=seen.groups,
        due_groups=min(LARGEST, sum(finding.buckets for finding in seen.findings)),
        due_bytes=min(LARGEST, sum(finding.bytes for finding in seen.findings)),
        snapshots=SnapshotSummary(
            count=seen.snapshots.count,
            oldest_time=seen.snapshots.oldest,
            expired_bytes=seen.snapshots.expired_bytes,
        ),
        **blocks_of(seen.blocks),
    )


def _conditions(decision_input: DecisionInput, decision: Decision, now: datetime) -> tuple[Condition, ...]:
    table = decision_input.table
    conditions = ConditionBuilder(table.status.conditions, table.metadata.generation, now)
    problem = problem_of_table(decision_input)
    seen = decision_input.observation
    _say_policy(conditions, decision_input)
    _say_duplicate(conditions, decision_input)
    trouble = trouble_of(decision_input)
    if problem is None and seen is None and _was_seen(table.status):
        _await_observation(conditions, table.status, table.metadata.generation, trouble)
        return conditions.conditions
    _say_ready(conditions, problem, seen, trouble)
    _say_needed(conditions, problem, seen, decision)
    if seen is not None:
        say_blocked(conditions, after_observation(table.status, seen, decision_input.held))
        _say_writers(conditions, seen)
        _say_snapshots(conditions, decision_input, seen)
    return conditions.conditions


def _was_seen(status: LakeTableStatus) -> bool:
    ready = condition_of(status.conditions, READY)
    return ready is not None and ready.reason != TableReason.NEVER_OBSERVED


def _await_observation(
    conditions: ConditionBuilder, status: LakeTableStatus, generation: int, trouble: TableProblem | None
) -> None:
    """Keeps what an earlier operator said, unless it is known to be outdated without an observation.

    If that concerns another generation of the spec, the message says so.
    """
    ready = condition_of(status.conditions, READY)
    if trouble is not None and ready is not None and ready.status is ConditionStatus.TRUE:
        conditions.not_ready(trouble)
    if status.observed_generation != generation:
        conditions.true(RECONCILING, "Progressing", "the spec has changed; the table is observed again")


def _say_ready(
    conditions: ConditionBuilder,
    problem: TableProblem | None,
    seen: Observation | None,
    trouble: TableProblem | None,
) -> None:
    """Sets Ready; a failed observation has precedence over what keeps compactions from succeeding."""
    found = trouble if problem is None and seen is not None else problem
    if found is not None:
        conditions.not_ready(found)
        return
    conditions.false(STALLED, "NotStalled")
    if seen is None:
        conditions.unknown(READY, TableReason.NEVER_OBSERVED, NOT_OBSERVED)
        conditions.true(RECONCILING, "Progressing", NOT_OBSERVED)
    else:
        conditions.true(READY, TableReason.READY, "the table can be loaded and compacted")
        conditions.false(RECONCILING, "Observed")


def _say_needed(
    conditions: ConditionBuilder, problem: TableProblem | None, seen: Observation | None, decision: Decision
) -> None:
    if problem is not None:
        message = f"unknown while the table is not ready: {problem.message}"
        conditions.unknown(COMPACTION_NEEDED, problem.reason, message)
    elif seen is None:
        conditions.unknown(COMPACTION_NEEDED, TableReason.NEVER_OBSERVED, NOT_OBSERVED)
    elif decision.due is not None:
        conditions.true(COMPACTION_NEEDED, decision.due.reason.trigger, why_text(decision))
    else:
        is_up_to_date = seen.full_bytes == 0 and not seen.full_wait
        reason = "UpToDate" if is_up_to_date else "NotDue"
        conditions.false(COMPACTION_NEEDED, reason, why_text(decision))


def _say_policy(conditions: ConditionBuilder, decision_input: DecisionInput) -> None:
    held = policy_hold(decision_input)
    if held is None:
        conditions.true(
            POLICY_READY, "Followed", f"CompactionPolicy {decision_input.policy_name} is followed"
        )
    else:
        conditions.false(POLICY_READY, held.hold, policy_text(held))


def _say_duplicate(conditions: ConditionBuilder, decision_input: DecisionInput) -> None:
    older = decision_input.duplicate_of
    if older is None:
        conditions.conditions = without_condition(conditions.conditions, DUPLICATE)
        return
    conditions.true(DUPLICATE, "OlderLakeTable", duplicate_text(older))


def _say_writers(conditions: ConditionBuilder, seen: Observation) -> None:
    if seen.write_only and seen.other_compactors:
        conditions.true(WRITER_COMPACTS, "OtherCompacts", others_text(seen.other_compactors))
        return
    if seen.write_only:
        conditions.false(WRITER_COMPACTS, "WriteOnly", "the table's writers do not compact it")
        return
    conditions.true(
        WRITER_COMPACTS,
        "NotWriteOnly",
        "the table's writers compact, too: if both compact the same files, the second commit fails, "
        "which may fail a writer. Set write-only=true on the table",
    )


def _say_snapshots(conditions: ConditionBuilder, decision_input: DecisionInput, seen: Observation) -> None:
    """Says who expires snapshots; once a run of the operator has failed, that it does not succeed."""
    policy = decision_input.policy
    if policy is not None and is_expired_by_operator(policy, seen):
        last = record_of(decision_input.table, RunKind.EXPIRE_SNAPSHOTS)
        if last.consecutive_failures:
            conditions.false(SNAPSHOTS_EXPIRE, "ExpiryFails", failed_maintenance_text(last))
        else:
            conditions.true(SNAPSHOTS_EXPIRE, "OperatorExpires", expiry_text(last))
    elif seen.snapshots.writers_expire:
        conditions.true(SNAPSHOTS_EXPIRE, "WritersExpire", "the table's writers expire old snapshots")
    else:
        conditions.false(SNAPSHOTS_EXPIRE, "NobodyExpires", snapshots_text(seen.snapshots))
