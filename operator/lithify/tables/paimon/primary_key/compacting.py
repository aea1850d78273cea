"""Paimon's `OpenTable` of primary-key tables. Made by `adapter`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from lithify.clock import Clock
from lithify.errors import InvalidOption
from lithify.settings import BUCKETS
from lithify.tables.address import Selection
from lithify.tables.format import Sizing
from lithify.tables.inspection import GroupInspection
from lithify.tables.model import Bucket, BucketId
from lithify.tables.paimon.compaction.opened_table import OpenedTable
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.primary_key.inspecting import inspector
from lithify.tables.paimon.primary_key.planning import PlannedTask, PlannedUnit, RunPlan, plan_run, tasks_of
from lithify.tables.paimon.primary_key.step import MergeStep


class CompactedTable(OpenedTable[PlannedUnit, PlannedTask]):
    """An open primary-key table."""

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

    def begin(
        self,
        plan: RunPlan,
        tasks: Mapping[BucketId, Sequence[PlannedTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> MergeStep:
        """Begins a step with all units of a plan by writing its journal entry."""
        return MergeStep.begin(self.table, plan, tasks, run, after, clock)

    def _inspector(self, view: View, now: datetime) -> Callable[[Bucket], GroupInspection]:
        return inspector(view.files, self.table.options.policy, now)

    def _work(self, plan: RunPlan, sizing: Sizing) -> Iterator[tuple[PlannedUnit, PlannedTask]]:
        return tasks_of(self.table, plan, sizing)
