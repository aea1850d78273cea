"""How tables without a primary key are compacted; `compaction.opened_table` has what all kinds do."""

from __future__ import annotations

from lithify.formats.paimon.append.inspecting import inspector
from lithify.formats.paimon.append.planning import plan_run, tasks_of
from lithify.formats.paimon.append.step import PackingStep
from lithify.formats.paimon.compaction.opened_table import TableKind

PACKED = TableKind(plan_run, tasks_of, PackingStep, inspector)
"""Tables whose small files are joined."""
