"""Which finished Compactions go, and which never do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.running.retention import retention
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.maintenance import RunKind
from lithify.resources.objects import Condition, ConditionStatus
from lithify.resources.policy import CompactionPolicySpec, HistoryLimits
from support.merge_trees import repeatable
from support.running.runs import NOON, run_of

POLICY = CompactionPolicySpec(history=HistoryLimits(successful_runs=2, failed_runs=1))


def finished(
    name: str, reason: Reason, minute: int, ttl: int | None = None, kind: RunKind = RunKind.COMPACT
) -> Compaction:
    run = run_of(name, name, ttl_seconds_after_finished=ttl, kind=kind)
    at = NOON + timedelta(minutes=minute)
    said = Condition(type="Succeeded", status=reason.status, reason=reason.value, last_transition_time=at)
    ended = at if reason.is_final else None
    return replace(run, status=replace(run.status, conditions=(said,), completion_time=ended))


def deleted(*runs: Compaction, policy: CompactionPolicySpec = POLICY, minute: int = 60) -> set[str]:
    return {key.name for key in retention(runs, policy, NOON + timedelta(minutes=minute)).delete}


def test_the_oldest_above_the_limits_go() -> None:
    runs = [finished(f"good-{n}", Reason.COMPACTED, n) for n in range(4)]
    runs += [finished(f"bad-{n}", Reason.CANCELLED, n) for n in range(3)]
    assert deleted(*runs) == {"good-0", "good-1", "bad-0", "bad-1"}


def test_kinds_do_not_push_each_other_out() -> None:
    """A table whose snapshots expire every hour still shows how it was compacted."""
    expiry = RunKind.EXPIRE_SNAPSHOTS
    runs = [finished("good", Reason.COMPACTED, 0), finished("bad", Reason.DRIVER_LOST, 1)]
    runs += [finished(f"expired-{n}", Reason.MAINTAINED, 2 + n, kind=expiry) for n in range(4)]
    assert deleted(*runs) == {"expired-0", "expired-1"}


def test_what_has_not_ended_stays() -> None:
    assert deleted(*(finished(f"run-{n}", Reason.RUNNING, n, ttl=0) for n in range(5))) == set()


def test_old_ones_go_but_for_the_last_success() -> None:
    policy = CompactionPolicySpec(ttl_seconds_after_finished=600)
    runs = [
        finished("good-old", Reason.COMPACTED, 0),
        finished("good-last", Reason.COMPACTED, 1),
        finished("bad", Reason.DRIVER_LOST, 2),
        finished("kept-long", Reason.PLANNED, 3, ttl=86400),
    ]
    assert deleted(*runs, policy=policy) == {"good-old", "bad"}
    answer = retention(runs, policy, NOON + timedelta(minutes=5))
    assert (answer.delete, answer.wake) == (frozenset(), NOON + timedelta(minutes=10))


def test_dry_runs_do_not_push_out_the_last_success() -> None:
    runs = [finished("real", Reason.NOTHING_TO_DO, 0)]
    runs += [finished(f"dry-{n}", Reason.PLANNED, n) for n in range(1, 4)]
    assert deleted(*runs) == {"dry-1"}


@repeatable
@given(
    st.lists(
        st.tuples(st.sampled_from(Reason), st.integers(0, 50), st.none() | st.integers(0, 4000)), max_size=12
    )
)
def test_a_success_stays_a_success(kinds: list[tuple[Reason, int, int | None]]) -> None:
    runs = [finished(f"run-{n}", *kind) for n, kind in enumerate(kinds)]
    gone = deleted(*runs)
    succeeded = {run.metadata.name for run in runs if run.reason.status is ConditionStatus.TRUE}
    assert not succeeded or succeeded - gone
    assert gone.isdisjoint(run.metadata.name for run in runs if not run.is_over)
    assert deleted(*(run for run in runs if run.metadata.name not in gone)) == set()
