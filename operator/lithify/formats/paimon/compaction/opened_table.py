"""Paimon's `OpenTable`: what a run asks of a table, whatever its kind. Made by `adapter`.

`primary_key` and `append` say what their kinds of tables plan and do by themselves (`TableKind`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic

from lithify.clock import Clock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.tasks.opened_table import OpenedTable
from lithify.formats.paimon.canary.table_copies import PaimonCopies
from lithify.formats.paimon.commit.found_runs import past_run
from lithify.formats.paimon.commit.remains import PaimonRemains
from lithify.formats.paimon.commit.table_writing import check_writable
from lithify.formats.paimon.compaction.blocking import failed_buckets
from lithify.formats.paimon.compaction.checks import check_present
from lithify.formats.paimon.compaction.plan import AnyUnit, BucketPlan, BucketUnit
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.compaction.step import CompactionStep
from lithify.formats.paimon.compaction.task import AnyTask
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import Bucket, BucketId
from lithify.formats.paimon.planning.details import REPORTED
from lithify.formats.paimon.support.evolution import schema_conflict
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.inspection import GroupInspection, TableInspection
from lithify.formats.protocol.model import BlockedGroup
from lithify.formats.protocol.results import PastRun, Recovered
from lithify.formats.protocol.tasks import Sizing


@dataclass(frozen=True, slots=True)
class TableKind(Generic[AnyUnit, AnyTask]):
    """What a kind of tables plans and does by itself.

    Attributes:
        plan: plans the buckets of a planner.
        tasks: the tasks of a plan, each with its unit; not assigned to an attempt yet.
        step: the class of its steps.
        inspector: makes a function that describes one bucket of a view, and may raise an error about the
            bucket's files.
    """

    plan: Callable[[BucketPlanner], BucketPlan[AnyUnit]]
    tasks: Callable[[PaimonTable, BucketPlan[AnyUnit], Sizing], Iterator[tuple[AnyUnit, AnyTask]]]
    step: type[CompactionStep[AnyUnit, AnyTask]]
    inspector: Callable[[PaimonTable, View, datetime], Callable[[Bucket], GroupInspection]]


class OpenedPaimonTable(OpenedTable[PaimonTable], Generic[AnyUnit, AnyTask]):
    """An open table.

    Args:
        table: the table.
        kind: what is particular to its kind.
    """

    reported = REPORTED

    def __init__(self, table: PaimonTable, kind: TableKind[AnyUnit, AnyTask]) -> None:
        super().__init__(table)
        self._kind = kind

    def check_writable(self) -> None:
        """Checks that snapshots can be written; see `table_writing.check_writable`."""
        check_writable(self.table)

    def recover(self, clock: Clock) -> Recovered:
        """Removes the files of dead attempts where that is certain to be safe."""
        return recover(PaimonRemains(self.table), clock)

    def canary(self, address: TableAddress) -> PaimonCopies:
        """Copies of the table for canaries."""
        return PaimonCopies(self.table, address)

    def find_run(self, run: str) -> PastRun | None:
        """What a run has committed; see `found_runs.past_run`."""
        return past_run(self.table, run)

    def pin_view(self, selection: Selection) -> View | None:
        """Pins the newest snapshot; see `PaimonTable.view`."""
        return self.table.view(selection)

    def repin_view(self, groups: Collection[BucketId]) -> View | None:
        """Pins the newest snapshot and lists the files of exactly these buckets."""
        self.table.check_supported()
        return self.table.view_of(groups)

    def check_again(self, units: Sequence[BucketUnit]) -> dict[BucketId, str]:
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

    def inspect(self, selection: Selection, clock: Clock) -> TableInspection:
        """Describes the selected buckets in the newest snapshot from metadata, also for unsupported tables.

        Of buckets with work, it lists the directories, too: those that lack a file are blocked.

        Raises:
            InvalidOption, NotFound: the selection does not fit the table.
            CorruptTable: a snapshot or manifest is missing or unreadable.
        """
        view = self.table.view(selection)
        found, blocked = ((), ()) if view is None else self._inspect_buckets(view, clock.now())
        return TableInspection(
            table=self.table.name,
            snapshot=view.snapshot_id if view else None,
            primary_key=self.table.schema.primary_key,
            partition_keys=self.table.schema.partition_keys,
            unsupported=self.table.refusals,
            groups=found,
            blocked=blocked,
        )

    def _inspect_buckets(
        self, view: View, now: datetime
    ) -> tuple[tuple[GroupInspection, ...], tuple[BlockedGroup, ...]]:
        inspect, blocks, found = (
            self._kind.inspector(self.table, view, now),
            failed_buckets(self.table, view),
            [],
        )
        for bucket in view.bucket_ids:
            with blocks.isolate(bucket):
                files = view.bucket(bucket)
                inspected = inspect(files)
                if inspected.due is not None:
                    check_present(self.table, view.entries(bucket, files.files))
                found.append(inspected)
        return tuple(found), tuple(block.told for block in blocks.sorted_out()[0])

    def plan(
        self, view: View, selection: Selection, clock: Clock, *, reads_data: bool = True
    ) -> BucketPlan[AnyUnit]:
        """Plans every bucket of a view, except those that are held; see `BucketPlanner`."""
        strategy, held = selection.strategy, selection.held
        return self._kind.plan(BucketPlanner(self.table, view, strategy, clock, held, reads_data=reads_data))

    def begin(
        self,
        plan: BucketPlan[AnyUnit],
        tasks: Mapping[BucketId, Sequence[AnyTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> CompactionStep[AnyUnit, AnyTask]:
        """Begins a step with all units of a plan by writing its journal entry."""
        return self._kind.step.begin(self.table, plan, tasks, run, after, clock)

    def tasks_of(self, plan: BucketPlan[AnyUnit], sizing: Sizing) -> dict[BucketId, list[AnyTask]]:
        """The tasks of each unit, by bucket."""
        tasks: dict[BucketId, list[AnyTask]] = {unit.bucket: [] for unit in plan.units}
        for unit, task in self._kind.tasks(self.table, plan, sizing):
            tasks[unit.bucket].append(task)
        return tasks

    def count_tasks(self, plan: BucketPlan[AnyUnit], sizing: Sizing) -> int:
        """Number of tasks of a plan, without keeping the tasks."""
        return sum(1 for _ in self._kind.tasks(self.table, plan, sizing))
