"""One step of a run on a primary-key table; `compaction.step` has what all steps do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lithify.formats.paimon.compaction.outputs import Outputs
from lithify.formats.paimon.compaction.reporting import bucket_report
from lithify.formats.paimon.compaction.step import CompactionStep
from lithify.formats.paimon.planning.merge_tree.plan import Unit
from lithify.formats.paimon.primary_key.joining import (
    Join,
    UnitTask,
    changelog_joins_of,
    joins_of,
    without_joined,
)
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.paimon.primary_key.moving import MovingOutputs
from lithify.formats.paimon.primary_key.planning import PlannedUnit
from lithify.formats.paimon.primary_key.postponed import PostponedUnit
from lithify.formats.paimon.primary_key.tasks import PlannedTask
from lithify.formats.protocol.results import GroupReport, TaskOutputs, TaskResult


def _merges(work: Sequence[tuple[PlannedUnit, PlannedTask]]) -> Iterator[UnitTask]:
    for unit, task in work:
        if isinstance(unit, Unit) and isinstance(task, MergeTask):
            yield unit, task


class MergeStep(CompactionStep[PlannedUnit, PlannedTask]):
    """A step of a primary-key table."""

    _joins: Sequence[Join] = ()

    def followers(self, results: Sequence[TaskResult]) -> list[PlannedTask]:
        """The tasks that join adjacent small files of different tasks, those of changelogs, too."""
        failed = {result.index for result in results if result.failure is not None}
        # A bucket with a failed task is not committed.
        lost = {unit.bucket for unit, task in self._work if task.index in failed}
        merges = [*_merges(self._work)]
        joins = joins_of(merges, results)
        joins += changelog_joins_of(merges, results, self._table.order_key, len(results) + len(joins))
        self._joins = [join for join in joins if join.unit.bucket not in lost]
        return [join.task for join in self._joins]

    def _attributed(
        self, results: Sequence[TaskResult], followed: Sequence[TaskResult]
    ) -> list[tuple[PlannedUnit, TaskResult]]:
        folders = [(file, join.task.target.folder) for join in self._joins for file in join.files]
        self._table.storage.delete_all([path for file, folder in folders for path in file.paths(folder)])
        joined = ((join.unit, join.task) for join in self._joins)
        units: dict[int, PlannedUnit] = {task.index: unit for unit, task in (*self._work, *joined)}
        done = (*without_joined(results, self._joins), *followed)
        return [(units[each.index], each) for each in done]

    def _outputs_of(self, done: Sequence[tuple[PlannedUnit, TaskResult]]) -> Outputs:
        return MovingOutputs(self._table, self._plan, done, self._attempt.prefix)

    def _report(self, unit: PlannedUnit, outputs: TaskOutputs) -> GroupReport:
        if isinstance(unit, PostponedUnit):
            return bucket_report(unit, replace(outputs, data=tuple(each.file for each in outputs.data)))
        return bucket_report(unit, outputs, unit.levels)
