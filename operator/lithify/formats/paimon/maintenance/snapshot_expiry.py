"""Snapshot expiry of one Paimon table: implements `formats.protocol.maintenance.Maintenance`.

Created by `paimon.maintaining`. Reads the history, asks `retention` what may go, has `expiry` plan and
`deleting` delete.
"""

from __future__ import annotations

from datetime import timedelta

from lithify.clock import Clock, epoch_millis
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.maintenance.deleting import delete_expired
from lithify.formats.paimon.maintenance.expiry import plan_expiry
from lithify.formats.paimon.maintenance.history import History, read_history
from lithify.formats.paimon.maintenance.plan import ExpiryPlan
from lithify.formats.paimon.maintenance.refusals import expiry_refusals
from lithify.formats.paimon.maintenance.retention import expiry_end
from lithify.formats.paimon.options.retention_options import RetentionOptions, read_retention
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.maintenance import Maintained, Maintenance, MaintenanceKind

READER_FLOOR = timedelta(minutes=10)
"""How long a snapshot stays after the next one replaced it, whatever the table's options: readers that have
opened it may still plan."""


class SnapshotExpiry(Maintenance[ExpiryPlan]):
    """Expires snapshots of a table.

    Args:
        table: the table.
        options: how long snapshots are kept; None for the table's own options.
        floor: how long a snapshot stays after the next one replaced it.
    """

    kind = MaintenanceKind.EXPIRE_SNAPSHOTS

    def __init__(
        self,
        table: PaimonTable,
        options: RetentionOptions | None = None,
        floor: timedelta = READER_FLOOR,
    ) -> None:
        self._table = table
        self._options = read_retention(table.stored_options) if options is None else options
        self._floor = floor

    def plan(self, clock: Clock) -> ExpiryPlan:
        """See the Protocol."""
        history = read_history(self._table)
        refusals = tuple(expiry_refusals(self._table, self._options, history))
        if refusals:
            raise UnsupportedTable(self._table.name, refusals, "expired")
        return plan_expiry(self._table, history, self._end(history, clock))

    def _end(self, history: History, clock: Clock) -> int:
        times = history.times
        if times is None:
            return 0
        return expiry_end(
            times,
            self._options,
            now_millis=epoch_millis(clock.now()),
            floor_millis=self._floor // timedelta(milliseconds=1),
            consumer=history.consumer,
        )

    def execute(self, plan: ExpiryPlan) -> Maintained:
        """See the Protocol."""
        delete_expired(self._table, plan)
        return Maintained(self.kind, plan.figures, plan.oldest)
