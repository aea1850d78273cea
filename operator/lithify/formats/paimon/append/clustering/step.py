"""One step of a run on a table whose rows are clustered; `compaction.step` has what all steps do."""

from __future__ import annotations

from lithify.formats.paimon.append.clustering.task import ClusterTask
from lithify.formats.paimon.compaction.reporting import bucket_report
from lithify.formats.paimon.compaction.step import CompactionStep
from lithify.formats.paimon.planning.clustering.plan import ClusteredUnit
from lithify.formats.protocol.results import GroupReport, TaskOutputs


class ClusteringStep(CompactionStep[ClusteredUnit, ClusterTask]):
    """A step of a table whose rows are clustered."""

    def _report(self, unit: ClusteredUnit, outputs: TaskOutputs) -> GroupReport:
        return bucket_report(unit, outputs, unit.levels)
