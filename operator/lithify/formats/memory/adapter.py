"""The reference format's implementation of `formats.protocol.table`. Loaded by `formats.registry`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lithify.clock import Clock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.tasks.opened_table import OpenedTable
from lithify.formats.memory import planning, step, table
from lithify.formats.memory.inspecting import inspect
from lithify.formats.memory.past_runs import past_run
from lithify.formats.memory.planning import MemoryPlan, MemoryUnit, MemoryView
from lithify.formats.memory.remains import MemoryRemains
from lithify.formats.memory.rewriting import MemoryTask
from lithify.formats.memory.snapshot import Group
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.inspection import TableInspection
from lithify.formats.protocol.results import PastRun, Recovered
from lithify.formats.protocol.table import OpenTable
from lithify.formats.protocol.tasks import Sizing


class OpenedMemoryTable(OpenedTable[table.MemoryTable]):
    """An open table, as runs use it."""

    def check_writable(self) -> None:
        """Checks that commits to the table are safe."""
        self.table.check_writable()

    def recover(self, clock: Clock) -> Recovered:
        """Removes the files of dead attempts."""
        return recover(MemoryRemains(self.table), clock)

    def find_run(self, run: str) -> PastRun | None:
        """The commits of a run."""
        return past_run(self.table, run)

    def inspect(self, selection: Selection, clock: Clock) -> TableInspection:
        """Describes the selected groups in the newest snapshot."""
        del clock
        return inspect(self.table, selection)

    def pin_view(self, selection: Selection) -> MemoryView | None:
        """Pins the newest snapshot."""
        newest = self.table.latest()
        return None if newest is None else planning.select(self.table, newest, selection)

    def repin_view(self, groups: Collection[Group]) -> MemoryView | None:
        """Pins the newest snapshot with exactly these groups."""
        newest = self.table.latest()
        return None if newest is None else planning.only(newest, groups)

    def plan(
        self, view: MemoryView, selection: Selection, clock: Clock, *, reads_data: bool = True
    ) -> MemoryPlan:
        """Plans the groups of a view; never reads data."""
        del clock, reads_data
        return planning.plan(self.table, view, selection)

    def tasks_of(self, plan: MemoryPlan, sizing: Sizing) -> Mapping[Group, Sequence[MemoryTask]]:
        """One task per group of any size."""
        del sizing
        return {unit.group: (self._task(unit),) for unit in plan.units}

    def count_tasks(self, plan: MemoryPlan, sizing: Sizing) -> int:
        """The number of tasks."""
        del sizing
        return len(plan.units)

    def check_again(self, units: Sequence[MemoryUnit]) -> Mapping[Group, str]:
        """Groups of which a file is gone."""
        return planning.validate_inputs_live(units, self.table.latest())

    def begin(
        self,
        plan: MemoryPlan,
        tasks: Mapping[Group, Sequence[MemoryTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> step.MemoryStep:
        """Begins a step."""
        return step.begin(self.table, plan, tasks, run, after, clock)

    def _task(self, unit: MemoryUnit) -> MemoryTask:
        sizes = {self.table.path(unit.group, file.name): file.bytes for file in unit.files}
        folder = self.table.folder(unit.group)
        return MemoryTask(storage=self.table.storage, folder=folder, input_sizes=sizes)


def open_table(address: TableAddress) -> OpenTable:
    """Opens a table for a run; see `table.open_table`."""
    return OpenedMemoryTable(table.open_table(address))
