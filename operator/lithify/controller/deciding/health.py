"""Finds whether a table is kept compacted, for the condition Ready and the column HEALTH. Pure.

Called by `conditions` while a status is made, and by the operator for its summary. An answering catalog is
not enough: the table's policy must exist, and its last compaction must not have failed.
"""

from __future__ import annotations

from collections.abc import Iterable

from lithify.controller.deciding.blocked import BUCKETS_BLOCKED
from lithify.controller.deciding.decision_input import DecisionInput
from lithify.controller.deciding.hold_reasons import policy_hold
from lithify.controller.deciding.problems import TableProblem, TableReason
from lithify.controller.deciding.reasons import Hold
from lithify.controller.deciding.sentences import attempt_failure_text, failures_text, policy_text
from lithify.resources.compaction import Reason
from lithify.resources.objects import READY, Condition, ConditionStatus, condition_of
from lithify.resources.table import LakeTable, LakeTableSpec, TableHealth

POLICY_READY = "PolicyReady"
STALLED_FAILURES = 3
"""Consecutive failed compactions after which another attempt is unlikely to help."""

_FAILURES_FOR_PEOPLE = frozenset(
    {
        Reason.INVALID_SPEC,
        Reason.UNSUPPORTED,
        Reason.ACCESS_DENIED,
        Reason.CORRUPT_TABLE,
        Reason.CANARY_FAILED,
        Reason.IMAGE_ERROR,
    }
)
_POLICY_REASONS = {
    Hold.POLICY_MISSING: TableReason.POLICY_MISSING,
    Hold.POLICY_INVALID: TableReason.POLICY_INVALID,
}
_HEALTH = {
    TableReason.READY: TableHealth.HEALTHY,
    TableReason.NEVER_OBSERVED: TableHealth.UNKNOWN,
    TableReason.CATALOG_NOT_FOUND: TableHealth.NO_CATALOG,
    TableReason.TABLE_NOT_FOUND: TableHealth.TABLE_NOT_FOUND,
    TableReason.UNSUPPORTED_OPTION: TableHealth.UNSUPPORTED,
    TableReason.UNSUPPORTED_TABLE: TableHealth.UNSUPPORTED,
    TableReason.CORRUPT_TABLE: TableHealth.CORRUPT,
    TableReason.INVALID_TABLE_OPTION: TableHealth.INVALID_OPTION,
    TableReason.POLICY_MISSING: TableHealth.NO_POLICY,
    TableReason.POLICY_INVALID: TableHealth.INVALID_POLICY,
    TableReason.COMPACTIONS_FAILING: TableHealth.FAILING,
    TableReason.SECRET_NOT_FOUND: TableHealth.NO_CREDENTIALS,
    TableReason.SECRET_KEY_MISSING: TableHealth.NO_CREDENTIALS,
    TableReason.SECRET_NOT_READABLE: TableHealth.NO_CREDENTIALS,
    TableReason.ACCESS_DENIED: TableHealth.ACCESS_DENIED,
    TableReason.WAREHOUSE_NOT_FOUND: TableHealth.WAREHOUSE_NOT_FOUND,
    TableReason.NOT_ALLOWED: TableHealth.NOT_ALLOWED,
    TableReason.INVALID_OPTION: TableHealth.INVALID_OPTION,
    TableReason.CATALOG_SILENT: TableHealth.CATALOG_DOWN,
    TableReason.CATALOG_UNREACHABLE: TableHealth.CATALOG_DOWN,
    TableReason.STORAGE_UNAVAILABLE: TableHealth.CATALOG_DOWN,
    TableReason.OBSERVATION_TIMED_OUT: TableHealth.CATALOG_DOWN,
    TableReason.CLUSTER_UNAVAILABLE: TableHealth.CATALOG_DOWN,
    # Such as a lack of memory: the table may be to blame alone.
    TableReason.OBSERVATION_FAILED: TableHealth.OBSERVATION_FAILED,
}

_FOR_OTHER_TEAMS = frozenset(
    {
        TableHealth.NO_CREDENTIALS,
        TableHealth.ACCESS_DENIED,
        TableHealth.WAREHOUSE_NOT_FOUND,
        TableHealth.NOT_ALLOWED,
    }
)


def trouble_of(decision_input: DecisionInput) -> TableProblem | None:
    """Why an observable table is not kept compacted; None if it is, or if it is suspended."""
    held = policy_hold(decision_input)
    reason = None if held is None else _POLICY_REASONS.get(held.hold)
    if held is not None and reason is not None:
        return TableProblem(reason, policy_text(held))
    status = decision_input.table.status
    failures, last = status.consecutive_failures, status.last_failure
    if failures == 0:
        return _failing_now(decision_input)
    is_lasting = failures >= STALLED_FAILURES or (last is not None and last.reason in _FAILURES_FOR_PEOPLE)
    return TableProblem(TableReason.COMPACTIONS_FAILING, failures_text(status), is_lasting)


def _failing_now(decision_input: DecisionInput) -> TableProblem | None:
    """The trouble that attempts of the active run fail again and again, before it ends."""
    failing = decision_input.failing
    if failing is None or not failing.is_lasting:
        return None
    message = f"Compaction {decision_input.active}: {attempt_failure_text(failing)}"
    return TableProblem(TableReason.COMPACTIONS_FAILING, message)


def catalog_health(problem: TableProblem | None, tables: Iterable[TableProblem | None]) -> set[TableHealth]:
    """The problem of a catalog, in the words of HEALTH; empty without one.

    Args:
        problem: why the catalog as a whole cannot be used; see `references.catalog_problem`.
        tables: the result of each table's last observation. Of single tables only credentials and places
            count, which teams other than their own mend; a single table's outage may be its own.
    """
    words = {_HEALTH[one.reason] for one in tables if one is not None and one.reason.blames_catalog}
    words &= _FOR_OTHER_TEAMS
    return words if problem is None else words | {_HEALTH[problem.reason]}


def health_of(spec: LakeTableSpec, conditions: tuple[Condition, ...]) -> TableHealth:
    """The health of a table with these conditions: the worst that they report."""
    ready = condition_of(conditions, READY)
    if ready is None or ready.reason not in _HEALTH:
        return TableHealth.UNKNOWN
    health = _HEALTH[TableReason(ready.reason)]
    if health is TableHealth.HEALTHY and _is(conditions, BUCKETS_BLOCKED, ConditionStatus.TRUE):
        return TableHealth.BLOCKED
    policy = condition_of(conditions, POLICY_READY)
    is_suspended = spec.suspend or (policy is not None and policy.reason == Hold.POLICY_SUSPENDED)
    return TableHealth.SUSPENDED if health is TableHealth.HEALTHY and is_suspended else health


def problem_with(table: LakeTable) -> str | None:
    """Why a table is not healthy, in one line; None if it is."""
    conditions = table.status.conditions
    health = health_of(table.spec, conditions)
    if health.is_well:
        return refusal_in(conditions)
    said = condition_of(conditions, BUCKETS_BLOCKED if health is TableHealth.BLOCKED else READY)
    return None if said is None else f"{said.reason}: {said.message}"


def refusal_in(conditions: tuple[Condition, ...]) -> str | None:
    """Why an object is not ready, in one line; None if it is, or nobody has said yet."""
    ready = condition_of(conditions, READY)
    is_refused = ready is not None and ready.status is ConditionStatus.FALSE
    return f"{ready.reason}: {ready.message}" if ready is not None and is_refused else None


def _is(conditions: tuple[Condition, ...], kind: str, status: ConditionStatus) -> bool:
    found = condition_of(conditions, kind)
    return found is not None and found.status is status
