"""Plans what of a keyed table is merged: which partitions, by which triggers, and the tasks of each.

Called by the adapter. Decides on columns; makes objects for the files of chosen partitions only. Never reads
data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from lithify.clock import Clock, epoch_millis
from lithify.columns.column_groups import Numbers
from lithify.engine.tasks.blocked_groups import blocked_group
from lithify.errors import UnsupportedTable
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.listed_twice import blocks_of
from lithify.formats.iceberg.compaction.plan import plan_of
from lithify.formats.iceberg.table.partition_paths import WHOLE, spec_of
from lithify.formats.mixed.due import Due, due_partitions
from lithify.formats.mixed.file_columns import files_of, fingerprint_in
from lithify.formats.mixed.hive_planning import hive_parts, in_hive, strange_files
from lithify.formats.mixed.keeping import rule_of, with_kept
from lithify.formats.mixed.objects import KeyedObjects
from lithify.formats.mixed.optimized_line import NOTHING_MERGED
from lithify.formats.mixed.sequences import merged_sequence, most_change_files
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.units import MixedPlan, MixedUnit, Subtree
from lithify.formats.mixed.view import MixedView
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.results import Block
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy

MERGED = "its changes are merged, and there is nothing to join"


def plan(table: MixedTable, view: MixedView, selection: Selection, clock: Clock) -> MixedPlan:
    """Plans the partitions of a view, except those that could not be compacted before.

    Raises:
        InvalidOption: an option of the run or the table has no valid value.
    """
    is_full, millis = selection.strategy is Strategy.FULL, epoch_millis(clock.now())
    metadata = table.base.metadata
    files = files_of(view, table.change_metadata, spec_of(metadata, metadata.spec_id))
    options = table.options
    due = due_partitions(files, options, millis, is_full=is_full)
    objects = KeyedObjects(view, options.nodes, by_older=table.in_folders)
    found = [
        in_hive(table, unit, millis)
        for each in due
        for unit in _unit(table, view, objects, each, fingerprint_in(files, each.folder), is_full=is_full)
    ]
    resting = len(view.files.places) - len(found)
    reasons: Mapping[str, int] = {MERGED if is_full else NO_TRIGGER: resting} if resting > 0 else {}

    def blocks(tried: Sequence[MixedUnit]) -> Iterator[Block]:
        yield from blocks_of(table.name, tried, view.base.repeated)
        yield from _unreadable(table, tried)

    return plan_of(view.base, found, reasons, selection.held, blocks)


def _unit(
    table: MixedTable,
    view: MixedView,
    objects: KeyedObjects,
    due: Due,
    fingerprint: str,
    *,
    is_full: bool,
) -> Iterator[MixedUnit]:
    """The unit of a partition; nothing if there is nothing to merge."""
    rows = _merged_rows(view, due.folder, most_change_files(table.properties))
    if table.hive is not None:
        parts = hive_parts(table, tuple(objects.subtrees(rows)))
    else:
        every = objects.subtrees(rows) if is_full else _minor(table, objects.subtrees(rows))
        parts = tuple(part for part in every if part.is_worth_it)
    if not parts:
        return
    changes = [each.file.sequence for part in parts for each in (*part.inserts, *part.deletes)]
    found = next(each.file.partition for part in parts for each in (*part.rows, *part.deletes))
    partition = replace(found, spec_id=view.base.start.spec_id)  # the change store may number it otherwise
    yield MixedUnit(
        group=IcebergGroup(due.folder or WHOLE, fingerprint, table.keys.values_of(due.folder)),
        files=tuple(each.file for part in parts for each in part.base),
        partition=partition,
        split_size=0,
        trigger=due.trigger,
        reason=due.reason,
        start=view.base.start,
        subtrees=parts,
        folder=due.folder,
        line=view.line.sequence_of(due.folder),
        to_sequence=max(changes, default=NOTHING_MERGED),
        change=view.change_snapshot,
    )


def _minor(table: MixedTable, parts: Iterable[Subtree]) -> list[Subtree]:
    """The subtrees of a partition, without the base files that a minor compaction keeps."""
    every = [*parts]
    rule = rule_of(table.options, has_changes=any(part.inserts or part.deletes for part in every))
    return [with_kept(part, rule) for part in every]


def _merged_rows(view: MixedView, folder: str, most: int) -> Numbers:
    """The files of a partition that are merged: if there are too many changes, the first of them."""
    files = view.files
    own = np.flatnonzero(files.place == files.places.index(folder))
    changes = own[~files.is_base[own]]
    if not len(changes):
        return own
    last = merged_sequence(files.sequences[changes], files.transactions[changes], most)
    return np.asarray(own[files.is_base[own] | (files.sequences[own] <= last)])


def _unreadable(table: MixedTable, units: Sequence[MixedUnit]) -> Iterator[Block]:
    """Partitions that readers would read in another way after a merge."""
    for unit in units:
        problem = _problem(table, unit)
        if problem is not None:
            error = UnsupportedTable(table.name, (problem,))
            told = blocked_group(table.name, unit.group.path, error, unit.group.fingerprint)
            yield Block(unit.group, error, told)


def _problem(table: MixedTable, unit: MixedUnit) -> str | None:
    """Why a partition cannot be merged; None if it can."""
    assert unit.partition is not None  # noqa: S101  # keyed tables have one spec
    return table.keys.problem_of(unit.partition, by_older=table.in_folders) or strange_files(table, unit)
