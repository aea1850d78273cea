"""Snapshot expiry of one Iceberg table: implements `formats.protocol.maintenance.Maintenance`.

Created by `iceberg.maintaining`. `retention` says what may go, `doomed_files` which files only that needs.
Executing writes these files into a journal, commits the metadata without the snapshots, and deletes the files
last, if nothing that others have committed since names them.
"""

from __future__ import annotations

from datetime import timedelta

from lithify.clock import Clock, SystemClock, epoch_millis
from lithify.errors import CommitUnknown, LithifyError, MissingFile, StalePlan, UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.iceberg.maintenance.deleting import delete_files
from lithify.formats.iceberg.maintenance.doomed_files import DoomedFiles, doomed_files, still_doomed
from lithify.formats.iceberg.maintenance.journal import delete_journals, read_journals, write_journals
from lithify.formats.iceberg.maintenance.next_metadata import without
from lithify.formats.iceberg.maintenance.options import expiry_refusals, history_of
from lithify.formats.iceberg.maintenance.plan import ExpiryPlan, figures_of
from lithify.formats.iceberg.maintenance.publisher import commit_removal, is_gone
from lithify.formats.iceberg.maintenance.retention import Removal, RetentionRules, expired
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.metadata import TableMetadata, parse_metadata
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.maintenance import Maintained, Maintenance, MaintenanceKind

READER_FLOOR = timedelta(minutes=10)
"""How long a snapshot stays after another one took its place, whatever the table's properties: readers that
have opened it may still plan."""


class SnapshotExpiry(Maintenance[ExpiryPlan]):
    """Expires snapshots, branches and tags of a table.

    Args:
        table: the table.
        rules: how long they are kept.
        floor: how long a snapshot stays after another one took its place.
        clock: times and waits of commits.
    """

    kind = MaintenanceKind.EXPIRE_SNAPSHOTS

    def __init__(
        self,
        table: IcebergTable,
        rules: RetentionRules,
        floor: timedelta = READER_FLOOR,
        clock: Clock | None = None,
    ) -> None:
        self._table = table
        self._rules = rules
        self._floor = floor
        self._clock = clock or SystemClock()
        self._reader = ManifestReader(table.storage)

    def plan(self, clock: Clock) -> ExpiryPlan:
        """See the Protocol."""
        metadata, now = self._table.refresh(), clock.now()
        self._check_supported()
        removal = self._removal(metadata, epoch_millis(now))
        after = parse_metadata(without(metadata, removal), metadata.file)
        journals = read_journals(self._table, metadata, now)
        try:
            doomed = doomed_files(self._reader, self._table.storage.roots, metadata, after, journals.files)
        except MissingFile as error:
            self._explain(error, after)
            raise
        stay = min(after.snapshots.values(), key=lambda each: (each.millis, each.sequence), default=None)
        needless = journals.needless_after(removal.snapshots)
        return ExpiryPlan(removal, stay, doomed, epoch_millis(now), bool(journals.settled), needless)

    def execute(self, plan: ExpiryPlan) -> Maintained:
        """See the Protocol.

        Raises:
            CommitUnknown: whether the snapshots are gone is unknown; no file was deleted.
            CommitOutrun: other commits were faster at every try.
        """
        failpoint("expiry-planned")
        table = self._table
        journals = self._commit(plan) if plan.removal else ()
        metadata = table.refresh()
        doomed = self._still_doomed(plan, metadata)
        delete_files(table.storage, doomed.own)
        delete_journals(table.storage, (*journals, *plan.journals))
        return Maintained(self.kind, figures_of(plan.removal, doomed), plan.oldest)

    def _check_supported(self) -> None:
        refusals = tuple(expiry_refusals(self._table))
        if refusals:
            raise UnsupportedTable(self._table.name, refusals, "expired")

    def _removal(self, metadata: TableMetadata, now: int) -> Removal:
        floor = self._floor // timedelta(milliseconds=1)
        return expired(history_of(metadata), self._rules, now_millis=now, floor_millis=floor)

    def _commit(self, plan: ExpiryPlan) -> tuple[str, ...]:
        """Writes the journal and commits; returns the journal's files."""
        table = self._table
        table.check_writable()
        snapshots = plan.removal.snapshots
        journals = write_journals(table, snapshots, plan.doomed.own) if snapshots else ()
        failpoint("expiry-recorded")
        try:
            commit_removal(table, plan.removal, lambda found: self._check_current(plan, found), self._clock)
        except CommitUnknown:
            raise  # a later run finds out what became of it
        except LithifyError:
            delete_journals(table.storage, journals)
            raise
        failpoint("expiry-committed")
        return journals

    def _check_current(self, plan: ExpiryPlan, metadata: TableMetadata) -> None:
        """Checks that newer metadata would let the same go.

        Raises:
            StalePlan: it would not.
        """
        self._check_supported()
        if not plan.removal <= self._removal(metadata, plan.now_millis):
            raise StalePlan(self._table.name, "a snapshot that should go is gone already, or is needed")

    def _still_doomed(self, plan: ExpiryPlan, metadata: TableMetadata) -> DoomedFiles:
        """The planned files that the newest metadata does not reach either."""
        if not is_gone(plan.removal, metadata):
            raise CommitUnknown(self._table.name, "snapshots that were removed are there again")
        return still_doomed(self._reader, plan.doomed, metadata)

    def _explain(self, error: MissingFile, after: TableMetadata) -> None:
        """Finds out whether a file is missing because somebody else has expired snapshots at the same time.

        Raises:
            StalePlan: so it is.
        """
        if after.snapshots.keys() - self._table.refresh().snapshots.keys():
            raise StalePlan(self._table.name, "another expiry removed snapshots") from error
