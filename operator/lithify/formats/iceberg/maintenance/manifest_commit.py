"""Commits merged manifests as a snapshot that changes no rows: the hooks of `engine.commit.loop`.

Called by `manifest_merge`. The snapshot is that of Iceberg's `BaseRewriteManifests`: operation `replace`, new
manifests before those that stay. It may also remove delete files that no data file needs (`dropping`). A try
that another commit outran keeps its manifests of data files: they stay right as long as the newest snapshot
names those that they replace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lithify.clock import Clock
from lithify.engine.attempts.heartbeat import Heartbeat
from lithify.engine.attempts.names import writer_id
from lithify.engine.commit.loop import Validation
from lithify.faults import failpoint
from lithify.formats.iceberg.attempts.scope import IcebergAttempt, journal_of
from lithify.formats.iceberg.commit.committer import removed_files
from lithify.formats.iceberg.commit.drafts import Base, Drafts, new_id
from lithify.formats.iceberg.commit.publisher import Draft, SnapshotPublisher
from lithify.formats.iceberg.commit.rules import NO_BRANCH
from lithify.formats.iceberg.commit.snapshot_files import SnapshotFiles
from lithify.formats.iceberg.commit.summary import FileCounts, summary_of
from lithify.formats.iceberg.maintenance.manifest_rewriting import ManifestRewriter
from lithify.formats.iceberg.maintenance.manifest_selection import (
    Group,
    Selection,
    needs_entries,
    select_manifests,
)
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile
from lithify.formats.iceberg.manifests.merging import merge_options
from lithify.formats.iceberg.manifests.view import ManifestReader, View
from lithify.formats.iceberg.table.snapshots import ATTEMPT, BASE, REPLACE, RUN
from lithify.formats.iceberg.table.table import IcebergTable

MANIFESTS = "manifests"
"""The only group of the commit."""
NOTHING_GAINED = "others have merged the manifests"


@dataclass(frozen=True, slots=True)
class Merged:
    """One group of manifests after it was rewritten."""

    group: Group
    new: tuple[ManifestFile, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """What a try rewrites: the selection, and the entries that it was made from."""

    selection: Selection
    view: View
    manifests: tuple[ManifestFile, ...]


class ManifestCommitter:
    """Commits the merge of one attempt.

    Attributes:
        figures: what was rewritten in the last try.

    Args:
        table: the table.
        attempt: the journal entry.
        clock: source of commit times.
        memory: bytes of entries that are held at a time.
    """

    def __init__(self, table: IcebergTable, attempt: IcebergAttempt, clock: Clock, memory: int) -> None:
        self.figures: dict[str, int] = {}
        self._table = table
        self._attempt = attempt
        self._memory = memory
        self._heartbeat = Heartbeat(journal_of(table), attempt, clock)
        self._drafts = Drafts(table, clock)
        self._reader = ManifestReader(table.storage)
        self._view: View | None = None
        self._kept: dict[int, Merged] = {}
        self._kept_paths: list[str] = []

    @property
    def table(self) -> str:
        """The table's name."""
        return self._table.name

    @property
    def publisher(self) -> SnapshotPublisher:
        """Sends snapshots to the catalog."""
        return SnapshotPublisher(self._table, self._heartbeat.check)

    def newest(self) -> Base | None:
        """The newest snapshot of the branch."""
        return self._drafts.newest()

    def exists(self, base: Base) -> bool:
        """Whether a snapshot has not expired."""
        return self._drafts.exists(base)

    def validate(self, changes: Mapping[str, Planned], base: Base | None) -> Validation[Planned]:
        """What is rewritten of the newest snapshot: as in the last try, or selected again."""
        if base is None:
            return Validation({}, dict.fromkeys(changes, NO_BRANCH))
        manifests = self._reader.manifests(base.head.manifest_list)
        paths = {each.path for each in manifests}
        if not all(each.path in paths for merged in self._kept.values() for each in merged.group.chosen):
            self.forget()
        planned = plan_merge(self._table, self._reader, base, manifests, self._view)
        self._view = planned.view
        if self._kept:
            return Validation({MANIFESTS: self._with_kept(planned)}, {})
        if not planned.selection.is_worthwhile:
            return Validation({}, dict.fromkeys(changes, NOTHING_GAINED))
        return Validation({MANIFESTS: planned}, {})

    def _with_kept(self, planned: Planned) -> Planned:
        """The groups of data files that were rewritten before, and the deletes as they are now."""
        found = [each for each in planned.selection.groups if each.place[0] is ManifestContent.DELETES]
        groups = (*(merged.group for merged in self._kept.values()), *found)
        return replace(planned, selection=replace(planned.selection, groups=groups))

    def prepare(self, changes: Mapping[str, Planned], base: Base, number: int) -> Draft:
        """Writes manifests, their list and, unless a server does, the metadata file."""
        planned, snapshot_id = changes[MANIFESTS], new_id(base.metadata)
        files, kept = (
            SnapshotFiles(
                self._table.storage,
                self._reader,
                base.metadata,
                planned.view,
                snapshot_id,
                writer_id(self._attempt.prefix, number, attempt),
            )
            for attempt in (0, 1)
        )
        try:
            merged = self._rewritten(planned, files, kept)
            failpoint("manifests-merged")
            manifests = _listed(planned, merged, snapshot_id)
            written = files.write_list(manifests, base.parent, base.following)
            failpoint("manifests-written")
            summary = self._summary(planned, merged, base, len(manifests))
            snapshot = self._drafts.snapshot(base, snapshot_id, written, summary)
            draft = self._drafts.draft(base, snapshot, files, files.writer)
            self._table.storage.persist([*draft.paths, *self._kept_paths])
            self._heartbeat.check()  # last: a run that condemns this attempt from here on finds its snapshot
        except BaseException:
            self._drafts.delete([*files.paths, *kept.paths])
            self.forget()
            raise
        return draft

    def _rewritten(self, planned: Planned, files: SnapshotFiles, kept: SnapshotFiles) -> list[Merged]:
        """Rewrites what no earlier try has; manifests of data files are kept for the next one."""
        rewriter = ManifestRewriter(
            self._reader,
            planned.view,
            planned.selection,
            merge_options(self._table.properties).target_size,
            self._memory,
            self._heartbeat.beat,
        )
        found = []
        for group in planned.selection.groups:
            content, spec_id = group.place
            if content is ManifestContent.DELETES:
                found.append(Merged(group, tuple(rewriter.rewrite(group, files))))
                continue
            if spec_id not in self._kept:
                self._kept[spec_id] = Merged(group, tuple(rewriter.rewrite(group, kept)))
                self._kept_paths += [each.path for each in self._kept[spec_id].new]
            found.append(self._kept[spec_id])
        return found

    def discard(self, draft: Draft) -> None:
        """Deletes the metadata files of a try, unless a copy of its request may have been carried out."""
        if self.publisher.never_was_in_place(draft):
            self._drafts.delete(draft.paths)
        else:
            self._kept_paths.clear()

    def forget(self) -> None:
        """Deletes rewritten manifests that certainly are in no snapshot."""
        self._drafts.delete(self._kept_paths)
        self._kept_paths.clear()
        self._kept.clear()

    def _summary(self, planned: Planned, merged: Sequence[Merged], base: Base, listed: int) -> dict[str, str]:
        """The figures of Iceberg's own rewrites of manifests, and those of dropped delete files."""
        dangling = planned.selection.dangling
        created = sum(len(each.new) for each in merged)
        dropped = FileCounts()
        partitions = 0
        if dangling.any():
            none = np.zeros(len(planned.view.data), dtype=bool)
            dropped = removed_files(planned.view, none, dangling)
            partitions = len(set(planned.view.deletes["partition"].to_numpy()[dangling].tolist()))
        self.figures = {**planned.selection.figures, "newManifests": created}
        notes = {
            "manifests-created": str(created),
            "manifests-kept": str(listed - created),
            "manifests-replaced": str(self.figures["manifests"]),
            "entries-processed": str(self.figures["entries"] - self.figures["droppedEntries"]),
            RUN: self._attempt.run,
            ATTEMPT: self._attempt.prefix,
            BASE: str(self._attempt.scope.base),
        }
        return summary_of(FileCounts(), dropped, base.head.summary, partitions, notes, REPLACE)


