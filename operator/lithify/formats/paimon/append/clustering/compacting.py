"""How tables whose rows are clustered are compacted; `compaction.opened_table` has what all kinds do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from lithify.formats.paimon.append.clustering.inspecting import inspector
from lithify.formats.paimon.append.clustering.planning import plan_run, tasks_of
from lithify.formats.paimon.append.clustering.sorting import clustering_of
from lithify.formats.paimon.append.clustering.step import ClusteringStep
from lithify.formats.paimon.buckets.clustered import same_columns
from lithify.formats.paimon.compaction.opened_table import TableKind
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import Bucket
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.inspection import GroupInspection


def _inspector(table: PaimonTable, view: View, now: datetime) -> Callable[[Bucket], GroupInspection]:
    del view
    return inspector(clustering_of(table).planning, same_columns(table.schema, table.schema_of), now)


CLUSTERED = TableKind(plan_run, tasks_of, ClusteringStep, _inspector)
"""Tables whose files are sorted."""
