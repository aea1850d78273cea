"""Commits changes to a Paimon table as one COMPACT or OVERWRITE snapshot: the hooks of `engine.commit.loop`.

Called by steps, and by `dropping`, whose snapshots are of the other kind. What a try inherits is taken from
the newest snapshot. The result of the write is read back. Files are deleted only when it is certain that no
snapshot references them.

A snapshot is built as Paimon builds it (`FileStoreCommitImpl`), including the merging of manifests when it is
due. Manifests merged in a try that another commit outran are reused in the next, so that a long merge can
complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.snapshot.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics

from lithify import __version__
from lithify.clock import Clock
from lithify.columns.json_texts import parse_object
from lithify.engine.attempts.heartbeat import Heartbeat
from lithify.engine.attempts.names import writer_id
from lithify.engine.commit import loop
from lithify.engine.commit.loop import CommitOutcome, Validation
from lithify.engine.commit.patience import backoff_of
from lithify.errors import AttemptFenced
from lithify.faults import failpoint
from lithify.formats.paimon.commit.changes import BucketChange, DroppedPartition
from lithify.formats.paimon.commit.conflict_check import Change, admitted
from lithify.formats.paimon.commit.inherited_properties import inherited_properties
from lithify.formats.paimon.commit.snapshot_publisher import SnapshotPublisher
from lithify.formats.paimon.commit.table_writing import follow, journal_of, writable_snapshots
from lithify.formats.paimon.manifests.entries import ADD, ManifestEntry
from lithify.formats.paimon.manifests.manifest_files import ManifestFiles
from lithify.formats.paimon.manifests.manifest_merging import ManifestMerger, MergedManifests
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.snapshots.attempt_scope import PaimonAttempt
from lithify.formats.paimon.snapshots.lineage import Lineage
from lithify.formats.paimon.snapshots.live_buckets import LiveBuckets
from lithify.formats.paimon.snapshots.snapshot_properties import (
    ATTEMPT_PROPERTY,
    BASE_PROPERTY,
    FULL_PROPERTY,
    RUN_PROPERTY,
    TO_COME_PROPERTY,
    base_mark,
)
from lithify.formats.paimon.support.evolution import schema_conflict
from lithify.formats.paimon.table import PaimonTable

NO_SNAPSHOT = "the table has no snapshot any more"
_SNAPSHOT_VERSION = 3
_LOOKED_AT_EVERY = timedelta(minutes=5)
"""Time for which a check of the new data files stays valid; an outrun try is over in seconds."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A snapshot whose manifests are on disk: `files` of this try, and those merged in it or before."""

    snapshot: Snapshot
    base: Snapshot
    statistics: list[PartitionStatistics]
    files: list[str]
    merged: MergedManifests


@dataclass(frozen=True, slots=True)
class _Changelog:
    """The manifest list of a changelog, its rows, and the names of the list and its manifests."""

    list_name: str
    list_size: int
    rows: int
    files: tuple[str, ...]


