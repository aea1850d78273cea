"""Paimon's `OpenTable` of tables without a primary key.

Made by `adapter`. Plans and begins steps; `step` implements a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lithify.clock import Clock
from lithify.planning.bin_packing.plan import PackedUnit
from lithify.tables.address import Selection
from lithify.tables.format import Sizing
from lithify.tables.inspection import TableInspection
from lithify.tables.model import BucketId
from lithify.tables.paimon.append.inspecting import inspect_table
from lithify.tables.paimon.append.pack_task import PackTask
from lithify.tables.paimon.append.planning import PackingPlan, plan_run, tasks_of
from lithify.tables.paimon.append.step import PackingStep, begin_step
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.opened_table import OpenedTable


class PackedTable(OpenedTable):
    """An open table without a primary key."""

    def inspect(self, selection: Selection, clock: Clock) -> TableInspection:
        """Describes the selected buckets in the newest snapshot; see `inspecting.inspect_table`."""
        return inspect_table(self.table, selection, clock)

    def plan(self, view: View, selection: Selection, clock: Clock) -> PackingPlan:
        """Plans every bucket of a view; see `planning.plan_run`."""
        return plan_run(self.table, view, selection.strategy, clock, selection.held)

    def tasks_of(self, plan: PackingPlan, sizing: Sizing) -> dict[BucketId, list[PackTask]]:
        """The tasks of each unit, by bucket."""
        tasks: dict[BucketId, list[PackTask]] = {unit.bucket: [] for unit in plan.units}
        for unit, task in tasks_of(self.table, plan, sizing):
            tasks[unit.bucket].append(task)
        return tasks

    def count_tasks(self, plan: PackingPlan, sizing: Sizing) -> int:
        """Number of tasks of a plan, without keeping the tasks."""
        return sum(1 for _ in tasks_of(self.table, plan, sizing))

    def part_of(self, plan: PackingPlan, units: Sequence[PackedUnit]) -> PackingPlan:
        """The plan restricted to some of its units."""
        return replace(plan, units=tuple(units))

    def begin(
        self,
        plan: PackingPlan,
        tasks: Mapping[BucketId, Sequence[PackTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> PackingStep:
        """Begins a step with all units of a plan by writing its journal entry."""
        return begin_step(self.table, plan, tasks, run, after, clock)
