"""Plans what of a keyed table is merged: which partitions, by which triggers, and the tasks of each.

Called by the adapter. Decides on columns; makes objects for the files of chosen partitions only. Never reads
data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from lithify.clock import Clock
from lithify.columns.column_groups import Numbers
from lithify.formats.iceberg.compaction.groups import IcebergGroup, group_of
from lithify.formats.iceberg.compaction.plan import IcebergPlan
from lithify.formats.iceberg.manifests.delete_index import delete_index
from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.model import DataFile, DeleteFile
from lithify.formats.iceberg.table.partition_paths import place_of, spec_of
from lithify.formats.iceberg.table.partition_values import seam_spec, seam_values
from lithify.formats.mixed.due import DuePartition, due_partitions
from lithify.formats.mixed.file_names import FileKind, names_in_base
from lithify.formats.mixed.nodes import is_ancestor_or_same, subtrees
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.units import KeyedFile, MixedUnit, Subtree
from lithify.formats.mixed.view import KeyedColumns, MixedView
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy

MERGED = "its changes are merged, and no file of it is small or has deletes"


@dataclass(frozen=True, slots=True)
class MixedPlan(IcebergPlan):
    """The work of a run at a keyed table.

    Attributes:
        view: the state that was planned on.
    """

    view: MixedView

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the state that was planned on."""
        return self.view.snapshot_id


def plan(table: MixedTable, view: MixedView, selection: Selection, clock: Clock) -> MixedPlan:
    """Plans the partitions of a view, except those that could not be compacted before.

    Raises:
        InvalidOption: an option of the run or the table has no valid value.
    """
    is_full = selection.strategy is Strategy.FULL
    due = due_partitions(table, view, clock.now(), is_full=is_full)
    found = [*_units(table, view, due)]
    held = [unit.group for unit in found if selection.held.get(unit.group.path) == unit.group.fingerprint]
    chosen = tuple(unit for unit in found if unit.group not in held)
    resting = len(view.files.places) - len(found)
    reasons: Mapping[str, int] = {MERGED if is_full else NO_TRIGGER: resting} if resting > 0 else {}
    return MixedPlan(view.base, chosen, reasons, tuple(held), view=view)


def _units(table: MixedTable, view: MixedView, due: list[DuePartition]) -> Iterator[MixedUnit]:
    objects = KeyedObjects(table, view)
    for each in due:
        rows = objects.merged(each.rows)
        parts = tuple(part for part in objects.subtrees(rows) if is_worth_it(part))
        if parts:
            yield _unit(table, view, each, parts)


def is_worth_it(part: Subtree) -> bool:
    """Whether a subtree has anything to merge: changes, deletes, or several files."""
    files = part.base
    return bool(part.inserts or part.deletes or len(files) > 1 or any(each.file.deletes for each in files))


def _unit(table: MixedTable, view: MixedView, due: DuePartition, parts: tuple[Subtree, ...]) -> MixedUnit:
    metadata, spec_id = view.base.metadata, view.base.start.spec_id
    stored = spec_of(metadata, spec_id)
    every = [each.file for part in parts for each in (*part.rows, *part.deletes)]
    partition = every[0].partition
    values = seam_values(seam_spec(metadata, spec_id, stored), stored, partition)
    changes = [each for part in parts for each in (*part.inserts, *part.deletes)]
    return MixedUnit(
        group=group_of(every, place_of(partition, stored), values),
        files=tuple(each.file for part in parts for each in part.base),
        partition=partition,
        split_size=0,
        trigger=due.trigger,
        reason=due.reason,
        start=view.base.start,
        subtrees=parts,
        folder=due.folder,
        line=view.line.sequence_of(due.folder),
        to_sequence=max((each.file.sequence for each in changes), default=NOTHING_MERGED),
    )
