"""Groups runs that share a driver: small, automatic ones of one namespace, catalog and policy.

Used by `reconciling`. Pure. Only first attempts share; a retry runs alone. So do tables whose last failure
may have ended a driver, so that one table cannot fail others repeatedly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lithify.controller.deciding.admission import Pool
from lithify.controller.deciding.decision_input import Due
from lithify.controller.deciding.reasons import Requested
from lithify.resources.compaction import Compaction, CompactionSpec, Reason
from lithify.resources.names import ObjectKey
from lithify.resources.policy import Approval, CompactionPolicySpec, SharedRuns
from lithify.resources.quantities import quantity_bytes
from lithify.resources.table import LakeTable

_MOST_PARTITIONS = 16
"""Partitions of each run that fit into a driver's order."""
_WAITING = frozenset({Reason.PENDING, Reason.QUEUED})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run that could start now, and may share a driver.

    Attributes:
        key: the run.
        since: when it became ready to start.
        bytes: about how much it reads.
    """

    key: ObjectKey
    since: datetime
    bytes: int


@dataclass(frozen=True, slots=True)
class Grouping:
    """Runs that start together.

    Attributes:
        groups: those that start now; a run that shares with no other is a group of one.
        until: when the others start, if no more join; None if there are none.
    """

    groups: tuple[tuple[Candidate, ...], ...] = ()
    until: datetime | None = None


def group(candidates: Iterable[Candidate], rules: SharedRuns, now: datetime) -> Grouping:
    """Groups the runs that could start.

    Those that have waited longest go first. A full group starts at once, the last one when its first run has
    waited long enough.
    """
    most_bytes = quantity_bytes(rules.max_bytes)
    groups: list[list[Candidate]] = []
    size = 0
    for one in sorted(candidates, key=lambda one: (one.since, one.key)):
        if not groups or len(groups[-1]) >= rules.max_tables or size + one.bytes > most_bytes:
            groups.append([])
            size = 0
        groups[-1].append(one)
        size += one.bytes
    if not groups:
        return Grouping()
    last = groups[-1]
    # A time in the future was written by a clock that was wrong.
    until = min(last[0].since, now) + timedelta(seconds=rules.wait_seconds)
    is_ready = len(last) >= rules.max_tables or size >= most_bytes or until <= now
    ready = groups if is_ready else groups[:-1]
    return Grouping(tuple(map(tuple, ready)), None if is_ready else until)


def shared_bytes(
    table: LakeTable,
    policy: CompactionPolicySpec | None,
    runs: Iterable[Compaction],
    due: Due,
) -> int | None:
    """About how many bytes a new automatic run of a table reads, None if it must not share a driver.

    Args:
        table: the LakeTable.
        policy: its policy.
        runs: its earlier Compactions.
        due: what the run is for.
    """
    if policy is None or policy.shared_runs is None or policy.approval is not Approval.AUTOMATIC:
        return None
    is_small = 0 < due.bytes <= quantity_bytes(policy.shared_runs.max_table_bytes)
    named = max(len(due.partitions), len(table.status.blocked_buckets))
    if isinstance(due.reason, Requested) or not is_small or named > _MOST_PARTITIONS:
        return None
    return None if any(map(_ended_a_driver, runs)) else due.bytes


def bytes_of_sharing(run: Compaction) -> int | None:
    """Bytes that a Compaction reads, by the operator's record, if it may share a driver; None if it may not.

    Only the first attempt may: a retry runs alone.
    """
    if run.status.automatic is None or run.status.attempts or _has_wishes(run.spec):
        return None
    return run.status.automatic.shared_bytes


def pool_of(table: LakeTable, policy: CompactionPolicySpec | None, size: int | None) -> Pool | None:
    """The pool of runs that a run of a table may share a driver with; None if it shares none."""
    if size is None or policy is None or policy.shared_runs is None:
        return None
    spec, rules = table.spec, policy.shared_runs
    zone = spec.time_zone or ""
    names = (table.metadata.namespace, spec.catalog_ref.name, spec.policy_ref.name, zone)
    return Pool(names, rules.max_tables, quantity_bytes(rules.max_bytes))


def is_gathering(run: Compaction) -> bool:
    """Whether a run that may share a driver has not begun."""
    return run.reason in _WAITING and not run.spec.suspend and not run.spec.cancel


def _has_wishes(spec: CompactionSpec) -> bool:
    wishes: Sequence[object] = (spec.dry_run, spec.suspend, spec.cancel, spec.buckets)
    return any(wishes) or spec.approval is not Approval.AUTOMATIC


def _ended_a_driver(run: Compaction) -> bool:
    """Whether an attempt of a run failed in a way that may end a shared driver."""
    failures = run.status.failures
    return bool(failures.out_of_memory or failures.bug or failures.infrastructure)
