"""One step of a run on a table without a primary key; `compaction.step` has what all steps do."""

from __future__ import annotations

from collections.abc import Sequence

from lithify.formats.paimon.append.outputs import PackingOutputs
from lithify.formats.paimon.append.pack_task import PackTask
from lithify.formats.paimon.compaction.outputs import Outputs
from lithify.formats.paimon.compaction.reporting import bucket_report
from lithify.formats.paimon.compaction.step import CompactionStep
from lithify.formats.paimon.planning.bin_packing import PackedUnit
from lithify.formats.protocol.results import GroupReport, TaskOutputs, TaskResult


class PackingStep(CompactionStep[PackedUnit, PackTask]):
    """A step of a table without a primary key."""

    def _outputs_of(self, done: Sequence[tuple[PackedUnit, TaskResult]]) -> Outputs:
        return PackingOutputs(self._table, self._plan, done, self._attempt.prefix)

    def _report(self, unit: PackedUnit, outputs: TaskOutputs) -> GroupReport:
        return bucket_report(unit, outputs)