def plan_merge(
    table: IcebergTable,
    reader: ManifestReader,
    base: Base,
    manifests: tuple[ManifestFile, ...],
    previous: View | None = None,
) -> Planned:
    """What a merge rewrites of a snapshot; decoded manifests of an earlier view are not read again.

    Raises:
        MissingFile: a manifest is gone; the snapshot may have expired concurrently.
        CorruptTable: a manifest cannot be read.
        InvalidOption: a property of the table is no number.
    """
    target = merge_options(table.properties).target_size
    if needs_entries(manifests):
        view = reader.view(manifests, previous=previous)
        return Planned(select_manifests(manifests, base.metadata, view, target), view, manifests)
    selection = select_manifests(manifests, base.metadata, None, target)
    groups = selection.groups if selection.is_worthwhile else ()
    chosen = [each for group in groups for each in group.chosen]
    return Planned(selection, reader.view(chosen, previous=previous), manifests)


def _listed(planned: Planned, merged: Sequence[Merged], snapshot_id: int) -> list[ManifestFile]:
    """The manifests of the new snapshot: of each kind the new ones first, as Iceberg lists them."""
    replaced = {each.path for one in merged for each in one.group.chosen}
    found: list[ManifestFile] = []
    for content in ManifestContent:
        for one in merged:
            if one.group.place[0] is content:
                found += [replace(each, snapshot_id=snapshot_id) for each in one.new]
        found += [each for each in planned.manifests if each.content is content and each.path not in replaced]
    return found
