"""Snapshot expiry of one Paimon table: implements `formats.protocol.maintenance.Maintenance`.

Created by `paimon.maintaining`. Reads the history, asks `consumers` and `retention` what may go, has `expiry`
plan and `deleting` delete.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import Clock, epoch_millis
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.maintenance.consumers import expired_consumers, lowest_position
from lithify.formats.paimon.maintenance.deleting import delete_expired
from lithify.formats.paimon.maintenance.expiry import plan_expiry
from lithify.formats.paimon.maintenance.going import Going
from lithify.formats.paimon.maintenance.history import History, read_history
from lithify.formats.paimon.maintenance.plan import ExpiryPlan
from lithify.formats.paimon.maintenance.refusals import expiry_refusals
from lithify.formats.paimon.maintenance.retention import changelog_end, expiry_end
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
        refusals = tuple(expiry_refusals(self._table))
        if refusals:
            raise UnsupportedTable(self._table.name, refusals, "expired")
        history = read_history(self._table)
        going = self._going(history, epoch_millis(clock.now()))
        return plan_expiry(self._table, history, going)

    def _going(self, history: History, now_millis: int) -> Going:
        """What may go: first consumers, then the snapshots and changelogs that the others do not keep."""
        options = self._options
        consumers = expired_consumers(history.consumers, now_millis, options.consumer_millis)
        position = lowest_position(self._table, set(history.consumers).difference(consumers))
        end = self._end(history, now_millis, position)
        snapshots = history.snapshots_before(end)
        changelog_end = self._changelog_end(history, snapshots, now_millis, position)
        return Going(
            end=end,
            snapshots=snapshots,
            consumers=consumers,
            changelog_end=changelog_end,
            changelogs={} if changelog_end is None else history.changelogs_before(changelog_end),
            is_of_files=options.changelogs is None or options.changelogs.is_of_files,
            is_consumer_of_changelogs=options.is_consumer_of_changelogs,
        )

    def _end(self, history: History, now_millis: int, position: int | None) -> int:
        times = history.times
        if times is None:
            return 0
        return expiry_end(
            times,
            self._options,
            now_millis=now_millis,
            floor_millis=self._floor // timedelta(milliseconds=1),
            consumer=None if self._options.is_consumer_of_changelogs else position,
        )

    def _changelog_end(
        self, history: History, becoming: Mapping[int, Snapshot], now_millis: int, position: int | None
    ) -> int | None:
        """The changelog before which others may go; None if there are none, or none outlive snapshots."""
        times, options = history.changelog_times(becoming), self._options.changelogs
        if times is None or options is None or history.latest is None:
            return None
        return changelog_end(
            times,
            options,
            latest=history.latest,
            limit=self._options.limit,
            now_millis=now_millis,
            consumer=position,
        )

    def execute(self, plan: ExpiryPlan) -> Maintained:
        """See the Protocol."""
        delete_expired(self._table, plan)
        return Maintained(self.kind, plan.figures, plan.oldest)
