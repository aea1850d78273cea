"""Paimon's `OpenTable` of primary-key tables.

Made by `adapter`. Plans and begins steps; `step` implements a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lithify.clock import Clock
from lithify.errors import InvalidOption
from lithify.settings import BUCKETS
from lithify.tables.address import Selection
from lithify.tables.format import Sizing
from lithify.tables.inspection import TableInspection
from lithify.tables.model import BucketId
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.opened_table import OpenedTable
from lithify.tables.paimon.primary_key.inspecting import inspect_table
from lithify.tables.paimon.primary_key.planning import PlannedTask, PlannedUnit, RunPlan, plan_run, tasks_of
from lithify.tables.paimon.primary_key.step import MergeStep, begin_step


class CompactedTable(OpenedTable):
    """An open primary-key table."""

    def inspect(self, selection: Selection, clock: Clock) -> TableInspection:
        """Describes the selected buckets in the newest snapshot; see `inspecting.inspect_table`."""
        return inspect_table(self.table, selection, clock)

    def look(self, selection: Selection) -> View | None:
        """Pins the newest snapshot; see `PaimonTable.view`.

        Raises:
            InvalidOption: single buckets of a table are selected whose rows may have to be moved first.
        """
        if selection.buckets and self.table.options.postponed is not None:
            problem = f"{self.name} has postponed rows (bucket = -2), which are moved for whole partitions"
            raise InvalidOption(BUCKETS, problem)
        return self.table.view(selection)

    def plan(self, view: View, selection: Selection, clock: Clock) -> RunPlan:
        """Plans every bucket of a view; see `planning.plan_run`."""
        return plan_run(self.table, view, selection.strategy, clock, selection.held)

    def tasks_of(self, plan: RunPlan, sizing: Sizing) -> dict[BucketId, list[PlannedTask]]:
        """The tasks of each unit, by bucket."""
        tasks: dict[BucketId, list[PlannedTask]] = {unit.bucket: [] for unit in plan.units}
        for unit, task in tasks_of(self.table, plan, sizing):
            tasks[unit.bucket].append(task)
        return tasks

    def count_tasks(self, plan: RunPlan, sizing: Sizing) -> int:
        """Number of tasks of a plan, without keeping the tasks."""
        return sum(1 for _ in tasks_of(self.table, plan, sizing))

    def part_of(self, plan: RunPlan, units: Sequence[PlannedUnit]) -> RunPlan:
        """The plan restricted to some of its units."""
        return replace(plan, units=tuple(units))

    def begin(
        self,
        plan: RunPlan,
        tasks: Mapping[BucketId, Sequence[PlannedTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> MergeStep:
        """Begins a step with all units of a plan by writing its journal entry."""
        return begin_step(self.table, plan, tasks, run, after, clock)
