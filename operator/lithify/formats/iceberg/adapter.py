"""Iceberg's implementation of `formats.protocol.table`. Loaded by `formats.registry`; thin."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lithify.clock import Clock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.tasks.opened_table import OpenedTable
from lithify.formats.iceberg.attempts.past_runs import figures_of, groups_of, snapshots_of
from lithify.formats.iceberg.attempts.remains import IcebergRemains
from lithify.formats.iceberg.canary.table_copies import IcebergCopies
from lithify.formats.iceberg.compaction import planning, step, tasks
from lithify.formats.iceberg.compaction.details import REPORTED
from lithify.formats.iceberg.compaction.groups import IcebergGroup, parse_group
from lithify.formats.iceberg.compaction.inspecting import inspect
from lithify.formats.iceberg.compaction.lost_groups import check_again
from lithify.formats.iceberg.compaction.plan import IcebergPlan, IcebergUnit, PinnedView
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.inspection import TableInspection
from lithify.formats.protocol.results import PastRun, Recovered
from lithify.formats.protocol.table import OpenTable
from lithify.formats.protocol.tasks import Sizing


class OpenedIcebergTable(OpenedTable[IcebergTable]):
    """An open table, as runs use it."""

    reported = REPORTED

    def check_writable(self) -> None:
        """Checks that commits to the table are safe."""
        self.table.check_writable()

    def recover(self, clock: Clock) -> Recovered:
        """Removes the files of dead attempts."""
        return recover(IcebergRemains(self.table), clock)

    def canary(self, address: TableAddress) -> IcebergCopies:
        """Copies of the table for canaries."""
        return IcebergCopies(self.table, address)

    def find_run(self, run: str) -> PastRun | None:
        """What a run has committed."""
        found = snapshots_of(self.table.refresh(), run)
        return PastRun(figures_of(found), frozenset(map(parse_group, groups_of(found)))) if found else None

    def inspect(self, selection: Selection, clock: Clock) -> TableInspection:
        """Describes the selected partitions in the newest snapshot."""
        return inspect(self.table, planning.pin_view(self.table, selection), selection, clock)

    def pin_view(self, selection: Selection) -> PinnedView | None:
        """Pins the newest snapshot."""
        return planning.pin_view(self.table, selection)

    def repin_view(self, groups: Collection[IcebergGroup]) -> PinnedView | None:
        """Pins the newest snapshot with the partitions of these groups."""
        return planning.repin_view(self.table, groups)

    def plan(
        self, view: PinnedView, selection: Selection, clock: Clock, *, reads_data: bool = True
    ) -> IcebergPlan:
        """Plans the files of a view; never reads data."""
        del reads_data
        return planning.plan(self.table, view, selection, clock)

    def tasks_of(self, plan: IcebergPlan, sizing: Sizing) -> Mapping[IcebergGroup, Sequence[RewriteTask]]:
        """The tasks of each group."""
        return tasks.tasks_of(self.table, plan, sizing)

    def count_tasks(self, plan: IcebergPlan, sizing: Sizing) -> int:
        """The number of tasks."""
        return tasks.count_tasks(self.table, plan, sizing)

    def check_again(self, units: Sequence[IcebergUnit]) -> Mapping[IcebergGroup, str]:
        """Groups whose work could no longer be committed."""
        return check_again(self.table, units)

    def begin(
        self,
        plan: IcebergPlan,
        tasks: Mapping[IcebergGroup, Sequence[RewriteTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> step.IcebergStep:
        """Begins a step."""
        return step.begin(self.table, plan, tasks, run, after, clock)


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run; see `table.opening`."""
    return OpenedIcebergTable(open_iceberg_table(address))
