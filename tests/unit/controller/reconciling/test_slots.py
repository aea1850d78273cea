"""Who may start: slots are taken once, waited for in turn, and given back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.deciding.admission import Caps
from lithify.controller.deciding.reasons import SlotLimit
from lithify.controller.reconciling.slots import Slots
from lithify.controller.reconciling.store import Store
from lithify.resources.compaction import (
    SUCCEEDED,
    AutomaticRun,
    Compaction,
    CompactionSpec,
    CompactionStatus,
    DriverStatus,
    PlanSummary,
    Reason,
)
from lithify.resources.names import COMPACTION, LABEL_TABLE, LAKE_TABLE, ObjectKey
from lithify.resources.objects import Condition, Metadata, Reference
from lithify.resources.policy import Approval, CompactionPolicy, CompactionPolicySpec, Limits
from lithify.resources.table import LakeTable, LakeTableSpec

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def table(name: str, priority: int | None = None) -> LakeTable:
    spec = LakeTableSpec(catalog_ref=Reference(name="lake"), identifier=f"db.{name}", priority=priority)
    return LakeTable(metadata=Metadata(name=name, namespace="team", uid=f"uid-{name}"), spec=spec)


def run(
    name: str, reason: Reason | None = None, *, is_ours: bool = False, attempts: int = 0, **spec: Any
) -> Compaction:
    conditions = ()
    if reason is not None:
        conditions = (
            Condition(type=SUCCEEDED, status=reason.status, reason=reason.value, last_transition_time=NOON),
        )
    return Compaction(
        metadata=Metadata(
            name=f"run-{name}",
            namespace="team",
            uid=f"run-{name}-{reason}",
            labels={LABEL_TABLE: name},  # everybody may write them
            creation_timestamp=NOON,
        ),
        spec=CompactionSpec(table_ref=Reference(name=name), **spec),
        status=CompactionStatus(
            conditions=conditions, attempts=attempts, automatic=AutomaticRun() if is_ours else None
        ),
    )


class Stage:
    """A slots for the tables of one policy, under a clock of the test's."""

    def __init__(self, active_runs: int = 1, caps: Caps | None = None) -> None:
        self.store = Store()
        policy = CompactionPolicySpec(limits=Limits(active_runs=active_runs))
        self.store.policies.put(
            CompactionPolicy(metadata=Metadata(name="default", namespace="team", uid="policy"), spec=policy)
        )
        self.now = NOON
        self.ticks = 0.0
        self.slots = Slots(self.store, caps or Caps(), lambda: self.ticks)

    def table(self, name: str, priority: int | None = None) -> SlotLimit | None:
        found = table(name, priority)
        self.store.tables.put(found)
        return self.slots.limit_of_table(found, 10, self.now)

    def run(self, found: Compaction) -> SlotLimit | None:
        self.store.tables.put(table(found.spec.table_ref.name))
        self.store.compactions.put(found)
        return self.slots.limit_of_run(found, self.now)

    def next_names(self) -> list[str]:
        return [key.name for _, key in self.slots.next_in_line(self.now)]


def test_a_slot_is_taken_at_once_and_kept_until_it_is_given_back() -> None:
    stage = Stage()
    assert stage.table("a") is None
    assert stage.table("a") is None, "asking again does not lose it"
    assert stage.table("b") is not None
    assert stage.next_names() == []
    stage.slots.leave(ObjectKey("team", "a"), LAKE_TABLE)
    assert stage.next_names() == ["b"]
    assert stage.table("b") is None


def test_a_slot_passes_from_a_table_to_the_run_that_was_made_for_it() -> None:
    stage = Stage()
    assert stage.table("a") is None
    made = run("a", is_ours=True)
    stage.store.compactions.put(made)
    stage.slots.leave(ObjectKey("team", "a"), LAKE_TABLE)
    assert stage.table("b") is not None
    assert stage.run(made) is None, "it was made because there was a slot"


def test_runs_of_people_wait_like_everybody() -> None:
    stage = Stage()
    assert stage.run(run("a", Reason.RUNNING, attempts=1)) is None
    assert stage.run(run("b")) is not None
    stage.store.compactions.drop(ObjectKey("team", "run-a"))
    assert stage.next_names() == ["run-b"]


