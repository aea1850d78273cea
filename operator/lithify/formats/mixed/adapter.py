"""The implementation of `formats.protocol.table` for keyed tables. Loaded by `formats.registry`; thin."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lithify.clock import Clock, SystemClock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.tasks.opened_table import OpenedTable
from lithify.formats.iceberg.attempts.past_runs import figures_of, groups_of, snapshots_of
from lithify.formats.iceberg.attempts.remains import IcebergRemains
from lithify.formats.iceberg.compaction import step
from lithify.formats.iceberg.compaction.details import REPORTED
from lithify.formats.iceberg.compaction.groups import IcebergGroup, parse_group
from lithify.formats.iceberg.compaction.lost_groups import check_again
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.mixed import pinning, planning, tasks
from lithify.formats.mixed.expiring import expire_changes
from lithify.formats.mixed.hive_filling import fill_hive
from lithify.formats.mixed.hive_step import HiveStep
from lithify.formats.mixed.inspecting import inspect
from lithify.formats.mixed.line_commit import LineCommit
from lithify.formats.mixed.stores import MixedTable, open_mixed_table
from lithify.formats.mixed.units import MixedPlan, MixedUnit
from lithify.formats.mixed.view import MixedView
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.inspection import TableInspection
from lithify.formats.protocol.results import PastRun, Recovered
from lithify.formats.protocol.table import OpenTable
from lithify.formats.protocol.tasks import Sizing


class OpenedMixedTable(OpenedTable[MixedTable]):
    """An open table, as runs use it. Attempts, journals and clean-up are those of its base store."""

    reported = REPORTED

    def check_writable(self) -> None:
        """Checks that commits to the base store are safe."""
        self.table.base.check_writable()

    def recover(self, clock: Clock) -> Recovered:
        """Removes the files of dead attempts at both stores, and consumed files from the change store."""
        found = [recover(IcebergRemains(store), clock) for store in self.table.stores]
        problems = [problem for each in found for problem in each.problems]
        problems += expire_changes(self.table, clock)
        problems += fill_hive(self.table)
        return Recovered(sum(each.deleted for each in found), tuple(problems))

    def find_run(self, run: str) -> PastRun | None:
        """What a run has committed."""
        found = snapshots_of(self.table.base.refresh(), run)
        return PastRun(figures_of(found), frozenset(map(parse_group, groups_of(found)))) if found else None

    def inspect(self, selection: Selection, clock: Clock) -> TableInspection:
        """Describes the selected partitions in the newest state."""
        view = None if self.table.refusals else pinning.pin_view(self.table, selection)
        return inspect(self.table, view, clock)

    def pin_view(self, selection: Selection) -> MixedView | None:
        """Pins the newest state."""
        return pinning.pin_view(self.table, selection)

    def repin_view(self, groups: Collection[IcebergGroup]) -> MixedView | None:
        """Pins the newest state with the partitions of these groups."""
        return pinning.repin_view(self.table, groups)

    def plan(
        self, view: MixedView, selection: Selection, clock: Clock, *, reads_data: bool = True
    ) -> MixedPlan:
        """Plans the partitions of a view; never reads data."""
        del reads_data
        return planning.plan(self.table, view, selection, clock)

    def tasks_of(self, plan: MixedPlan, sizing: Sizing) -> Mapping[IcebergGroup, Sequence[RewriteTask]]:
        """The tasks of each group."""
        return tasks.tasks_of(self.table, plan, sizing)

    def count_tasks(self, plan: MixedPlan, sizing: Sizing) -> int:
        """The number of tasks."""
        del sizing
        return sum(len(unit.subtrees) for unit in plan.units)

    def check_again(self, units: Sequence[MixedUnit]) -> Mapping[IcebergGroup, str]:
        """Groups whose work could no longer be committed."""
        if not units:
            return {}
        extension = LineCommit(self.table, {unit.group: unit for unit in units}, SystemClock())
        return check_again(self.table.base, units, extension)

    def begin(
        self,
        plan: MixedPlan,
        tasks: Mapping[IcebergGroup, Sequence[RewriteTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> step.IcebergStep:
        """Begins a step."""
        units = {unit.group: unit for unit in plan.units}
        extension = LineCommit(self.table, units, clock)
        kind = None if self.table.hive is None else HiveStep
        return step.begin(self.table.base, plan, tasks, run, after, clock, extension, kind)


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run; see `stores`."""
    return OpenedMixedTable(open_mixed_table(address))
