"""One step of a run on a table without a primary key; `compaction.step` has what all steps do."""

from __future__ import annotations

from collections.abc import Sequence

from lithify.planning.bin_packing.plan import PackedUnit
from lithify.tables.paimon.append.outputs import PackingOutputs
from lithify.tables.paimon.append.pack_task import PackTask
from lithify.tables.paimon.compaction.outputs import Outputs
from lithify.tables.paimon.compaction.reporting import bucket_report
from lithify.tables.paimon.compaction.step import CompactionStep
from lithify.tables.results import GroupReport, TaskOutputs, TaskResult


class PackingStep(CompactionStep[PackedUnit, PackTask]):
    """A step of a table without a primary key."""

    def _outputs_of(self, done: Sequence[tuple[PackedUnit, TaskResult]]) -> Outputs:
        return PackingOutputs(self._table, self._plan, done, self._attempt.prefix)

    def _report(self, unit: PackedUnit, outputs: TaskOutputs) -> GroupReport:
        return bucket_report(unit, outputs.data, copied_bytes=outputs.copied_bytes)
