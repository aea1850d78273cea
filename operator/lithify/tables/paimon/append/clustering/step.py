"""One step of a run on a table whose rows are clustered; `compaction.step` has what all steps do."""

from __future__ import annotations

from collections import Counter

from lithify.planning.clustering.plan import ClusteredUnit
from lithify.tables.format import GroupReport, TaskOutputs
from lithify.tables.paimon.append.clustering.task import ClusterTask
from lithify.tables.paimon.compaction.step import CompactionStep, totals


class ClusteringStep(CompactionStep[ClusteredUnit, ClusterTask]):
    """A step of a table whose rows are clustered."""

    def _report(self, unit: ClusteredUnit, outputs: TaskOutputs) -> GroupReport:
        before = Counter(file.level for run in unit.levels.runs for file in run.files)
        after = before - Counter(file.level for file in unit.inputs)
        after[unit.output_level] += len(outputs.data)
        return GroupReport(
            group=unit.bucket.path,
            trigger=unit.trigger,
            reason=unit.reason,
            output_level=unit.output_level,
            upgraded=0,
            before=totals(unit.inputs),
            after=totals(outputs.data),
            levels_before=dict(sorted(before.items())),
            levels_after={level: files for level, files in sorted(after.items()) if files},
        )
