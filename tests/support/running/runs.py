"""Compactions, facts and drivers for the tests of the state machine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lithify.contract.outcome import Outcome, Progress, Stage
from lithify.controller.driver import DriverPhase, DriverState
from lithify.controller.running.facts import Lock, RunFacts, Step
from lithify.controller.running.machine import step
from lithify.errors import Failure
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import RunFound
from lithify.resources.compaction import (
    Compaction,
    CompactionSpec,
    PlanSummary,
    Reason,
    ResultSummary,
)
from lithify.resources.objects import Metadata, Reference
from lithify.resources.policy import CompactionPolicySpec, Deadlines, Retries

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
UID = "0b0e7c1e-run"
DEADLINES = Deadlines(
    queued_seconds=1000,
    scheduling_seconds=100,
    planning_seconds=200,
    running_seconds=300,
    committing_seconds=150,
    searching_seconds=800,
    lost_seconds=50,
)
RETRIES = Retries(infrastructure=2, scheduling=1, conflict=1, out_of_memory=1, bug=1, backoff_seconds=10)
POLICY = CompactionPolicySpec(deadlines=DEADLINES, retries=RETRIES)
PLAN = PlanSummary(buckets=3, tasks=120, files=412, bytes=6_550_000_000, upgraded_files=2)
RESULT = ResultSummary(
    input_files=412, output_files=9, input_bytes=6_550_000_000, output_bytes=6_230_000_000, buckets=3
)
FOUND = RunFound(
    snapshot=SnapshotId("8"),
    base=SnapshotId("7"),
    input_files=412,
    output_files=9,
    input_bytes=6_550_000_000,
    output_bytes=6_230_000_000,
)


def run_of(name: str = "orders-7", uid: str = UID, **spec: Any) -> Compaction:
    metadata = Metadata(name=name, namespace="sales", uid=uid, generation=1, creation_timestamp=NOON)
    return Compaction(metadata=metadata, spec=CompactionSpec(table_ref=Reference(name="orders"), **spec))


def facts_of(**changes: Any) -> RunFacts:
    calm = RunFacts(
        policy=POLICY, identifier="sales.orders", table_uuid="table-1", lock=Lock.OURS, admitted=True
    )
    return replace(calm, **changes)


def driver_of(phase: DriverPhase = DriverPhase.RUNNING, **changes: Any) -> DriverState:
    calm = DriverState(
        name="orders-7-driver", uid="pod-1", owner_uid=UID, attempt=1, phase=phase, started=NOON
    )
    return replace(calm, **changes)


def ended(outcome: Outcome | None = None, **changes: Any) -> DriverState:
    return driver_of(DriverPhase.ENDED, outcome=outcome, **changes)


def outcome_of(reason: Reason, failure: Failure | None = None, **changes: Any) -> Outcome:
    return replace(Outcome(run=UID, attempt=1, reason=reason, failure=failure), **changes)


def progress_of(stage: Stage, done: int = 0, total: int = 0, plan: PlanSummary | None = None) -> Progress:
    return Progress(stage=stage, done=done, total=total, plan=plan)


def without_executors(why: str = "", wanted: int | None = 1) -> DriverState:
    """A driver whose tasks wait for a first executor."""
    progress = Progress(stage=Stage.RUNNING, total=9, executors_ready=0, executors_wanted=wanted)
    return replace(driver_of(progress=progress), executors=why)


def taken(run: Compaction, answer: Step) -> Compaction:
    """The run once its status is written."""
    return replace(run, status=answer.status)


def edited(run: Compaction, **spec: Any) -> Compaction:
    """The run after somebody has changed its spec."""
    metadata = replace(run.metadata, generation=run.metadata.generation + 1)
    return replace(run, metadata=metadata, spec=replace(run.spec, **spec))


class Way:
    """A run on its way: asked again and again, with what is known then."""

    def __init__(self, **spec: Any) -> None:
        self.run = run_of(**spec)
        self.now = NOON
        self.facts = facts_of()
        self.last = Step(self.run.status)

    def ask(self, after: float = 0.0, **facts: Any) -> Way:
        """Asks once, some seconds later, with changed facts; these stay."""
        self.now += timedelta(seconds=after)
        self.facts = replace(self.facts, **facts)
        self.last = step(self.run, self.facts, self.now)
        self.run = taken(self.run, self.last)
        return self

    def edit(self, **spec: Any) -> Way:
        self.run = edited(self.run, **spec)
        return self

    @property
    def reason(self) -> Reason:
        return self.run.reason


def under_way(**spec: Any) -> Way:
    """A run whose driver has begun to plan."""
    return Way(**spec).ask().ask(driver=driver_of())
