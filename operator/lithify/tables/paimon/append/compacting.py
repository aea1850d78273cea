"""Paimon's `OpenTable` of tables without a primary key. Made by `adapter`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from lithify.clock import Clock
from lithify.planning.bin_packing.plan import PackedUnit
from lithify.tables.address import Selection
from lithify.tables.format import Sizing
from lithify.tables.inspection import GroupInspection
from lithify.tables.model import Bucket, BucketId
from lithify.tables.paimon.append.inspecting import inspector
from lithify.tables.paimon.append.pack_task import PackTask
from lithify.tables.paimon.append.planning import PackingPlan, plan_run, tasks_of
from lithify.tables.paimon.append.step import PackingStep
from lithify.tables.paimon.compaction.opened_table import OpenedTable
from lithify.tables.paimon.metadata.view import View


class PackedTable(OpenedTable[PackedUnit, PackTask]):
    """An open table without a primary key."""

    def plan(self, view: View, selection: Selection, clock: Clock) -> PackingPlan:
        """Plans every bucket of a view; see `planning.plan_run`."""
        return plan_run(self.table, view, selection.strategy, clock, selection.held)

    def begin(
        self,
        plan: PackingPlan,
        tasks: Mapping[BucketId, Sequence[PackTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> PackingStep:
        """Begins a step with all units of a plan by writing its journal entry."""
        return PackingStep.begin(self.table, plan, tasks, run, after, clock)

    def _inspector(self, view: View, now: datetime) -> Callable[[Bucket], GroupInspection]:
        del view
        return inspector(self.table, now)

    def _work(self, plan: PackingPlan, sizing: Sizing) -> Iterator[tuple[PackedUnit, PackTask]]:
        return tasks_of(self.table, plan, sizing)
