"""Removes consumed files from the change store of a keyed table, at most once a day.

Called by the adapter when a run begins, after the clean-up of dead attempts; also in runs that merge nothing.
It must never fail a run. `change_expiry` chooses the files.

Removes only their entries in manifests, by one snapshot of operation `delete`. The files stay until somebody
expires the older snapshots of the change store. Until then readers of these find everything, and so do older
snapshots of base that reference files of the change store. An attempt is recorded in the change store's
journal, so that a later run deletes the manifests of one that was killed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import uuid4

import numpy as np

from lithify.clock import Clock, epoch_millis
from lithify.columns.column_groups import Numbers, integers, taken
from lithify.engine.attempts.heartbeat import Heartbeat
from lithify.engine.commit import loop
from lithify.engine.commit.patience import backoff_of
from lithify.engine.maintenance.own_commit import OwnAttempt
from lithify.errors import LithifyError, MissingFile
from lithify.faults import failpoint
from lithify.formats.iceberg.attempts.scope import Scope, journal_of
from lithify.formats.iceberg.commit.changes import GroupChange
from lithify.formats.iceberg.commit.committer import Committer
from lithify.formats.iceberg.commit.options import commit_patience
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.plan import PinnedView
from lithify.formats.iceberg.compaction.planning import pin_snapshot
from lithify.formats.iceberg.manifests.delete_index import delete_index
from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.metadata_files import read_metadata
from lithify.formats.iceberg.table.partition_paths import WHOLE, spec_of
from lithify.formats.iceberg.table.snapshots import ATTEMPT, BASE, EMPTY, Snapshot
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.mixed.change_expiry import (
    SETTLED_MILLIS,
    expired_rows,
    metadata_file_at,
    millis_to_live,
    referenced,
)
from lithify.formats.mixed.expiry_commit import ExpiryCommit
from lithify.formats.mixed.optimized_line import OptimizedLine
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.view import folders_of

EXPIRY = "lithify.change-expiry"
"""Field of the summary of an expiry's snapshot: whether it removed all files that may leave."""
_ALL, _SOME = "all", "some"
_DAY_MILLIS = 24 * 3_600_000
_MOST_FILES = 50_000
"""Files of one expiry, which bounds the memory for their objects. The next run removes the others."""


def expire_changes(table: MixedTable, clock: Clock) -> tuple[str, ...]:
    """Removes the files that may leave the change store; returns why that failed, for people."""
    try:
        _expire(table, clock)
    except LithifyError as error:
        return (f"consumed files of the change store stay: {error}",)
    return ()


def _expire(table: MixedTable, clock: Clock) -> None:
    now, to_live = epoch_millis(clock.now()), millis_to_live(table.properties)
    change = table.refresh().change
    head = None if change is None else change.head()
    if to_live is None or change is None or head is None or _rests(change, now):
        return
    lines = _settled_lines(table, now)
    if not lines:
        return
    pinned = pin_snapshot(change, head)
    rows = _expired(table, pinned, lines, now - to_live)
    if len(rows):
        _commit(table, change, pinned, rows[:_MOST_FILES], _ALL if len(rows) <= _MOST_FILES else _SOME, clock)


def _rests(change: IcebergTable, now: int) -> bool:
    """Whether the last expiry was less than a day ago and left nothing."""
    last = next((each for each in change.metadata.ancestry(change.branch) if EXPIRY in each.summary), None)
    return last is not None and last.summary[EXPIRY] == _ALL and now - last.millis < _DAY_MILLIS


def _settled_lines(table: MixedTable, now: int) -> tuple[OptimizedLine, ...]:
    """The line of now, and the one that readers may still have; none if the latter is not known."""
    metadata = table.base.metadata
    path = metadata_file_at(metadata, now - SETTLED_MILLIS)
    if path is None:
        return ()
    if path == metadata.file:
        return (table.read_line(metadata),)
    try:
        return table.read_line(metadata), table.read_line(read_metadata(table.storage, path))
    except MissingFile:
        return ()


def _expired(table: MixedTable, pinned: PinnedView, lines: tuple[OptimizedLine, ...], before: int) -> Numbers:
    """The rows of the files that may leave."""
    metadata, files = pinned.metadata, pinned.view.data
    folders = folders_of(pinned.view, files, spec_of(metadata, metadata.spec_id))
    moments = {number: each.millis for number, each in metadata.snapshots.items()}
    rows = expired_rows(files, folders, lines, moments, before)
    if not len(rows):
        return rows
    # Base was loaded with its line: later commits to it only move files in that are above this line.
    base = _paths_of(table.base, table.base.head() or EMPTY)
    return np.asarray(rows[~referenced(taken(files.select(["file_path"]), rows)["file_path"], base)])


def _paths_of(store: IcebergTable, head: Snapshot) -> object:
    reader = ManifestReader(store.storage)
    return reader.view(reader.manifests(head.manifest_list)).data["file_path"]


def _commit(
    table: MixedTable, change: IcebergTable, pinned: PinnedView, rows: Numbers, what: str, clock: Clock
) -> None:
    start = pinned.start
    change.check_writable()
    changes, folders = _changes(table, pinned, rows)
    # A file of each group tells whether a late commit would be refused.
    inputs = {group.path: (each.inputs[0].path,) for group, each in changes.items()}
    scope = Scope(start.snapshot, start.sequence, change.branch, inputs)
    journal = journal_of(change)
    attempt = journal.begin(f"expiry-{uuid4().hex}", scope, clock.now())
    failpoint("journal-written")
    notes = {ATTEMPT: attempt.prefix, BASE: str(start.snapshot), EXPIRY: what}
    fence = Heartbeat(journal, attempt, clock).check
    extension = ExpiryCommit(table, folders)
    committer = Committer(change, attempt.prefix, start, lambda _: notes, fence, clock, extension)
    patience = commit_patience(change.properties)
    outcome = loop.commit(committer, changes, backoff_of(attempt.prefix, patience, clock))
    OwnAttempt(journal, attempt, clock).end(outcome)


def _changes(
    table: MixedTable, pinned: PinnedView, rows: Numbers
) -> tuple[Mapping[IcebergGroup, GroupChange], Mapping[IcebergGroup, str]]:
    """The files that leave, by partition, and the partition of each group."""
    metadata = pinned.metadata
    view = replace(pinned.view, deletes=pinned.view.deletes.slice(0, 0))
    objects = FileObjects(view, delete_index(view.data, view.deletes, metadata.unpartitioned_specs))
    places = folders_of(view, view.data, spec_of(metadata, metadata.spec_id))
    numbers = integers(view.data["partition"])[rows]
    changes, folders = {}, {}
    for number in np.unique(numbers).tolist():
        folder = places[number]
        group = IcebergGroup(folder or WHOLE, "", table.keys.values_of(folder))
        changes[group] = GroupChange(group, tuple(objects.data_files(rows[numbers == number])), ())
        folders[group] = folder
    return changes, folders
