"""Rollback of one Paimon table or branch: implements `formats.protocol.maintenance.Maintenance`.

Created by `paimon.maintaining`. Has `rollback_planning` plan and `rolling_back` delete. The result is that of
Java 1.4.2 (`AbstractFileStoreTable.rollbackTo`, `RollbackHelper`): only snapshots, tags and long-lived
changelogs are deleted. Data files and manifests of undone commits stay until orphans are removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.clock import Clock
from lithify.errors import InvalidOption, UnsupportedTable
from lithify.formats.paimon.maintenance.rollback_plan import RollbackPlan
from lithify.formats.paimon.maintenance.rollback_planning import plan_rollback
from lithify.formats.paimon.maintenance.rolling_back import roll_back
from lithify.formats.paimon.names.snapshot_ids import snapshot_number
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.maintenance import (
    Maintained,
    Maintenance,
    MaintenanceKind,
    MaintenanceSettings,
)
from lithify.formats.protocol.rollback import TARGET, check_losses, target_of


class TableRollback(Maintenance[RollbackPlan]):
    """Makes an older snapshot of a table the newest one.

    Args:
        table: the table.
        settings: which snapshot, and whether commits may be lost.
    """

    kind = MaintenanceKind.ROLL_BACK

    def __init__(self, table: PaimonTable, settings: MaintenanceSettings) -> None:
        self._table = table
        self._settings = settings

    def plan(self, clock: Clock) -> RollbackPlan:
        """See the Protocol.

        Raises:
            NotFound: the snapshot does not exist.
        """
        del clock
        target = target_of(self._settings)
        number = snapshot_number(target)
        if number is None:
            raise InvalidOption(TARGET, f"{target} is no id of a Paimon snapshot")
        refusals = tuple(self._refusals())
        if refusals:
            raise UnsupportedTable(self._table.name, refusals, "rolled back")
        return plan_rollback(self._table, number)

    def execute(self, plan: RollbackPlan) -> Maintained:
        """See the Protocol.

        Raises:
            CommitsWouldBeLost: commits that are no compactions would be undone, and may not; nothing is.
            RollbackOutrun: a writer has committed on a snapshot that was being undone.
        """
        check_losses(self._table.name, plan.undone, self._settings)
        roll_back(self._table, plan)
        return Maintained(self.kind, plan.figures, plan.oldest, plan.samples)

    def _refusals(self) -> Iterator[str]:
        yield from self._table.refusals
        if self._table.snapshots.has_server:
            yield "a catalog whose server commits: roll back by its own means"