class Committer:
    """Commits the changes of one attempt."""

    def __init__(self, table: PaimonTable, attempt: PaimonAttempt, clock: Clock) -> None:
        self._table = table
        self._attempt = attempt
        self._clock = clock
        self._heartbeat = Heartbeat(journal_of(table), attempt, clock)
        snapshots = writable_snapshots(table)
        self._lineage = Lineage(snapshots, table.manifests)
        self._publisher = SnapshotPublisher(snapshots, self._lineage, self._heartbeat.check)
        self._backoff = backoff_of(attempt.prefix, table.options.commit, clock)
        options = table.options.manifests
        self._files = ManifestFiles(table.native, table.manifests, table.storage, options)
        self._merger = ManifestMerger(table.manifests, self._files, options)
        self._merged: MergedManifests | None = None
        self._to_come = 0
        self._full_of: int | None = None
        self._looked: datetime | None = None
        self._live: LiveBuckets | None = None

    def commit(
        self, changes: Sequence[Change], to_come: int = 0, full_of: int | None = None
    ) -> CommitOutcome:
        """Commits as many of the changes as the newest snapshot admits; may be called only once.

        Args:
            changes: one per bucket.
            to_come: number of buckets that the run has not begun yet.
            full_of: the snapshot that a full compaction was planned on, if this is its last step.

        Raises:
            AttemptFenced: this attempt may not commit any more.
            CommitOutrun: other commits were faster until the deadline; no input was lost.
            CommitUnknown: a snapshot was sent and it is unknown whether it is in place.
            StorageError: the file system refuses or is full; nothing was committed.
        """
        self._to_come, self._full_of = to_come, full_of
        self._live = follow(self._table, [change.bucket for change in changes], self._names(changes))
        try:
            by_bucket = {change.bucket: change for change in changes}
            return loop.commit(self, by_bucket, self._backoff)
        finally:
            self._forget_merge()

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

    def _names(self, changes: Sequence[Change]) -> frozenset[str] | None:
        """The files whose entries decide about the changes; None for all files of their buckets.

        In a table without keys and buckets no file depends on another one, and a partition may have millions
        of them. So only inputs matter, and the files of which vectors are written.
        """
        packing = self._table.options.packing
        if any(isinstance(change, DroppedPartition) for change in changes):
            return None
        if packing is None or packing.is_ordered:
            return None
        plain = [change for change in changes if isinstance(change, BucketChange)]
        inputs = (entry.file.name for change in plain for entry in change.inputs)
        marked = (name for change in plain for index in change.vectors.written for name in index.ranges)
        return frozenset((*inputs, *marked))

    def validate(self, changes: Mapping[BucketId, Change], base: Snapshot | None) -> Validation[Change]:
        """The changes that a snapshot admits."""
        reason = self._table_conflict(base)
        if base is None or reason is not None:
            return Validation({}, dict.fromkeys(changes, reason or NO_SNAPSHOT))
        indexes = self._table.indexes(base, list(changes))
        hindrance = self._table.index_problem(indexes.types)
        if hindrance is not None:
            return Validation({}, dict.fromkeys(changes, hindrance))
        assert self._live is not None  # noqa: S101  # `commit` follows the buckets
        live = self._live.at(base)
        return admitted([*changes.values()], live, self._table.order_key, indexes.vectors)

    def _table_conflict(self, base: Snapshot | None) -> str | None:
        """Why a snapshot admits no change at all; None if it may."""
        if base is None:
            return NO_SNAPSHOT
        if self._lineage.is_stray(base):
            return f"snapshot {base.id} arrived after its run gave it up; the next run removes it"
        return schema_conflict(self._table.schema, self._table.newest_schema())

    def prepare(self, changes: Mapping[BucketId, Change], base: Snapshot, number: int) -> Draft:
        """Writes the manifests of the snapshot after `base`, and checks that they may be committed."""
        writer = writer_id(self._attempt.prefix, number)
        manifests = self._table.manifests
        try:
            draft = self._draft([*changes.values()], base, writer)
            failpoint("manifests-written")
            self._table.storage.persist(map(manifests.path, (*draft.files, *draft.merged.written)))
            self._check_files([*changes.values()], draft)
            self._heartbeat.check()  # last: a run that condemns this attempt from here on finds its snapshot
        except BaseException:
            self._forget_merge()
            self._files.delete(manifests.names_with(writer))
            raise
        self._merged = None  # from here on a snapshot may reference it
        return draft

    def discard(self, draft: Draft) -> None:
        """Deletes the manifests of a try, except merged ones, which the next try reuses if there is one."""
        self._merged = draft.merged if draft.merged.written else None
        self._files.delete(draft.files)

    def _check_files(self, changes: Sequence[Change], draft: Draft) -> None:
        """Checks that the new files, which no snapshot references yet, still exist.

        The fence keeps our own runs from deleting them. Java's orphan file clean deletes files older than a
        day, so data files, of which there may be thousands, are not checked again for a while.

        Raises:
            AttemptFenced: a new file is gone.
        """
        paths = [self._table.manifests.path(name) for name in (*draft.files, *draft.merged.written)]
        now = self._clock.now()
        if self._looked is None or now - self._looked > _LOOKED_AT_EVERY:
            self._looked = now
            paths += [path for change in changes for path in new_paths(self._table, change)]
        for path, exists in zip(paths, self._table.storage.exist(paths), strict=True):
            if not exists:
                raise AttemptFenced(path, "a new file is gone; something else deletes files of this table")

    def _draft(self, changes: Sequence[Change], base: Snapshot, writer: str) -> Draft:
        entries = [entry for change in changes for entry in change.entries()]
        merged = self._merge(self._table.manifests.list_files(base), writer)
        failpoint("manifests-merged")
        base_list, base_size = self._files.write_list(merged.manifests, f"manifest-list-{writer}-0")
        delta: list[ManifestFileMeta] = self._files.write(
            self._recorded(entries), writer, len(merged.written)
        )
        delta_list, delta_size = self._files.write_list(delta, f"manifest-list-{writer}-1")
        changelog = self._changelog(changes, writer, len(merged.written) + len(delta))
        delta_rows = sum(entry.file.rows if entry.kind == ADD else -entry.file.rows for entry in entries)
        schema_id = self._table.newest_schema().id
        index_manifest = self._index_manifest(changes, base, writer)
        snapshot = Snapshot(
            version=_SNAPSHOT_VERSION,
            id=base.id + 1,
            schema_id=schema_id,
            base_manifest_list=base_list,
            base_manifest_list_size=base_size,
            delta_manifest_list=delta_list,
            delta_manifest_list_size=delta_size,
            changelog_manifest_list=changelog and changelog.list_name,
            changelog_manifest_list_size=changelog and changelog.list_size,
            changelog_record_count=changelog and changelog.rows,
            total_record_count=base.total_record_count + delta_rows,
            delta_record_count=delta_rows,
            commit_user=f"lithify-{self._attempt.run}",
            commit_identifier=BATCH_COMMIT_IDENTIFIER,
            commit_kind="OVERWRITE" if _dropped(changes) else "COMPACT",
            time_millis=int(self._clock.now().timestamp() * 1000),
            index_manifest=index_manifest,
            watermark=base.watermark,
            statistics=self._inherited_statistics(base, schema_id),
            next_row_id=base.next_row_id,
            properties=self._properties(base, entries),
            writer_version=f"lithify-{__version__}",
        )
        files = [base_list, delta_list, *(meta.file_name for meta in delta)]
        files += changelog.files if changelog else ()
        files += [index_manifest] if index_manifest not in (None, base.index_manifest) else []
        return Draft(snapshot, base, self._table.statistics_of(entries), files, merged)

    def _changelog(self, changes: Sequence[Change], writer: str, first: int) -> _Changelog | None:
        """Writes the manifests of the changelog, counted from `first`; None if there is no changelog."""
        recorded = (change for change in changes if isinstance(change, BucketChange))
        entries = [entry for change in recorded for entry in change.changelog_entries()]
        if not entries:
            return None
        written = self._files.write(entries, writer, first)
        name, size = self._files.write_list(written, f"manifest-list-{writer}-2")
        files = (name, *(meta.file_name for meta in written))
        return _Changelog(name, size, sum(entry.file.rows for entry in entries), files)

    def _index_manifest(self, changes: Sequence[Change], base: Snapshot, writer: str) -> str | None:
        """The base's index manifest, or a new one if deletion vectors change or partitions go."""
        vectors = [
            ((change.bucket.partition, change.bucket.bucket), change.vectors)
            for change in changes
            if isinstance(change, BucketChange)
        ]
        removed = frozenset(index.name for _, each in vectors for index in each.removed)
        added = [(place, index) for place, each in vectors for index in each.written]
        dropped = _dropped(changes)
        if not removed and not added and not dropped:
            name: str | None = base.index_manifest
            return name
        return self._files.write_indexes(base, removed, added, f"index-manifest-{writer}-0", dropped)

    def _merge(self, listed: Sequence[ManifestFileMeta], writer: str) -> MergedManifests:
        """The base's manifests, merged where due; reuses the last try's merge if its base was continued."""
        again = self._merged and self._merged.rebased(listed)
        if again is None:
            self._forget_merge()
            again = self._merger.merge(listed, writer)
        self._merged = again if again.written else None
        return again

    def _forget_merge(self) -> None:
        """Deletes merged manifests if no snapshot that references them was sent, or all are lost."""
        if self._merged is not None:
            self._files.delete(self._merged.written)
            self._merged = None

    def _recorded(self, entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
        """The entries as they are written: Paimon may be configured to drop statistics of deleted files."""
        if not self._table.options.manifests.drop_deleted_statistics:
            return list(entries)
        return [entry if entry.kind == ADD else entry.without_statistics() for entry in entries]

    def _properties(self, base: Snapshot, entries: Sequence[ManifestEntry]) -> dict[str, str]:
        inherited = inherited_properties(base.properties, entries)
        ours = {
            RUN_PROPERTY: self._attempt.run,
            ATTEMPT_PROPERTY: self._attempt.prefix,
            BASE_PROPERTY: base_mark(base),
        }
        if self._to_come:
            ours[TO_COME_PROPERTY] = str(self._to_come)
        if self._full_of is not None:
            ours[FULL_PROPERTY] = str(self._full_of)
        return {**inherited, **ours}

    def _inherited_statistics(self, base: Snapshot, schema_id: int) -> str | None:
        """Table statistics stay valid as long as the schema does."""
        name: str | None = base.statistics
        text = name and self._table.storage.read_text(f"{self._table.root}/statistics/{name}")
        return name if text and _schema_id(text) == schema_id else None


def new_paths(table: PaimonTable, change: Change) -> list[str]:
    """The paths of the files that a change adds."""
    paths = [path for bucket, file in change.placed for path in file.paths(table.folder(bucket))]
    indexes = change.vectors.written if isinstance(change, BucketChange) else ()
    return [*paths, *(f"{table.index_folder(change.bucket)}/{index.name}" for index in indexes)]


def _dropped(changes: Iterable[Change]) -> frozenset[bytes]:
    """The partitions that changes drop."""
    return frozenset(each.bucket.partition for each in changes if isinstance(each, DroppedPartition))


def _schema_id(statistics: str) -> object:
    """The schema version of table statistics; None if they cannot be read: they are optional."""
    try:
        return parse_object(statistics).get("schemaId")
    except ValueError:
        return None
