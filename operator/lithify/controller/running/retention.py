"""Selects finished Compactions to delete, by number and by age. Called by `reconciling`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lithify.resources.compaction import Compaction, Reason
from lithify.resources.maintenance import RunKind
from lithify.resources.names import ObjectKey
from lithify.resources.objects import ConditionStatus
from lithify.resources.policy import CompactionPolicySpec

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RunRetention:
    """The finished Compactions to delete.

    Attributes:
        delete: those to delete now.
        wake: when the next one is due; None if none will be.
    """

    delete: frozenset[ObjectKey] = frozenset()
    wake: datetime | None = None


def retention(runs: Iterable[Compaction], policy: CompactionPolicySpec, now: datetime) -> RunRetention:
    """Applies history limits and TTLs to the Compactions of one table, to each kind by itself.

    Unfinished ones are never deleted, nor is the last success of a kind.
    """
    by_kind: dict[RunKind, list[Compaction]] = {}
    for run in runs:
        by_kind.setdefault(run.spec.kind, []).append(run)
    found = [_of_kind(of_kind, policy, now) for of_kind in by_kind.values()]
    moments = (each.wake for each in found if each.wake is not None)
    return RunRetention(frozenset().union(*(each.delete for each in found)), min(moments, default=None))


def _of_kind(runs: Iterable[Compaction], policy: CompactionPolicySpec, now: datetime) -> RunRetention:
    finished = sorted((run for run in runs if run.is_over), key=_end, reverse=True)
    good = [run for run in finished if run.reason.status is ConditionStatus.TRUE]
    bad = [run for run in finished if run.reason.status is ConditionStatus.FALSE]
    last = last_success(good)
    surplus = {run.metadata.key for run in good[policy.history.successful_runs :]}
    surplus |= {run.metadata.key for run in bad[policy.history.failed_runs :]}
    expiry = {run.metadata.key: expires_at(run, policy) for run in finished if run is not last}
    due = {key for key, moment in expiry.items() if moment is not None and moment <= now}
    delete = frozenset((surplus | due) - ({last.metadata.key} if last else set()))
    later = [moment for key, moment in expiry.items() if moment is not None and key not in delete]
    return RunRetention(delete, min(later, default=None))


def last_success(runs: Sequence[Compaction]) -> Compaction | None:
    """The success that is always kept: the newest that is not a dry run, or else the newest."""
    real = [run for run in runs if run.reason is not Reason.PLANNED]
    return max(real or runs, key=_end, default=None)


def expires_at(run: Compaction, policy: CompactionPolicySpec) -> datetime | None:
    """When a finished run's age requires its deletion, None for never."""
    own, ended = run.spec.ttl_seconds_after_finished, run.status.completion_time
    seconds = policy.ttl_seconds_after_finished if own is None else own
    return None if seconds is None or ended is None else ended + timedelta(seconds=seconds)


def _end(run: Compaction) -> tuple[datetime, str]:
    return run.status.completion_time or _LONG_AGO, run.metadata.name
