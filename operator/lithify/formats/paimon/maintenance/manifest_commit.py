"""Commits merged manifests as a snapshot that changes no data: the hooks of `engine.commit.loop`.

Called by `manifest_merge`. The snapshot is that of Paimon's `FileStoreCommitImpl.compactManifest`: kind
COMPACT, an empty delta, and everything else as the snapshot before it has it. A try that another commit
outran keeps its manifests: they stay right as long as the newest snapshot names those that they replace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.snapshot.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics

from lithify import __version__
from lithify.clock import Clock, epoch_millis
from lithify.engine.attempts.heartbeat import Heartbeat
from lithify.engine.attempts.names import writer_id
from lithify.engine.commit.loop import Validation
from lithify.errors import AttemptFenced, UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.paimon.commit.snapshot_publisher import SnapshotPublisher
from lithify.formats.paimon.commit.table_writing import journal_of, writable_snapshots
from lithify.formats.paimon.maintenance.manifest_selection import ManifestSelection, select_manifests
from lithify.formats.paimon.manifests.encoded_entries import UnknownFields
from lithify.formats.paimon.manifests.manifest_files import ManifestFiles
from lithify.formats.paimon.manifests.manifest_sorting import ManifestSorter
from lithify.formats.paimon.snapshots.attempt_scope import PaimonAttempt
from lithify.formats.paimon.snapshots.lineage import Lineage
from lithify.formats.paimon.snapshots.snapshot_properties import (
    ATTEMPT_PROPERTY,
    BASE_PROPERTY,
    OWN_PREFIX,
    RUN_PROPERTY,
    base_mark,
)
from lithify.formats.paimon.table import PaimonTable

MANIFESTS = "manifests"
"""The only group of the commit."""
NOTHING_GAINED = "others have merged the manifests"
NO_SNAPSHOT = "the table has no snapshot any more"


@dataclass(frozen=True, slots=True)
class MergedList:
    """Manifests of a snapshot of which some were rewritten.

    Attributes:
        selection: what was rewritten.
        new: the manifests in their place.
    """

    selection: ManifestSelection
    new: tuple[ManifestFileMeta, ...]

    @property
    def written(self) -> list[str]:
        """The names of the new manifests."""
        return [meta.file_name for meta in self.new]

    def applied_to(self, metas: Sequence[ManifestFileMeta]) -> list[ManifestFileMeta] | None:
        """The manifests of a later snapshot after the merge; None if it lacks some that were rewritten.

        Those that stay come first, but for the ones that were added since: they may remove files of the new
        manifests.
        """
        replaced = {meta.file_name for meta in self.selection.chosen}
        kept = {meta.file_name for meta in self.selection.kept}
        if not replaced <= {meta.file_name for meta in metas}:
            return None
        before = [meta for meta in metas if meta.file_name in kept]
        since = [meta for meta in metas if meta.file_name not in kept | replaced]
        return [*before, *self.new, *since]


@dataclass(frozen=True, slots=True)
class MergeDraft:
    """A snapshot whose manifests are on disk; `files` are those of this try alone."""

    snapshot: Snapshot
    base: Snapshot
    statistics: list[PartitionStatistics]
    files: list[str]
    merged: MergedList


class ManifestCommitter:
    """Commits the merge of one attempt.

    Attributes:
        merged: what was committed, once it is.

    Args:
        table: the table.
        attempt: the journal entry.
        clock: source of the time of the snapshot.
        memory: bytes of entries that are held at a time.
    """

    def __init__(self, table: PaimonTable, attempt: PaimonAttempt, clock: Clock, memory: int) -> None:
        self.merged: MergedList | None = None
        self._table = table
        self._attempt = attempt
        self._clock = clock
        self._heartbeat = Heartbeat(journal_of(table), attempt, clock)
        snapshots = writable_snapshots(table)
        self._lineage = Lineage(snapshots, table.manifests)
        self._publisher = SnapshotPublisher(snapshots, self._lineage, self._heartbeat.check)
        self._options = table.options.manifests
        self._files = ManifestFiles(table.native, table.manifests, table.storage, self._options)
        self._sorter = ManifestSorter(table.manifests, self._files, memory, self._heartbeat.beat)

    @property
    def table(self) -> str:
        """The table's name."""
        return self._table.name

    @property
    def publisher(self) -> SnapshotPublisher:
        """Writes snapshots to their places."""
        return self._publisher

    def newest(self) -> Snapshot | None:
        """The newest snapshot."""
        return self._table.snapshots.latest()

    def exists(self, base: Snapshot) -> bool:
        """Whether a snapshot has not expired."""
        return self._table.snapshots.get(base.id) is not None

    def validate(
        self, changes: Mapping[str, ManifestSelection], base: Snapshot | None
    ) -> Validation[ManifestSelection]:
        """What is rewritten of the newest snapshot: as in the last try, or selected again."""
        if base is None:
            return Validation({}, dict.fromkeys(changes, NO_SNAPSHOT))
        if self._lineage.is_stray(base):
            reason = f"snapshot {base.id} arrived after its run gave it up; the next run removes it"
            return Validation({}, dict.fromkeys(changes, reason))
        metas = self._table.manifests.list_files(base)
        if self.merged is not None and self.merged.applied_to(metas) is not None:
            return Validation({MANIFESTS: self.merged.selection}, {})
        self._forget()
        found = select_manifests(self._table.manifests, metas, self._options.target_size)
        if not found.is_worthwhile:
            return Validation({}, dict.fromkeys(changes, NOTHING_GAINED))
        return Validation({MANIFESTS: found}, {})

    def prepare(self, changes: Mapping[str, ManifestSelection], base: Snapshot, number: int) -> MergeDraft:
        """Writes the manifests of the snapshot after `base`, and checks that they may be committed."""
        writer = writer_id(self._attempt.prefix, number)
        manifests = self._table.manifests
        try:
            merged = self.merged or self._merged(changes[MANIFESTS], writer)
            failpoint("manifests-merged")
            draft = self._draft(merged, base, writer)
            failpoint("manifests-written")
            paths = [*map(manifests.path, (*draft.files, *merged.written))]
            self._table.storage.persist(paths)
            self._check_files(paths)
            self._heartbeat.check()  # last: a run that condemns this attempt from here on finds its snapshot
        except BaseException:
            self._forget()
            self._files.delete(manifests.names_with(writer))
            raise
        self.merged = merged
        return draft

    def discard(self, draft: MergeDraft) -> None:
        """Deletes the manifest lists of a try; the next one may use its manifests."""
        self._files.delete(draft.files)

    def forget(self) -> None:
        """Deletes the manifests of a commit that certainly is in no snapshot."""
        self._forget()

    def _merged(self, selection: ManifestSelection, writer: str) -> MergedList:
        try:
            return MergedList(selection, tuple(self._sorter.sort(selection.chosen, writer)))
        except UnknownFields as error:
            reason = "a manifest has fields of a later release, which this one could not write again"
            raise UnsupportedTable(self._table.name, (reason,), "maintained") from error

    def _draft(self, merged: MergedList, base: Snapshot, writer: str) -> MergeDraft:
        metas = merged.applied_to(self._table.manifests.list_files(base))
        assert metas is not None  # noqa: S101  # `validate` has looked
        base_list, base_size = self._files.write_list(metas, f"manifest-list-{writer}-0")
        delta_list, delta_size = self._files.write_list([], f"manifest-list-{writer}-1")
        snapshot = replace(
            base,
            version=_SNAPSHOT_VERSION,
            id=base.id + 1,
            base_manifest_list=base_list,
            base_manifest_list_size=base_size,
            delta_manifest_list=delta_list,
            delta_manifest_list_size=delta_size,
            changelog_manifest_list=None,
            changelog_manifest_list_size=None,
            changelog_record_count=None,
            delta_record_count=0,
            commit_user=f"lithify-{self._attempt.run}",
            commit_identifier=BATCH_COMMIT_IDENTIFIER,
            commit_kind="COMPACT",
            time_millis=epoch_millis(self._clock.now()),
            properties=self._properties(base),
            uuid=None,
            writer_version=f"lithify-{__version__}",
        )
        return MergeDraft(snapshot, base, [], [base_list, delta_list], merged)

    def _properties(self, base: Snapshot) -> dict[str, str]:
        """All properties of the base but those with which a run of ours has marked it, and our own."""
        inherited = base.properties or {}
        ours = {
            RUN_PROPERTY: self._attempt.run,
            ATTEMPT_PROPERTY: self._attempt.prefix,
            BASE_PROPERTY: base_mark(base),
        }
        return {**{name: each for name, each in inherited.items() if not name.startswith(OWN_PREFIX)}, **ours}

    def _check_files(self, paths: Sequence[str]) -> None:
        """Checks that the new files, which no snapshot references yet, still exist.

        Raises:
            AttemptFenced: one is gone.
        """
        for path, exists in zip(paths, self._table.storage.exist(paths), strict=True):
            if not exists:
                raise AttemptFenced(path, "a new file is gone; something else deletes files of this table")

    def _forget(self) -> None:
        """Deletes merged manifests that no snapshot names."""
        if self.merged is not None:
            self._files.delete(self.merged.written)
            self.merged = None


_SNAPSHOT_VERSION = 3