@pytest.mark.parametrize("reason", [Reason.BACKING_OFF, Reason.SEARCHING_COMMIT])
def test_a_run_without_a_driver_after_its_first_attempt_has_no_slot(reason: Reason) -> None:
    stage = Stage()
    stage.run(run("a", reason, is_ours=True, attempts=1))
    stage.slots.leave(ObjectKey("team", "run-a"), COMPACTION)
    assert stage.table("b") is None


def test_priority_goes_first_and_a_full_policy_is_asked_once_a_second() -> None:
    stage = Stage()
    stage.table("a")
    stage.table("low", priority=1)
    stage.table("high", priority=900)
    stage.slots.leave(ObjectKey("team", "a"), LAKE_TABLE)
    assert stage.next_names()[0] == "high"


def test_waiting_is_remembered_from_the_first_time() -> None:
    stage = Stage()
    stage.table("a")
    stage.table("early")
    stage.now += timedelta(hours=1)
    stage.ticks += 3600
    stage.table("late")
    stage.table("early")
    stage.slots.leave(ObjectKey("team", "a"), LAKE_TABLE)
    assert stage.next_names() == ["early"]


def test_the_operators_own_limit_holds_across_policies() -> None:
    stage = Stage(active_runs=10, caps=Caps(total=2))
    held = [stage.table(name) for name in "abc"]
    assert [bool(hold) for hold in held] == [False, False, True]


STEPS = st.lists(st.tuples(st.sampled_from(["ask", "leave", "tick"]), st.integers(0, 5)), max_size=40)


@given(steps=STEPS, limit=st.integers(1, 3))
def test_slots_are_never_given_to_more_than_there_are(steps: list[tuple[str, int]], limit: int) -> None:
    stage = Stage(active_runs=limit)
    holders: set[int] = set()
    for step, number in steps:
        if step == "ask" and stage.table(f"t{number}") is None:
            holders.add(number)
        elif step == "leave":
            stage.slots.leave(ObjectKey("team", f"t{number}"), LAKE_TABLE)
            holders.discard(number)
        elif step == "tick":
            stage.ticks += number
            stage.now += timedelta(seconds=number)
        assert len(holders) <= limit
    for number in sorted(holders):
        stage.slots.leave(ObjectKey("team", f"t{number}"), LAKE_TABLE)
    stage.ticks += 10
    assert len(stage.next_names()) == min(limit, stage.slots.waiting), "nobody waits beside a free slot"


@pytest.mark.parametrize("spec", [{"dry_run": True}, {"approval": Approval.MANUAL}], ids=["dry", "manual"])
@pytest.mark.parametrize("is_ours", [True, False])
def test_a_run_that_is_only_planned_takes_neither_slot_nor_bytes(spec: dict[str, Any], is_ours: bool) -> None:
    stage = Stage()
    stage.store.tables.put(table("b"))
    planning = run("b", Reason.PLANNING, is_ours=is_ours, attempts=1, **spec)
    large = PlanSummary(buckets=1, tasks=1, files=2, bytes=1 << 40, upgraded_files=0)
    planned = run("b", Reason.PLANNED, is_ours=is_ours, attempts=1, **spec)
    planned = replace(planned, status=replace(planned.status, plan=large, start_time=NOON))
    limits = Limits(active_runs=1, bytes_per_hour="1Mi")
    rules = CompactionPolicySpec(limits=limits)
    metadata = Metadata(name="default", namespace="team", uid="policy", resource_version="2")
    stage.store.policies.put(CompactionPolicy(metadata=metadata, spec=rules))
    for one in (planning, planned):
        assert stage.run(one) is None
        assert stage.table("a") is None, "the only slot is free"
        stage.slots.leave(ObjectKey("team", "a"), LAKE_TABLE)


def test_a_driver_that_an_older_release_has_plan_takes_a_slot() -> None:
    stage = Stage()
    stage.store.tables.put(table("b"))
    planning = run("b", Reason.PLANNING, attempts=1, dry_run=True)
    stage.run(
        replace(planning, status=replace(planning.status, driver=DriverStatus(name="b-driver", uid="pod-b")))
    )
    assert stage.table("a") is not None
