"""The commit loop: commits the outcome of a run as one COMPACT snapshot.

Called by the job's driver. Every try is rebuilt against the newest snapshot: buckets that other commits have
changed are left out and reported, so that they can be planned again; everything that a snapshot inherits is
taken from the newest one; then the next snapshot is written, which exactly one writer wins. The result of the
write is read back. Files are deleted only when it is certain that no snapshot references them.

The steps are Paimon's (`FileStoreCommitImpl`), including the merging of manifests when it is due. Manifests
merged in a try that another commit outran are reused in the next, so that a long merge can complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.snapshot.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot

from lithify import __version__
from lithify.clock import Clock
from lithify.columns.json_texts import parse_object
from lithify.engine.attempts.heartbeat import Heartbeat
from lithify.engine.attempts.names import writer_id
from lithify.errors import AttemptFenced, CommitOutrun, CommitUnknown, LithifyError, MissingFile
from lithify.faults import failpoint
from lithify.formats.paimon.commit.changes import BucketChange
from lithify.formats.paimon.commit.conflict_check import Change, admitted
from lithify.formats.paimon.commit.inherited_properties import inherited_properties
from lithify.formats.paimon.commit.snapshot_sender import SnapshotSender
from lithify.formats.paimon.manifests.entries import ADD, ManifestEntry
from lithify.formats.paimon.manifests.manifest_merging import ManifestMerger, MergedManifests
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.snapshots.attempt_scope import PaimonAttempt
from lithify.formats.paimon.snapshots.live_buckets import LiveBuckets
from lithify.formats.paimon.snapshots.snapshot_properties import (
    ATTEMPT_PROPERTY,
    BASE_PROPERTY,
    FULL_PROPERTY,
    RUN_PROPERTY,
    TO_COME_PROPERTY,
    base_mark,
    is_same,
)
from lithify.formats.paimon.snapshots.snapshots import Written
from lithify.formats.paimon.support.evolution import schema_conflict
from lithify.formats.paimon.table import PaimonTable

_SNAPSHOT_VERSION = 3
_LOOKED_AT_EVERY = timedelta(minutes=5)
"""Seconds for which a check of the new data files stays valid; an outrun try is over in seconds."""


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """The outcome of a commit.

    Attributes:
        snapshot: number of the new snapshot, None if every bucket was in conflict.
        committed: the committed buckets.
        conflicts: the other buckets, each with the reason.
        tries: how often the commit was built.
        overwritten: whether a try was in place and then lost, so that others may have built on its files.
    """

    snapshot: int | None
    committed: tuple[BucketId, ...]
    conflicts: dict[BucketId, str]
    tries: int
    overwritten: bool = False


@dataclass(frozen=True, slots=True)
class _Draft:
    """A snapshot whose manifests are on disk: `files` of this try, `merged` in it or in an earlier one."""

    snapshot: Snapshot
    base: Snapshot
    entries: list[ManifestEntry]
    files: list[str]
    merged: tuple[str, ...]


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
        self._options = table.options.commit
        self._sender = SnapshotSender(table.snapshots, table.lineage, self._options, clock, self._check_fence)
        self._merger = ManifestMerger(table.manifests, table.schema.partition_types, table.options.manifests)
        self._merged: MergedManifests | None = None
        self._to_come = 0
        self._full_of: int | None = None
        self._heartbeat = Heartbeat(table.journal, attempt, clock)
        self._looked: datetime | None = None

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
        try:
            return self._commit(changes)
        finally:
            self._forget_merge()

    def _commit(self, changes: Sequence[Change]) -> CommitOutcome:
        """Tries until a try is not outrun by another commit, or the deadline has passed.

        Being outrun is no conflict: as long as the inputs are live, the tasks' outputs stay valid.
        """
        live = self._table.follow([change.bucket for change in changes], self._names(changes))
        started = self._clock.now()
        number = 0
        while True:
            base = self._table.snapshots.latest()
            try:
                outcome = self._commit_on(base, changes, live, number)
            except MissingFile:
                if base is None or self._table.snapshots.get(base.id) is not None:
                    raise
                outcome = None  # it expired while being read
            if outcome is not None:
                return outcome
            waited = (self._clock.now() - started).total_seconds()
            if number >= self._options.max_retries and waited >= self._options.timeout:
                raise CommitOutrun(self._table.name, number + 1, waited)
            self._sender.wait(number)
            number += 1

    def _names(self, changes: Sequence[Change]) -> frozenset[str] | None:
        """The files whose entries decide about the changes; None for all files of their buckets.

        In a table without keys and buckets no file depends on another one, and a partition may have millions
        of them. So only inputs matter, and the files of which vectors are written.
        """
        packing = self._table.options.packing
        if packing is None or packing.is_ordered:
            return None
        plain = [change for change in changes if isinstance(change, BucketChange)]
        inputs = (entry.file.name for change in plain for entry in change.inputs)
        marked = (name for change in plain for index in change.vectors.written for name in index.ranges)
        return frozenset((*inputs, *marked))

    def _commit_on(
        self, base: Snapshot | None, changes: Sequence[Change], live: LiveBuckets, number: int
    ) -> CommitOutcome | None:
        """Commits what the base admits; None if another commit was there first."""
        ready, conflicts = self._admissible(changes, base, live)
        if base is None or not ready:
            return CommitOutcome(None, (), conflicts, number + 1)
        written = self._try(ready, base, number)
        if written is Written.OURS:
            committed = tuple(change.bucket for change in ready)
            return CommitOutcome(base.id + 1, committed, conflicts, number + 1)
        if written is Written.TAKEN_BACK:
            rolled_back = "the table was rolled back, or its snapshots expired, while ours was written"
            return replace(_nothing(changes, rolled_back, number + 1), overwritten=True)
        if written is Written.REPLACED:
            # Others may have built on our files and dropped them again: a second try must not reuse them.
            nothing = _nothing(changes, "another snapshot was put over ours", number + 1)
            return replace(nothing, overwritten=True)
        return None

    def _admissible(
        self, changes: Sequence[Change], base: Snapshot | None, live: LiveBuckets
    ) -> tuple[list[Change], dict[BucketId, str]]:
        """The changes that the base admits, and the buckets of the others with the reason."""
        if base is None:
            return [], {change.bucket: "the table has no snapshot any more" for change in changes}
        if self._table.lineage.is_stray(base):
            late = f"snapshot {base.id} arrived after its run gave it up; the next run removes it"
            return [], {change.bucket: late for change in changes}
        changed = schema_conflict(self._table.schema, self._table.newest_schema())
        if changed is not None:
            return [], {change.bucket: changed for change in changes}
        indexes = self._table.indexes(base, [change.bucket for change in changes])
        hindrance = self._table.index_problem(indexes.types)
        if hindrance is not None:
            return [], {change.bucket: hindrance for change in changes}
        return admitted(changes, live.at(base), self._table.order_key, indexes.vectors)

    def _try(self, changes: Sequence[Change], base: Snapshot, number: int) -> Written:
        """Builds and writes the snapshot after `base`; returns what is in its place then."""
        writer = writer_id(self._attempt.prefix, number)
        manifests = self._table.manifests
        try:
            draft = self._draft(changes, base, writer)
            failpoint("manifests-written")
            self._table.storage.persist(map(manifests.path, (*draft.files, *draft.merged)))
            self._check_files(changes, draft)
            self._check_fence()  # last: a run that condemns this attempt after this check finds its snapshot
        except BaseException:
            self._forget_merge()
            manifests.delete(manifests.names_with(writer))
            raise
        merged, self._merged = self._merged, None  # from here on a snapshot may reference it
        written = self._send(draft)
        failpoint("snapshot-written")
        if written is Written.OURS:
            return self._settle(draft.snapshot)
        if written not in (Written.REPLACED, Written.TAKEN_BACK):
            self._merged = merged
            for name in draft.files:
                self._table.storage.delete(manifests.path(name))
        return written

    def _check_fence(self) -> None:
        self._heartbeat.beat()
        self._table.journal.check(self._attempt, self._clock.now())

    def _check_files(self, changes: Sequence[Change], draft: _Draft) -> None:
        """Checks that the new files, which no snapshot references yet, still exist.

        The fence keeps our own runs from deleting them. Java's orphan file clean deletes files older than a
        day, so data files, of which there may be thousands, are not checked again for a while.

        Raises:
            AttemptFenced: a new file is gone.
        """
        paths = [self._table.manifests.path(name) for name in (*draft.files, *draft.merged)]
        now = self._clock.now()
        if self._looked is None or now - self._looked > _LOOKED_AT_EVERY:
            self._looked = now
            paths += [path for change in changes for path in new_paths(self._table, change)]
        for path, exists in zip(paths, self._table.storage.exist(paths), strict=True):
            if not exists:
                raise AttemptFenced(path, "a new file is gone; something else deletes files of this table")

    def _send(self, draft: _Draft) -> Written:
        statistics = self._table.statistics_of(draft.entries)
        try:
            return self._sender.send(draft.snapshot, draft.base, statistics)
        except CommitUnknown:
            raise
        except LithifyError:
            self._table.manifests.delete((*draft.files, *draft.merged))
            raise

    def _settle(self, snapshot: Snapshot) -> Written:
        """Whether the snapshot stays in place: OURS or REPLACED.

        A Java writer on a local file system, or on S3 without a lock, checks and then renames. One that had
        checked just before us may still have replaced our snapshot. Another commit may have been built on
        ours in between, so its files may only be deleted after checking all snapshots (`sweeping.sweep`).
        """
        path = self._table.snapshots.path(snapshot.id)
        try:
            self._table.snapshots.advance_hint(snapshot.id)
            failpoint("hint-written")
            found = self._table.snapshots.get(snapshot.id)
        except LithifyError as error:
            raise CommitUnknown(path, f"it was written but cannot be read again ({error})") from error
        return Written.OURS if found is None or is_same(found, snapshot) else Written.REPLACED

    def _draft(self, changes: Sequence[Change], base: Snapshot, writer: str) -> _Draft:
        manifests = self._table.manifests
        entries = [entry for change in changes for entry in change.entries()]
        merged = self._merge(manifests.list_files(base), writer)
        failpoint("manifests-merged")
        base_list, base_size = manifests.write_list(merged.manifests, f"manifest-list-{writer}-0")
        delta: list[ManifestFileMeta] = manifests.write(self._recorded(entries), writer, len(merged.written))
        delta_list, delta_size = manifests.write_list(delta, f"manifest-list-{writer}-1")
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
            commit_kind="COMPACT",
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
        return _Draft(snapshot, base, entries, files, merged.written)

    def _changelog(self, changes: Sequence[Change], writer: str, first: int) -> _Changelog | None:
        """Writes the manifests of the changelog, counted from `first`; None if there is no changelog."""
        recorded = (change for change in changes if isinstance(change, BucketChange))
        entries = [entry for change in recorded for entry in change.changelog_entries()]
        if not entries:
            return None
        manifests = self._table.manifests
        written = manifests.write(entries, writer, first)
        name, size = manifests.write_list(written, f"manifest-list-{writer}-2")
        files = (name, *(meta.file_name for meta in written))
        return _Changelog(name, size, sum(entry.file.rows for entry in entries), files)

    def _index_manifest(self, changes: Sequence[Change], base: Snapshot, writer: str) -> str | None:
        """The base's index manifest, or a new one if deletion vectors change."""
        vectors = [
            ((change.bucket.partition, change.bucket.bucket), change.vectors)
            for change in changes
            if isinstance(change, BucketChange)
        ]
        removed = frozenset(index.name for _, each in vectors for index in each.removed)
        added = [(place, index) for place, each in vectors for index in each.written]
        if not removed and not added:
            name: str | None = base.index_manifest
            return name
        return self._table.manifests.write_indexes(base, removed, added, f"index-manifest-{writer}-0")

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
            self._table.manifests.delete(self._merged.written)
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


def _schema_id(statistics: str) -> object:
    """The schema version of table statistics; None if they cannot be read: they are optional."""
    try:
        return parse_object(statistics).get("schemaId")
    except ValueError:
        return None


def _nothing(changes: Sequence[Change], reason: str, tries: int) -> CommitOutcome:
    return CommitOutcome(None, (), {change.bucket: reason for change in changes}, tries)
