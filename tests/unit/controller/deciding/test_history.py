"""What runs that have ended mean for their table: each counts once, in the order in which they ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lithify.controller.deciding.history import active_of, after_runs
from lithify.resources.compaction import (
    SUCCEEDED,
    AutomaticRun,
    Compaction,
    CompactionSpec,
    CompactionStatus,
    Reason,
    ResultSummary,
    RunStrategy,
)
from lithify.resources.maintenance import RunKind
from lithify.resources.names import ANNOTATION_REQUESTED, LABEL_TABLE
from lithify.resources.objects import Condition, Metadata, Reference
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable, LakeTableSpec, LakeTableStatus, TableUsage
from support.cases import case

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
POLICY = CompactionPolicySpec()


def table(**annotations: str) -> LakeTable:
    return LakeTable(
        metadata=Metadata(name="orders", namespace="team", uid="u", annotations=annotations),
        spec=LakeTableSpec(catalog_ref=Reference(name="lake"), identifier="sales.orders"),
    )


def run(name: str, reason: Reason, minutes: int, request: str = "", **spec: object) -> Compaction:
    """A run that stands at `reason` since so many minutes after noon."""
    when = NOON + timedelta(minutes=minutes)
    condition = Condition(
        type=SUCCEEDED, status=reason.status, reason=reason.value, last_transition_time=when
    )
    status = CompactionStatus(
        conditions=(condition,),
        completion_time=when if reason.is_final else None,
        committed_snapshot_id="7" if reason is Reason.COMPACTED else None,
    )
    return Compaction(
        metadata=Metadata(
            name=name,
            namespace="team",
            uid=name,
            creation_timestamp=when,
            annotations={ANNOTATION_REQUESTED: request} if request else {},
        ),
        spec=CompactionSpec(table_ref=Reference(name="orders"), **spec),
        status=status,
    )


def after(*runs: Compaction, known: LakeTable | None = None) -> LakeTableStatus:
    return after_runs(known or table(), runs, POLICY)


def test_a_success_is_the_last_run_and_forgives_failures() -> None:
    failed = after(run("a", Reason.DRIVER_FAILED, 1), run("b", Reason.OUT_OF_MEMORY, 2))
    assert failed.consecutive_failures == 2
    assert failed.held_until is not None
    assert failed.last_success_time is None
    known = replace(table(), status=failed)
    good = after(run("b", Reason.OUT_OF_MEMORY, 2), run("c", Reason.COMPACTED, 3), known=known)
    assert (good.consecutive_failures, good.held_until) == (0, None)
    assert good.last_success_time == NOON + timedelta(minutes=3)
    assert good.last_compaction is not None
    assert (good.last_compaction.name, good.last_compaction.snapshot_id) == ("c", "7")


def test_a_run_counts_once_even_if_it_is_seen_for_ever() -> None:
    runs = [run("a", Reason.DRIVER_FAILED, 1)]
    known = table()
    for _ in range(3):
        known = replace(known, status=after(*runs, known=known))
    assert known.status.consecutive_failures == 1


def test_a_run_that_was_deleted_is_not_forgotten() -> None:
    known = replace(table(), status=after(run("a", Reason.COMPACTED, 1)))
    assert after(known=known) == known.status


@pytest.mark.parametrize(
    ("ended", "is_full"),
    [
        case(run("a", Reason.COMPACTED, 1, strategy=RunStrategy.FULL), True, id="a_full_one"),
        case(
            run("a", Reason.NOTHING_TO_DO, 1, strategy=RunStrategy.FULL), True, id="a_full_one_without_work"
        ),
        case(run("a", Reason.COMPACTED, 1), False, id="a_minor_one"),
        case(run("a", Reason.PLANNED, 1, strategy=RunStrategy.FULL, dry_run=True), False, id="a_dry_one"),
        case(run("a", Reason.COMPACTED, 1, strategy=RunStrategy.FULL, buckets=(1,)), False, id="of_a_bucket"),
    ],
)
def test_the_time_of_the_last_full_one(ended: Compaction, is_full: bool) -> None:
    assert (after(ended).last_full_time is not None) is is_full


@pytest.mark.parametrize("reason", [Reason.CANCELLED, Reason.PLANNED])
def test_what_somebody_wanted_is_neither_success_nor_failure(reason: Reason) -> None:
    found = after(run("a", reason, 1))
    assert found.last_compaction is not None
    assert (found.consecutive_failures, found.held_until, found.last_success_time) == (0, None, None)


def by_operator(ended: Compaction) -> Compaction:
    return replace(ended, status=replace(ended.status, automatic=AutomaticRun()))


@pytest.mark.parametrize(
    ("ended", "name"),
    [
        case([by_operator(run("a", Reason.CANCELLED, 1))], "a", id="the_operators_own"),
        case([run("a", Reason.CANCELLED, 1)], None, id="a_persons_own"),
        case(
            [by_operator(run("a", Reason.CANCELLED, 1)), run("b", Reason.PLANNED, 2)],
            "a",
            id="then_a_dry_one",
        ),
        case(
            [by_operator(run("a", Reason.CANCELLED, 1)), run("b", Reason.COMPACTED, 2)],
            None,
            id="then_another",
        ),
    ],
)
def test_a_cancelled_run_is_remembered(ended: list[Compaction], name: str | None) -> None:
    found = after_runs(table(), ended, POLICY, 7).cancelled_run
    assert (found.name if found else None) == name
    assert found is None or (found.table_generation, found.policy_generation) == (0, 7)


def test_the_oldest_open_run_is_the_active_one() -> None:
    runs = [run("b", Reason.QUEUED, 5), run("a", Reason.RUNNING, 3), run("c", Reason.COMPACTED, 1)]
    active = active_of(runs)
    assert active is not None
    assert active.metadata.name == "a"
    assert after(*runs).active_compaction == "a"
    assert active_of([]) is None
    assert active_of([run("d", Reason.BACKING_OFF, 1, dry_run=True)]) is None, "it is in nobody's way"


def test_a_request_is_handled_once_a_run_answers_it() -> None:
    asked = table(**{ANNOTATION_REQUESTED: "now"})
    assert after(known=asked).handled_request is None
    assert after(run("a", Reason.QUEUED, 1, "before"), known=asked).handled_request is None
    assert after(run("a", Reason.QUEUED, 1, "now"), known=asked).handled_request == "now"


def test_a_request_that_is_too_long_for_status_is_echoed_as_far_as_it_fits() -> None:
    asked = table(**{ANNOTATION_REQUESTED: "x" * 300})
    assert after(run("a", Reason.QUEUED, 1, "x" * 256), known=asked).handled_request == "x" * 256


def test_partitions_that_the_operator_chose_are_all_that_a_full_run_is_to_take() -> None:
    made = run("a", Reason.COMPACTED, 1, strategy=RunStrategy.FULL, partitions=({"dt": "a"},))
    assert after(made).last_full_time is None
    labelled = replace(made, metadata=replace(made.metadata, labels={LABEL_TABLE: "orders"}))
    assert after(labelled).last_full_time is None
    own = by_operator(made)
    assert after(own).last_full_time is not None


def test_fractions_of_seconds_add_up_once_for_each_run() -> None:
    runs = [
        replace(made, status=replace(made.status, result=ResultSummary(core_seconds=0.004, input_bytes=10)))
        for made in (run(f"r{number}", Reason.COMPACTED, number) for number in range(5))
    ]
    early = after(*runs[:3])
    late = after(*runs, known=replace(table(), status=early))
    again = after(*runs, known=replace(table(), status=late))
    assert early.usage == TableUsage(runs=3, core_seconds=0.012, input_bytes=30)
    assert late.usage == again.usage == TableUsage(runs=5, core_seconds=0.02, input_bytes=50)


def test_the_last_failure_stays_until_a_success() -> None:
    failed = after(run("a", Reason.DRIVER_FAILED, 1), run("b", Reason.CANCELLED, 2))
    assert failed.last_failure is not None
    assert (failed.last_failure.name, failed.consecutive_failures) == ("a", 1)
    good = after(run("c", Reason.NOTHING_TO_DO, 3), known=replace(table(), status=failed))
    assert good.last_failure is None


def test_what_a_person_got_wrong_is_not_held_against_the_table() -> None:
    mine = run("a", Reason.INVALID_SPEC, 1)
    own = by_operator(mine)
    assert (after(mine).consecutive_failures, after(mine).held_until) == (0, None)
    assert after(own).consecutive_failures == 1


def test_a_dry_run_neither_accuses_nor_forgives() -> None:
    dry = run("a", Reason.ACCESS_DENIED, 1, dry_run=True)
    assert (after(dry).consecutive_failures, after(dry).held_until) == (0, None)
    failed = after(run("a", Reason.DRIVER_FAILED, 1))
    later = after(run("b", Reason.NOTHING_TO_DO, 2, dry_run=True), known=replace(table(), status=failed))
    assert later.consecutive_failures == 1


def test_a_run_that_ended_earlier_but_was_recorded_later_counts() -> None:
    """After a downtime one is refused at once, and only then the end of another, hours ago, is recorded."""
    refused, ended = run("b", Reason.UNSUPPORTED, 60), run("a", Reason.COMPACTED, 61)
    ended = replace(ended, status=replace(ended.status, completion_time=NOON))
    first = after_runs(table(), [refused], POLICY)
    second = after_runs(replace(table(), status=first), [refused, ended], POLICY)
    assert first.last_compaction is not None
    assert second.last_compaction is not None
    assert (first.last_compaction.name, second.last_compaction.name) == ("b", "a")
    assert (second.last_success_time, second.consecutive_failures) == (NOON, 0)
    assert second.last_compaction.completion_time == NOON
    third = after_runs(replace(table(), status=second), [refused, ended], POLICY)
    assert third == second, "each counts once"


class TestMaintenance:
    """Maintenance counts apart from compactions."""

    def test_the_last_run_of_each_kind_is_kept(self) -> None:
        runs = [
            run("expire-1", Reason.MAINTAINED, 1, kind=RunKind.EXPIRE_SNAPSHOTS),
            run("merge-1", Reason.NOTHING_TO_DO, 2, kind=RunKind.MERGE_MANIFESTS),
            run("expire-2", Reason.NOTHING_TO_DO, 3, kind=RunKind.EXPIRE_SNAPSHOTS),
        ]
        status = after(*runs)
        found = [(each.kind, each.name, each.reason) for each in status.maintenance]
        assert found == [
            ("ExpireSnapshots", "expire-2", "NothingToDo"),
            ("MergeManifests", "merge-1", "NothingToDo"),
        ]
        assert (status.last_compaction, status.last_success_time) == (None, None)

    def test_failures_in_a_row_are_counted_once_each_and_held(self) -> None:
        first = run("expire-1", Reason.ACCESS_DENIED, 1, kind=RunKind.EXPIRE_SNAPSHOTS)
        second = run("expire-2", Reason.ACCESS_DENIED, 2, kind=RunKind.EXPIRE_SNAPSHOTS)
        status = after(first)
        again = after(first, second, known=replace(table(), status=status))
        (once,), (twice,) = status.maintenance, again.maintenance
        assert (once.consecutive_failures, twice.consecutive_failures) == (1, 2)
        assert twice.held_until is not None
        assert after(first, second, known=replace(table(), status=again)) == again
        assert (again.consecutive_failures, again.last_failure, again.held_until) == (0, None, None)
        third = run("expire-3", Reason.MAINTAINED, 3, kind=RunKind.EXPIRE_SNAPSHOTS)
        (well,) = after(first, second, third, known=replace(table(), status=again)).maintenance
        assert (well.consecutive_failures, well.held_until) == (0, None)

    def test_a_dry_run_is_no_run(self) -> None:
        asked = run("expire-1", Reason.PLANNED, 1, kind=RunKind.EXPIRE_SNAPSHOTS, dry_run=True)
        assert after(asked).maintenance == ()

    def test_a_compaction_is_counted_beside_it(self) -> None:
        made = [
            run("orders-1", Reason.COMPACTED, 1),
            run("expire-2", Reason.MAINTAINED, 2, kind=RunKind.EXPIRE_SNAPSHOTS),
        ]
        status = after(*made)
        assert status.last_compaction is not None
        assert status.last_compaction.name == "orders-1"
        assert after(*made, known=replace(table(), status=status)) == status


def rolled_back(run: Compaction, minutes: int = 90) -> Compaction:
    """The run as RolledBack, which was found out so many minutes after noon."""
    reason, when = Reason.ROLLED_BACK, NOON + timedelta(minutes=minutes)
    said = Condition(type=SUCCEEDED, status=reason.status, reason=reason.value, last_transition_time=when)
    return replace(run, status=replace(run.status, conditions=(said,)))


FULL = {"strategy": RunStrategy.FULL}


@pytest.mark.parametrize(
    ("earlier", "gone", "later", "success", "full"),
    [
        case([], run("b", Reason.COMPACTED, 2, **FULL), [], None, None, id="the only one"),
        case(
            [run("a", Reason.COMPACTED, 1, **FULL)],
            run("b", Reason.COMPACTED, 2, **FULL),
            [],
            1,
            1,
            id="an earlier one counts again",
        ),
        case(
            [run("a", Reason.COMPACTED, 1, **FULL)],
            run("b", Reason.COMPACTED, 2),
            [],
            1,
            1,
            id="the full one before it still counts",
        ),
        case(
            [],
            run("b", Reason.COMPACTED, 2, **FULL),
            [run("c", Reason.NOTHING_TO_DO, 3)],
            3,
            None,
            id="a later one still counts",
        ),
    ],
)
def test_a_run_that_was_rolled_back_is_no_success_any_more(
    earlier: list[Compaction],
    gone: Compaction,
    later: list[Compaction],
    success: int | None,
    full: int | None,
) -> None:
    known = replace(table(), status=after(*earlier, gone, *later))
    status = after(*earlier, rolled_back(gone), *later, known=known)

    def time(minutes: int | None) -> datetime | None:
        return None if minutes is None else NOON + timedelta(minutes=minutes)

    assert (status.last_success_time, status.last_full_time) == (time(success), time(full))
    assert (status.consecutive_failures, status.held_until, status.last_failure) == (0, None, None)
    assert after(*earlier, rolled_back(gone), *later, known=replace(known, status=status)) == status


def test_a_run_that_was_rolled_back_is_counted_once_and_stays_the_last_one() -> None:
    last = run("a", Reason.COMPACTED, 1)
    last = replace(last, status=replace(last.status, result=ResultSummary(input_bytes=5)))
    known = after(last)
    status = after(rolled_back(last), known=replace(table(), status=known))
    assert status.usage == known.usage == TableUsage(runs=1, input_bytes=5)
    assert status.last_compaction is not None
    assert (status.last_compaction.name, status.last_compaction.reason) == ("a", "RolledBack")
    following = after(rolled_back(last), run("b", Reason.COMPACTED, 2), known=replace(table(), status=status))
    assert (following.usage.runs, following.last_compaction and following.last_compaction.name) == (1, "b")
