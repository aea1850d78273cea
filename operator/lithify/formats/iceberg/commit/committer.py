"""Commits the changes of a step as one snapshot: Iceberg's hooks of `engine.commit.loop`.

Called by steps. Every try is validated from the planned snapshot and built on the newest one. Files are
deleted only when it is certain that no snapshot references them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np

from lithify.clock import Clock
from lithify.columns.column_groups import Flags, flagged, integers, is_null, is_one_of, listed
from lithify.engine.attempts.names import writer_id
from lithify.engine.commit.loop import Validation
from lithify.errors import AttemptFenced, MissingFile
from lithify.faults import failpoint
from lithify.formats.iceberg.commit.changes import GroupChange, Start
from lithify.formats.iceberg.commit.drafts import Base, Drafts, new_id
from lithify.formats.iceberg.commit.extension import PLAIN_TABLE, TURNS_EQUALITY, CommitExtension
from lithify.formats.iceberg.commit.late import DeleteCarrier
from lithify.formats.iceberg.commit.publisher import Draft, SnapshotPublisher
from lithify.formats.iceberg.commit.rules import NO_BRANCH, conflicts_of
from lithify.formats.iceberg.commit.snapshot_files import KnownManifests, Replacement, SnapshotFiles
from lithify.formats.iceberg.commit.summary import FileCounts, summary_of
from lithify.formats.iceberg.manifests.dropping import covered_deletes, dropped_deletes
from lithify.formats.iceberg.manifests.new_entries import NewFile
from lithify.formats.iceberg.manifests.view import ManifestReader, View
from lithify.formats.iceberg.model import Content, DeleteKey, NewDeleteFile
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import CARRIED, MINOR, NO_SNAPSHOT, TO_COME, UNFINISHED, Snapshot
from lithify.formats.iceberg.table.table import IcebergTable

_ROUNDS = 5
_SHORT = timedelta(seconds=0.2)
"""How often a commit catches up before its first try, and after how short a round it stops."""


class Committer:
    """The hooks for one attempt.

    Args:
        table: the table.
        prefix: the attempt's prefix of file names.
        start: the state on which its groups were planned.
        notes: the fields of the summary by which the run finds its snapshot, of the committed groups.
        check_fence: raises `AttemptFenced` if the attempt may not commit any more.
        clock: source of commit times.
        extension: what the table's format adds.
        carrier: carries late deletes over to new files; None if they are conflicts.
    """

    def __init__(
        self,
        table: IcebergTable,
        prefix: str,
        start: Start,
        notes: Callable[[Collection[Any]], Mapping[str, str]],
        check_fence: Callable[[], None],
        clock: Clock,
        extension: CommitExtension = PLAIN_TABLE,
        carrier: DeleteCarrier | None = None,
    ) -> None:
        self._table = table
        self._prefix = prefix
        self._start = start
        self._notes = notes
        self._check_fence = check_fence
        self._drafts = Drafts(table, clock)
        self._extension = extension
        self._reader = ManifestReader(table.storage)
        self._carrier = carrier
        self._carried: Sequence[NewDeleteFile] = ()
        self._prepared: tuple[View, Replacement] | None = None
        self._view: View | None = None
        self._known = KnownManifests()
        self._is_last = True

    @property
    def table(self) -> str:
        """The table's name."""
        return self._table.name

    @property
    def publisher(self) -> SnapshotPublisher:
        """Sends snapshots to the catalog."""
        return SnapshotPublisher(self._table, self._check_fence)

    def announce(self, *, is_last: bool) -> None:
        """Says whether the attempt commits another portion after this one; see `PortionHooks`."""
        self._is_last = is_last

    def newest(self) -> Base | None:
        """The newest snapshot of the branch; None if it has none, and had one when the run was planned."""
        return self._drafts.newest(may_be_empty=self._start.snapshot == NO_SNAPSHOT)

    def exists(self, base: Base) -> bool:
        """Whether a snapshot has not expired."""
        return self._drafts.exists(base)

    def validate(self, changes: Mapping[Any, GroupChange], base: Base | None) -> Validation[GroupChange]:
        """The changes that the newest snapshot admits, by the rules of `rules` and those of the format."""
        if base is None:
            return Validation({}, dict.fromkeys(changes, NO_BRANCH))
        view = self._view_of(base)
        carries = self._carrier is not None
        conflicts = {
            **self._extension.conflicts(changes, base.metadata, view),
            **conflicts_of(
                changes, self._start, base.metadata, self._table.branch, view, carries_deletes=carries
            ),
        }
        ready = {group: change for group, change in changes.items() if group not in conflicts}
        if self._carrier is None:
            return Validation(self._unless_empty(ready, view, base), conflicts)
        carried = self._carrier.carry(ready, view, lambda: self.exists(base))
        failpoint("late-deletes-read")
        left = self._unless_empty(carried.ready, view, base)
        return Validation(left, {**conflicts, **carried.conflicts})

    def _unless_empty(
        self, changes: Mapping[Any, GroupChange], view: View, base: Base
    ) -> Mapping[Any, GroupChange]:
        """The changes; none if they change nothing: equality deletes are gone, or are needed further."""
        has_files = any(change.inputs or change.outputs or change.deletes for change in changes.values())
        if has_files or self._extension.changes_metadata:
            return changes
        return changes if self._replacement([*changes.values()], view, base.metadata).deletes.any() else {}

    def catch_up(self, changes: Mapping[Any, GroupChange]) -> None:
        """Reads what a try would have to read, so that the first one reads only what came since.

        Repeats that until nobody has committed meanwhile, or it takes no longer than a writer may need
        between two commits. Others may commit every second; what a try reads between the head and its own
        commit decides whether it is outrun.
        """
        clock, read = self._drafts.clock, None
        for _ in range(_ROUNDS if self._carrier is not None else 0):
            began, base = clock.now(), self.newest()
            if base is not None and base.parent == read:
                return
            with suppress(MissingFile):  # it expired while being read
                self.validate(changes, base)
            if clock.now() - began < _SHORT:
                return
            read = None if base is None else base.parent

    def prepare(self, changes: Mapping[Any, GroupChange], base: Base, number: int) -> Draft:
        """Writes manifests, their list and, unless a server does, the metadata file."""
        ready = [*changes.values()]
        view, snapshot_id = self._view_of(base), new_id(base.metadata)
        writer = writer_id(self._prefix, number)
        files = SnapshotFiles(
            self._table.storage, self._reader, base.metadata, view, snapshot_id, writer, self._known
        )
        try:
            self._carried = self._carry(ready, base.metadata, files)
            replacement = self._replacement(ready, view, base.metadata)
            self._prepared = view, replacement
            written = files.write(replacement, self._start, base.parent, base.following)
            failpoint("manifests-written")
            further = self._extension.changes(changes.keys(), base.metadata, files)
            summary = {**self._summary(changes, replacement, view, base.head), **further.summary}
            snapshot = self._drafts.snapshot(base, snapshot_id, written, summary)
            draft = self._drafts.draft(base, snapshot, files, writer, further)
            self._table.storage.persist(draft.paths)
            self._check_outputs(replacement)
            self._check_fence()  # last: a run that condemns this attempt from here on finds its snapshot
        except BaseException:
            self._drafts.delete(files.paths)
            raise
        return draft

    @property
    def carried(self) -> Sequence[NewDeleteFile]:
        """The deletes of new files, and of files that stay, that the last try has carried over."""
        return self._carried

    @property
    def removed_deletes(self) -> Collection[DeleteKey]:
        """The delete files and vectors that the last try has removed."""
        if self._prepared is None:
            return frozenset()
        view, replacement = self._prepared
        gone = flagged(view.deletes.select(["file_path", "content_offset"]), replacement.deletes)
        return frozenset(zip(listed(gone["file_path"]), listed(gone["content_offset"]), strict=True))

    def discard(self, draft: Draft) -> None:
        """Deletes the metadata files of a try, unless a copy of its request may have been carried out."""
        if self.publisher.never_was_in_place(draft):
            self._drafts.delete(draft.paths)

    def _view_of(self, base: Base) -> View:
        """The live files of a snapshot; manifests of the last try are not read again."""
        manifests = self._reader.manifests(base.head.manifest_list)
        self._view = self._reader.view(manifests, previous=self._view)
        return self._view

    def _carry(
        self, changes: Sequence[GroupChange], metadata: TableMetadata, files: SnapshotFiles
    ) -> Sequence[NewDeleteFile]:
        """Writes the deletes that late deletes have become: of new files, and of files that stay."""
        if self._carrier is None or not any(change.late for change in changes):
            return ()
        carried = self._carrier.write(changes, metadata, files.writer)
        files.paths += dict.fromkeys(each.path for each in carried)
        failpoint("late-deletes-written")
        return carried

    def _replacement(
        self, changes: Sequence[GroupChange], view: View, metadata: TableMetadata
    ) -> Replacement:
        inputs = [file.path for change in changes for file in change.inputs]
        outputs = tuple(file for change in changes for file in change.outputs)
        removed = is_one_of(view.data["file_path"], inputs)
        new = self._start.sequence if outputs else None
        written = [file for change in changes for file in change.deletes]
        replaced = [path for file in written for path in file.replaced]
        united = {path for change in changes for path in change.late}
        added = (*(file for file in written if file.referenced not in united), *self._carried)
        # A new vector has all deleted positions of its data file: those of the plan, and late ones.
        vectors = [each.referenced for each in added if each.is_vector and each.referenced]
        specs = metadata.unpartitioned_specs
        dropped = dropped_deletes(view, ~removed, new, specs, vectors)
        dropped |= is_one_of(view.deletes["file_path"], replaced)
        dropped |= is_one_of(view.deletes["referenced"], vectors)
        for content, covered in (
            (Content.EQUALITY_DELETES, [path for change in changes for path in change.covered]),
            (Content.POSITION_DELETES, [path for change in changes for path in change.freed]),
        ):
            if covered:
                exposed = ~removed & ~is_one_of(view.data["file_path"], covered)
                until = self._start.sequence
                dropped |= covered_deletes(view, exposed, content, until, new, specs, vectors)
        return Replacement(outputs, removed, dropped, added)

    def _summary(
        self, changes: Mapping[Any, GroupChange], replacement: Replacement, view: View, before: Snapshot
    ) -> dict[str, str]:
        outputs, deletes = replacement.outputs, replacement.added_deletes
        added = FileCounts(
            data_files=len(outputs),
            records=sum(each.rows for each in outputs),
            size=sum(each.size for each in outputs) + sum(each.own_size for each in deletes),
            position_files=sum(not each.is_vector for each in deletes),
            vectors=sum(each.is_vector for each in deletes),
            positions=sum(each.rows for each in deletes),
        )
        removed = removed_files(view, replacement.data, replacement.deletes)
        partitions = {file.partition for change in changes.values() for file in change.inputs}
        partitions |= {file.partition for file in outputs} | {file.partition for file in deletes}
        kept = {file.path for change in changes.values() for file in change.kept}
        carried = sum(each.rows for each in self._carried if each.referenced not in kept)
        notes = {**self._notes(changes.keys()), **({CARRIED: str(carried)} if carried else {})}
        if not self._is_last:
            notes |= {UNFINISHED: "true", TO_COME: notes.get(TO_COME, "1")}
        if self._extension is TURNS_EQUALITY:
            notes[MINOR] = "true"
        operation = self._extension.operation
        return summary_of(added, removed, before.summary, len(partitions), notes, operation)

    def _check_outputs(self, replacement: Replacement) -> None:
        """Checks that the new files, which no snapshot references yet, still exist.

        The fence keeps our own runs from deleting them; clean-ups of other engines delete what is old.

        Raises:
            AttemptFenced: one is gone.
        """
        new: list[NewFile] = [*replacement.outputs, *replacement.added_deletes]
        paths = [*dict.fromkeys(file.path for file in new)]
        for path, exists in zip(paths, self._table.storage.exist(paths), strict=True):
            if not exists:
                raise AttemptFenced(path, "a new file is gone; something else deletes files of this table")


def removed_files(view: View, data: Flags, deletes: Flags) -> FileCounts:
    """The figures of the files that a snapshot removes."""
    files, marks = flagged(view.data, data), flagged(view.deletes, deletes)
    content, counts = integers(marks["content"]), integers(marks["record_count"])
    is_vector = ~is_null(marks["content_offset"])
    is_equality = content == Content.EQUALITY_DELETES
    sizes = np.where(
        is_vector, integers(marks["content_size_in_bytes"]), integers(marks["file_size_in_bytes"])
    )
    return FileCounts(
        data_files=len(files),
        records=int(integers(files["record_count"]).sum()),
        size=int(integers(files["file_size_in_bytes"]).sum() + sizes.sum()),
        position_files=int((~is_equality & ~is_vector).sum()),
        vectors=int(is_vector.sum()),
        positions=int(counts[~is_equality].sum()),
        equality_files=int(is_equality.sum()),
        equality_rows=int(counts[is_equality].sum()),
    )
