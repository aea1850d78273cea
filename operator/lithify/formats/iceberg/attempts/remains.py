"""What clean-up asks of an Iceberg table: `Remains` of `engine.attempts.clean_up`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import listed, whole
from lithify.engine.attempts.ages import SAFE_AGE
from lithify.engine.attempts.attempt import CommittedJournal
from lithify.engine.attempts.clean_up import Fate
from lithify.engine.attempts.settled_history import SettledHistory
from lithify.faults import failpoint
from lithify.formats.iceberg.attempts.references import name_of, unreferenced
from lithify.formats.iceberg.attempts.scope import IcebergAttempt, IcebergJournal, journal_of
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.snapshots import ATTEMPT, NO_SNAPSHOT, UNFINISHED, is_whole
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.io.storage import Storage


class IcebergRemains(SettledHistory):
    """The attempts at one table, on all of its branches.

    Attributes:
        settled_after: writers are expected to have committed by then; until then they may demand that a
            catalog remove snapshots that yield to them.
    """

    settled_after = SAFE_AGE

    def __init__(self, table: IcebergTable) -> None:
        self._table = table

    @property
    def journal(self) -> IcebergJournal:
        """The table's journal."""
        return journal_of(self._table)

    @property
    def storage(self) -> Storage:
        """Access to the table's files."""
        return self._table.storage

    def fate_of(self, attempt: IcebergAttempt) -> Fate:
        """Whether an attempt has committed, from the summaries of snapshots.

        One of which only portions are committed may still commit the rest. An attempt has not committed if
        its branch leads back to its base without a gap: expiry removes the oldest first, so no snapshot in
        between can have been expired.
        """
        metadata = self._table.refresh()
        own = (each for each in metadata.snapshots.values() if each.summary.get(ATTEMPT) == attempt.prefix)
        if any(UNFINISHED not in each.summary for each in own):
            return Fate.COMMITTED
        history, base = [*metadata.ancestry(attempt.scope.branch)], attempt.scope.base
        is_readable = any(each.id == base for each in history) or (base == NO_SNAPSHOT and is_whole(history))
        return Fate.HARMLESS if is_readable else Fate.UNKNOWN

    def has_lost_every_unit(self, attempt: IcebergAttempt) -> bool:
        """Whether an input of each group is gone from the branch, so that a late commit would be refused.

        Snapshots that give way to writers do not count: a catalog would remove them in favour of the
        attempt's own late commit, and so bring the inputs back.
        """
        head = self._table.refresh().lasting_head(attempt.scope.branch)
        if head is None or head.manifest_list is None or not attempt.scope.inputs:
            return False
        reader = ManifestReader(self._table.storage)
        paths = whole(reader.view(reader.manifests(head.manifest_list)).data["file_path"])
        wanted = pa.array([path for each in attempt.scope.inputs.values() for path in each], pa.string())
        live = set(listed(paths.filter(pc.is_in(paths, value_set=wanted))))
        return all(not set(inputs) <= live for inputs in attempt.scope.inputs.values())

    def is_built_on(self, committed: CommittedJournal) -> bool:
        """Whether no catalog removes a snapshot in favour of a writer any more: a branch needs it."""
        metadata = self._table.metadata
        heads = (metadata.lasting_head(name) for name, each in metadata.refs.items() if each.is_branch)
        lasting = (each for head in heads if head is not None for each in metadata.ancestors(head))
        return any(each.id == committed.snapshot for each in lasting)

    def is_removed(self, committed: CommittedJournal) -> bool:
        """Whether a catalog removed a snapshot: its branch has the attempt's base, but not the snapshot.

        It has not expired, since the base would have, too. Metadata from before the commit do not have it,
        either, and a replica may lag behind: so they must be from a later second than the commit.
        """
        metadata = self._table.metadata
        is_later = metadata.last_updated >= (committed.since.timestamp() + 1) * 1000
        if committed.snapshot in metadata.snapshots or not is_later:
            return False
        attempt = self.journal.read(committed.path)
        if attempt is None:
            return False
        return any(each.id == attempt.scope.base for each in metadata.ancestry(attempt.scope.branch))

    def is_in_place(self, committed: CommittedJournal) -> bool:
        """Whether the table has the snapshot."""
        return committed.snapshot in self._table.metadata.snapshots

    def sweep(self, *attempts: IcebergAttempt) -> int:
        """Deletes unreferenced files of attempts; returns their number.

        Looks for references in every manifest, whatever the journals say of when the attempts began: anyone
        who may write to the table's folder can have written them.

        Raises:
            CorruptTable: what references files cannot be read, so nothing was deleted.
        """
        return self._sweep(attempts, 0)

    def sweep_own(self, attempt: IcebergAttempt) -> int:
        """Deletes unreferenced files of an attempt of this process, which knows when it began.

        Raises:
            CorruptTable: see `sweep`.
        """
        return self._sweep((attempt,), attempt.scope.sequence)

    def _sweep(self, attempts: Sequence[IcebergAttempt], since: int) -> int:
        """Deletes files that no manifest later than a sequence number references."""
        if not attempts:
            return 0
        prefixes = tuple(attempt.prefix for attempt in attempts)
        found = {name_of(path): path for path in self._files() if any(p in name_of(path) for p in prefixes)}
        doomed = sorted(unreferenced(self._table, found, since)) if found else []
        self._table.storage.delete_all([found[name] for name in doomed])
        if doomed:
            failpoint("orphans-deleted")
        return len(doomed)

    def _files(self) -> Iterator[str]:
        """All data and metadata files; journals are in neither folder."""
        metadata = self._table.metadata
        others = (metadata.properties.get(name, "").rstrip("/") for name in self._table.more_folders)
        folders = (metadata.data_folder, metadata.metadata_folder, *filter(None, others))
        for folder in dict.fromkeys(folders):
            yield from self._table.storage.files_below(folder)
