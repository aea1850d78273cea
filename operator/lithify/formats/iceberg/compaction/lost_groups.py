"""Finds planned groups that can no longer be committed, by the rules of the commit.

Called by steps while their tasks run, and between steps. Reads nothing where nothing was committed, and else
only the manifests that are new since the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lithify.formats.iceberg.commit.changes import GroupChange
from lithify.formats.iceberg.commit.extension import PLAIN_TABLE, CommitExtension
from lithify.formats.iceberg.commit.rules import NO_BRANCH, conflicts_of
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.plan import IcebergPlan, IcebergUnit
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.snapshots import EMPTY, NO_SNAPSHOT
from lithify.formats.iceberg.table.table import IcebergTable


class LostGroups:
    """The groups of a plan that others have changed since, found again and again while tasks run."""

    def __init__(
        self, table: IcebergTable, plan: IcebergPlan, extension: CommitExtension = PLAIN_TABLE
    ) -> None:
        self._table = table
        self._start = plan.pinned.start
        self._statistics = plan.pinned.statistics
        self._extension = extension
        self._known = plan.pinned.metadata
        self._view = plan.pinned.view
        self._changes = _unwritten(plan.units)
        self._lost: dict[IcebergGroup, str] = {}

    def find(self) -> Mapping[IcebergGroup, str]:
        """The groups that are lost as of now, with the reason; once lost, a group stays so.

        Raises:
            StorageError, CorruptTable: the newest metadata cannot be read.
        """
        metadata = self._table.refresh()
        if metadata is not self._known:  # the same object as long as the catalog names the same file
            self._lost.update(self._conflicts())
            self._known = metadata
        return self._lost

    def _conflicts(self) -> Mapping[IcebergGroup, str]:
        table, left = self._table, {g: c for g, c in self._changes.items() if g not in self._lost}
        head = table.head()
        if head is None:
            return {} if self._start.snapshot == NO_SNAPSHOT else dict.fromkeys(left, NO_BRANCH)
        if head.id != self._start.snapshot:
            reader = ManifestReader(table.storage)
            manifests = reader.manifests(head.manifest_list)
            self._view = reader.view(manifests, self._statistics, self._view)
        return {
            **self._extension.conflicts(left, table.metadata, self._view),
            **conflicts_of(
                left,
                self._start,
                table.metadata,
                table.branch,
                self._view,
                carries_deletes=self._extension.carries_deletes,
            ),
        }


def check_again(
    table: IcebergTable, units: Sequence[IcebergUnit], extension: CommitExtension = PLAIN_TABLE
) -> Mapping[IcebergGroup, str]:
    """Groups whose work could no longer be committed, with the reason; units are of one plan."""
    if not units:
        return {}
    metadata, head, changes = table.refresh(), table.head(), _unwritten(units)
    start, reader = units[0].start, ManifestReader(table.storage)
    if head is None and start.snapshot != NO_SNAPSHOT:
        return dict.fromkeys(changes, NO_BRANCH)
    if extension is PLAIN_TABLE and head is not None and head.id == start.snapshot:
        return {}
    view = reader.view(reader.manifests((head or EMPTY).manifest_list))
    return {
        **extension.conflicts(changes, metadata, view),
        **conflicts_of(
            changes, start, metadata, table.branch, view, carries_deletes=extension.carries_deletes
        ),
    }


def _unwritten(units: Sequence[IcebergUnit]) -> dict[IcebergGroup, GroupChange]:
    """The changes of some units before their new files are known."""
    return {unit.group: GroupChange(unit.group, unit.files, (), unit.kept) for unit in units}
