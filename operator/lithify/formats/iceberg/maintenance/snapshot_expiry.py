"""Snapshot expiry of Iceberg tables: implements `formats.protocol.maintenance.Maintenance`.

Created by `iceberg.maintaining` for one table, and by `mixed` for the stores of a keyed one, which may name
files of each other. `retention` says what may go, `doomed_files` which files only that needs.
Executing writes these files into a journal, commits the metadata without the snapshots, and deletes the files
last, if nothing that others have committed since names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Protocol

from lithify.clock import Clock, SystemClock, epoch_millis
from lithify.errors import CommitUnknown, LithifyError, MissingFile, StalePlan, UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.iceberg.maintenance.deleting import delete_files
from lithify.formats.iceberg.maintenance.doomed_files import DoomedFiles, doomed_files, still_doomed
from lithify.formats.iceberg.maintenance.journal import delete_journals, read_journals, write_journals
from lithify.formats.iceberg.maintenance.next_metadata import without
from lithify.formats.iceberg.maintenance.options import expiry_refusals, history_of, rules_of
from lithify.formats.iceberg.maintenance.plan import ExpiryPlan, figures_of
from lithify.formats.iceberg.maintenance.removal_commit import commit_removal, is_gone
from lithify.formats.iceberg.maintenance.retention import Removal, expired
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.metadata import TableMetadata, parse_metadata
from lithify.formats.iceberg.table.retention_rules import RetentionRules
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.maintenance import Maintained, Maintenance, MaintenanceKind
from lithify.io.storage import Storage

READER_FLOOR = timedelta(minutes=10)
"""How long a snapshot stays after another one took its place, whatever the table's properties: readers that
have opened it may still plan."""


class LeavingSnapshots(Protocol):
    """A table of which some snapshots and references leave."""

    @property
    def table(self) -> IcebergTable:
        """The table."""
        ...

    def removal(self, now_millis: int, floor_millis: int) -> Removal:
        """What may leave the metadata of the table, as they were last loaded.

        Args:
            now_millis: the present time.
            floor_millis: how long a snapshot stays after another one took its place.
        """
        ...


@dataclass(frozen=True, slots=True)
class ExpiringStore:
    """A table whose snapshots expire, alone or with others that may name its files.

    Attributes:
        table: the table.
        rules: how long snapshots, branches and tags are kept, by metadata: somebody may change it any time.
        needed: the snapshots that stay whatever their age, by metadata.
    """

    table: IcebergTable
    rules: Callable[[TableMetadata], RetentionRules]
    needed: Callable[[TableMetadata], Set[int]] = lambda _: frozenset()

    def removal(self, now_millis: int, floor_millis: int) -> Removal:
        """See the Protocol."""
        metadata = self.table.metadata
        found = expired(
            history_of(metadata), self.rules(metadata), now_millis=now_millis, floor_millis=floor_millis
        )
        return found.without(self.needed(metadata))


class SnapshotExpiry(Maintenance[ExpiryPlan]):
    """Expires snapshots, branches and tags.

    Args:
        name: the name of the table, for messages.
        stores: its stores; mostly one. The first may take files over from the others.
        storage: access to the files of all.
        refusals: why their snapshots cannot be expired.
        floor: how long a snapshot stays after another one took its place.
        clock: times and waits of commits.
    """

    kind = MaintenanceKind.EXPIRE_SNAPSHOTS

    def __init__(
        self,
        name: str,
        stores: Sequence[LeavingSnapshots],
        storage: Storage,
        refusals: Callable[[], Iterable[str]],
        floor: timedelta = READER_FLOOR,
        clock: Clock | None = None,
    ) -> None:
        self._name = name
        self._stores = stores
        self._storage = storage
        self._refusals = refusals
        self._floor = floor
        self._clock = clock or SystemClock()
        self._reader = ManifestReader(storage)

    def plan(self, clock: Clock) -> ExpiryPlan:
        """See the Protocol."""
        metadata, now = self._refresh(), clock.now()
        self._check_supported()
        millis = epoch_millis(now)
        removals = tuple(self._removal(each, millis) for each in self._stores)
        after = [
            parse_metadata(without(each, removal), each.file)
            for each, removal in zip(metadata, removals, strict=True)
        ]
        journals = [
            read_journals(store.table, each, now) for store, each in zip(self._stores, metadata, strict=True)
        ]
        files = [file for each in journals for file in each.files]
        try:
            doomed = doomed_files(self._reader, self._storage.roots, metadata, after, files)
        except MissingFile as error:
            self._explain(error, after)
            raise
        stay = after[0].snapshots.values()
        needless = [
            each.needless_after(removal.snapshots) for each, removal in zip(journals, removals, strict=True)
        ]
        return ExpiryPlan(
            removals=removals,
            stay=min(stay, key=lambda each: (each.millis, each.sequence), default=None),
            doomed=doomed,
            now_millis=millis,
            completes=any(each.settled for each in journals),
            journals=tuple(chain(*needless)),
        )

    def execute(self, plan: ExpiryPlan) -> Maintained:
        """See the Protocol.

        Raises:
            CommitUnknown: whether the snapshots are gone is unknown; no file was deleted.
            CommitOutrun: other commits were faster at every try.
        """
        failpoint("expiry-planned")
        written = [
            self._commit(plan, store, removal)
            for store, removal in zip(self._stores, plan.removals, strict=True)
            if removal
        ]
        doomed = self._still_doomed(plan, plan.doomed)
        counts = delete_files(self._storage, doomed, partial(self._still_doomed, plan))
        delete_journals(self._storage, (*chain(*written), *plan.journals))
        return Maintained(self.kind, figures_of(plan.removals, counts, doomed.foreign), plan.oldest)

    def _refresh(self) -> list[TableMetadata]:
        """Loads the newest metadata of all stores; last the first one, which takes files over from others."""
        loaded = [each.table.refresh() for each in reversed(self._stores)]
        return loaded[::-1]

    def _reload(self) -> list[TableMetadata]:
        """The same, read again even if it has the name that it had when it was committed."""
        loaded = [each.table.reload() for each in reversed(self._stores)]
        return loaded[::-1]

    def _check_supported(self) -> None:
        refusals = tuple(self._refusals())
        if refusals:
            raise UnsupportedTable(self._name, refusals, "expired")

    def _removal(self, store: LeavingSnapshots, now: int) -> Removal:
        """What may leave the metadata of a store, as it was last loaded."""
        return store.removal(now, self._floor // timedelta(milliseconds=1))

    def _commit(self, plan: ExpiryPlan, store: LeavingSnapshots, removal: Removal) -> tuple[str, ...]:
        """Writes the journal of a store and commits; returns the journal's files."""
        table, snapshots = store.table, removal.snapshots
        table.check_writable()
        journals = write_journals(table, snapshots, plan.doomed.own) if snapshots else ()
        failpoint("expiry-recorded")
        try:
            commit_removal(table, removal, lambda: self._check_current(plan, store, removal), self._clock)
        except CommitUnknown:
            raise  # a later run finds out what became of it
        except LithifyError:
            delete_journals(table.storage, journals)
            raise
        failpoint("expiry-committed")
        return journals

    def _check_current(self, plan: ExpiryPlan, store: LeavingSnapshots, removal: Removal) -> None:
        """Checks that newer metadata would let the same go.

        Raises:
            StalePlan: it would not.
        """
        self._check_supported()
        if not removal <= self._removal(store, plan.now_millis):
            raise StalePlan(self._name, "a snapshot that should go is gone already, or is needed")
        # A new reference whose own time is over keeps nothing, but must not be left without its snapshot.
        for each in store.table.metadata.refs.values():
            if each.snapshot in removal.snapshots and each.name not in removal.references:
                raise StalePlan(self._name, f"{each.name} was created of a snapshot that should go")

    def _still_doomed(self, plan: ExpiryPlan, doomed: DoomedFiles) -> DoomedFiles:
        """Those of some planned files that the newest metadata does not reach either.

        Raises:
            CommitUnknown: another commit was put over ours, or the catalog lags behind.
        """
        metadata = self._reload()
        if not all(map(is_gone, plan.removals, metadata)):
            raise CommitUnknown(self._name, "snapshots that were removed are there again")
        return still_doomed(self._reader, doomed, metadata)

    def _explain(self, error: MissingFile, after: Sequence[TableMetadata]) -> None:
        """Finds out whether a file is missing because somebody else has expired snapshots at the same time.

        Raises:
            StalePlan: so it is.
        """
        for had, has in zip(after, self._refresh(), strict=True):
            if had.snapshots.keys() - has.snapshots.keys():
                raise StalePlan(self._name, "another expiry removed snapshots") from error


def expiry_of_table(
    table: IcebergTable,
    overrides: Mapping[str, str],
    floor: timedelta = READER_FLOOR,
    clock: Clock | None = None,
) -> SnapshotExpiry:
    """The expiry of a table that stands alone; `overrides` replace its properties."""
    stores = (ExpiringStore(table, partial(rules_of, overrides=overrides)),)
    return SnapshotExpiry(table.name, stores, table.storage, lambda: expiry_refusals(table), floor, clock)
