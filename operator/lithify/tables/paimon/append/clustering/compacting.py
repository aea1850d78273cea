"""How tables whose rows are clustered are compacted; `compaction.opened_table` has what all kinds do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from lithify.tables.inspection import GroupInspection
from lithify.tables.model import Bucket
from lithify.tables.paimon.append.clustering.inspecting import inspector
from lithify.tables.paimon.append.clustering.planning import plan_run, tasks_of
from lithify.tables.paimon.append.clustering.sorting import clustering_of, same_columns
from lithify.tables.paimon.append.clustering.step import ClusteringStep
from lithify.tables.paimon.compaction.opened_table import TableKind
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.table import PaimonTable


def _inspector(table: PaimonTable, view: View, now: datetime) -> Callable[[Bucket], GroupInspection]:
    del view
    return inspector(clustering_of(table).planning, same_columns(table), now)


CLUSTERED = TableKind(plan_run, tasks_of, ClusteringStep, _inspector)
"""Tables whose files are sorted."""
