"""One step of a run on a table without a primary key; `primary_key.step` has what all steps do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lithify.clock import Clock
from lithify.planning.bin_packing.plan import PackedUnit
from lithify.tables.format import GroupReport, TaskOutputs
from lithify.tables.model import BucketId
from lithify.tables.paimon.append.pack_task import PackTask
from lithify.tables.paimon.append.planning import PackingPlan, numbered
from lithify.tables.paimon.primary_key.step import CompactionStep, begin_attempt, totals
from lithify.tables.paimon.table import PaimonTable


class PackingStep(CompactionStep[PackedUnit, PackTask]):
    """A step of a table without a primary key."""

    def _report(self, unit: PackedUnit, outputs: TaskOutputs) -> GroupReport:
        return GroupReport(
            group=unit.bucket.path,
            trigger=unit.trigger,
            reason=unit.reason,
            output_level=None,
            upgraded=0,
            before=totals(unit.inputs),
            after=totals(outputs.data),
        )


def begin_step(
    table: PaimonTable,
    plan: PackingPlan,
    tasks: Mapping[BucketId, Sequence[PackTask]],
    run: str,
    after: int,
    clock: Clock,
) -> PackingStep:
    """Begins a step by writing its journal entry; see `primary_key.step.begin_attempt`."""
    attempt = begin_attempt(table, plan, run, after, clock)
    work = [(unit, task) for unit in plan.units for task in tasks[unit.bucket]]
    return PackingStep(table, plan, numbered(work, attempt.prefix), attempt, clock)
