"""Paimon's `OpenTable` of tables whose rows are clustered. Made by `adapter`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from lithify.clock import Clock
from lithify.planning.clustering.plan import ClusteredUnit
from lithify.tables.address import Selection
from lithify.tables.format import Sizing
from lithify.tables.inspection import GroupInspection
from lithify.tables.model import Bucket, BucketId
from lithify.tables.paimon.append.clustering.inspecting import inspector
from lithify.tables.paimon.append.clustering.planning import ClusteringPlan, plan_run, tasks_of
from lithify.tables.paimon.append.clustering.sorting import clustering_of, same_columns
from lithify.tables.paimon.append.clustering.step import ClusteringStep
from lithify.tables.paimon.append.clustering.task import ClusterTask
from lithify.tables.paimon.compaction.opened_table import OpenedTable
from lithify.tables.paimon.metadata.view import View


class ClusteredTable(OpenedTable[ClusteredUnit, ClusterTask]):
    """An open table whose rows are clustered."""

    def plan(self, view: View, selection: Selection, clock: Clock) -> ClusteringPlan:
        """Plans every bucket of a view; see `planning.plan_run`."""
        return plan_run(self.table, view, selection.strategy, clock, selection.held)

    def begin(
        self,
        plan: ClusteringPlan,
        tasks: Mapping[BucketId, Sequence[ClusterTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> ClusteringStep:
        """Begins a step with all units of a plan by writing its journal entry."""
        return ClusteringStep.begin(self.table, plan, tasks, run, after, clock)

    def _inspector(self, view: View, now: datetime) -> Callable[[Bucket], GroupInspection]:
        del view
        return inspector(clustering_of(self.table).planning, same_columns(self.table), now)

    def _work(self, plan: ClusteringPlan, sizing: Sizing) -> Iterator[tuple[ClusteredUnit, ClusterTask]]:
        return tasks_of(self.table, plan, sizing)
