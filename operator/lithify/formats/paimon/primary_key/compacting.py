"""How primary-key tables are compacted; `compaction.opened_table` has what all kinds do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from lithify.errors import InvalidOption
from lithify.formats.paimon.compaction.opened_table import OpenedPaimonTable, TableKind
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import Bucket
from lithify.formats.paimon.primary_key.inspecting import inspector
from lithify.formats.paimon.primary_key.planning import PlannedUnit, plan_run
from lithify.formats.paimon.primary_key.step import MergeStep
from lithify.formats.paimon.primary_key.tasks import PlannedTask, tasks_of
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.inspection import GroupInspection
from lithify.settings import BUCKETS


def _inspector(table: PaimonTable, view: View, now: datetime) -> Callable[[Bucket], GroupInspection]:
    return inspector(view.files, table.options.policy, now)


class CompactedTable(OpenedPaimonTable[PlannedUnit, PlannedTask]):
    """An open primary-key table.

    Args:
        table: the table.
    """

    def __init__(self, table: PaimonTable) -> None:
        super().__init__(table, TableKind(plan_run, tasks_of, MergeStep, _inspector))

    def pin_view(self, selection: Selection) -> View | None:
        """Pins the newest snapshot; see `PaimonTable.view`.

        Raises:
            InvalidOption: single buckets of a table are selected whose rows may have to be moved first.
        """
        if selection.buckets and self.table.options.postponed is not None:
            problem = f"{self.name} has postponed rows (bucket = -2), which are moved for whole partitions"
            raise InvalidOption(BUCKETS, problem)
        return self.table.view(selection)
