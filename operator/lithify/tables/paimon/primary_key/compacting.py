"""Paimon's `OpenTable`: a primary-key table as a run uses it.

Made by `adapter`. Pins snapshots, plans, and begins steps; `step` implements a step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from lithify.clock import Clock
from lithify.errors import InvalidOption
from lithify.settings import BUCKETS
from lithify.tables.address import Selection
from lithify.tables.format import CommittedRun, Recovered, Sizing
from lithify.tables.inspection import TableInspection
from lithify.tables.model import BucketId
from lithify.tables.observation import RunFound
from lithify.tables.paimon.commit.found_runs import buckets_of, find_run
from lithify.tables.paimon.commit.orphans import reconcile
from lithify.tables.paimon.metadata.snapshot_ids import snapshot_id
from lithify.tables.paimon.metadata.snapshots import is_last_step
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.primary_key.inspecting import inspect_table
from lithify.tables.paimon.primary_key.planning import AnyTask, AnyUnit, RunPlan, plan_run, tasks_of
from lithify.tables.paimon.primary_key.step import CompactionStep, begin_step
from lithify.tables.paimon.schema.evolution import schema_conflict
from lithify.tables.paimon.table import PaimonTable


class CompactedTable:
    """An open primary-key table.

    Args:
        table: the table.
    """

    def __init__(self, table: PaimonTable) -> None:
        self.table = table

    @property
    def name(self) -> str:
        """The table's name for people."""
        return self.table.name

    @property
    def uuid(self) -> str:
        """UUID that distinguishes the table from others of the same name."""
        return self.table.uuid

    def check_supported(self) -> None:
        """Checks that this release can compact the table; see `PaimonTable.check_supported`."""
        self.table.check_supported()

    def check_writable(self) -> None:
        """Checks that snapshots can be written; see `PaimonTable.check_writable`."""
        self.table.check_writable()

    def recover(self, clock: Clock) -> Recovered:
        """Removes the files of dead attempts; see `orphans.reconcile`."""
        cleaned = reconcile(self.table, clock)
        return Recovered(cleaned.deleted, cleaned.problems)

    def committed_by(self, run: str) -> CommittedRun | None:
        """What a run has committed; None if it has committed nothing."""
        found = self.table.snapshots.committed_by_run(run)
        return None if found is None else CommittedRun(snapshot_id(found.id), is_last_step(found))

    def find_run(self, run: str) -> RunFound | None:
        """Figures of what a run has committed; see `found_runs.find_run`."""
        return find_run(self.table, run)

    def groups_of(self, run: str) -> frozenset[BucketId]:
        """Buckets that a run has compacted."""
        return buckets_of(self.table, run)

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

    def look_again(self, groups: Collection[BucketId]) -> View | None:
        """Pins the newest snapshot and lists the files of exactly these buckets."""
        self.table.check_supported()
        return self.table.view_of(groups)

    def plan(self, view: View, selection: Selection, clock: Clock) -> RunPlan:
        """Plans every bucket of a view; see `planning.plan_run`."""
        return plan_run(self.table, view, selection.strategy, clock, selection.held)

    def tasks_of(self, plan: RunPlan, sizing: Sizing) -> dict[BucketId, list[AnyTask]]:
        """The tasks of each unit, by bucket."""
        tasks: dict[BucketId, list[AnyTask]] = {unit.bucket: [] for unit in plan.units}
        for unit, task in tasks_of(self.table, plan, sizing):
            tasks[unit.bucket].append(task)
        return tasks

    def count_tasks(self, plan: RunPlan, sizing: Sizing) -> int:
        """Number of tasks of a plan, without keeping the tasks."""
        return sum(1 for _ in tasks_of(self.table, plan, sizing))

    def part_of(self, plan: RunPlan, units: Sequence[AnyUnit]) -> RunPlan:
        """The plan restricted to some of its units."""
        return replace(plan, units=tuple(units))

    def check_again(self, units: Sequence[AnyUnit]) -> dict[BucketId, str]:
        """Buckets whose units can no longer be committed, with the reason."""
        changed = schema_conflict(self.table.schema, self.table.newest_schema())
        if changed is not None:
            return {unit.bucket: changed for unit in units}
        view = self.table.view_of([unit.bucket for unit in units])
        return {
            unit.bucket: "others have compacted it since it was planned"
            for unit in units
            if view is None
            or not {(file.name, file.level) for file in unit.inputs} <= view.names(unit.bucket)
        }

    def begin(
        self, plan: RunPlan, tasks: Mapping[BucketId, Sequence[AnyTask]], run: str, after: int, clock: Clock
    ) -> CompactionStep:
        """Begins a step with all units of a plan by writing its journal entry."""
        return begin_step(self.table, plan, tasks, run, after, clock)
