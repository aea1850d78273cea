"""Pins the newest snapshot of an Iceberg table and plans what of it is rewritten.

Called by the adapter. Reads manifests, never data files; `planning` decides, on columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from lithify.clock import Clock, epoch_millis
from lithify.formats.iceberg.commit.changes import Start
from lithify.formats.iceberg.compaction.groups import IcebergGroup, group_of
from lithify.formats.iceberg.compaction.listed_twice import blocks_of, repeated_paths
from lithify.formats.iceberg.compaction.minor_planning import dropping_units, minor_units
from lithify.formats.iceberg.compaction.plan import IcebergPlan, IcebergUnit, PinnedView, plan_of
from lithify.formats.iceberg.compaction.selecting import Chosen, chosen_by, chosen_with, only
from lithify.formats.iceberg.manifests.delete_index import delete_index
from lithify.formats.iceberg.manifests.dropping import dangling_deletes
from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile
from lithify.formats.iceberg.manifests.view import ManifestReader, Statistics, View
from lithify.formats.iceberg.model import DataFile
from lithify.formats.iceberg.planning.columns import (
    clustered_columns,
    compared_columns,
    needed_statistics,
)
from lithify.formats.iceberg.planning.figures import figures_of
from lithify.formats.iceberg.planning.options import REWRITE_ALL, PlanningOptions, planning_options
from lithify.formats.iceberg.planning.plan import RewritePlan, plan_rewrites
from lithify.formats.iceberg.planning.units import RewriteUnit, units
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import OLDER_SPECS, WHOLE, place_of, spec_of
from lithify.formats.iceberg.table.partition_values import seam_spec, seam_values
from lithify.formats.iceberg.table.row_orders import RowOrder, row_order
from lithify.formats.iceberg.table.schema_columns import schema_columns
from lithify.formats.iceberg.table.snapshots import Snapshot
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy

FULL = "Full"
ONE_GOOD_FILE = "there is one file of a good size, without deletes"


def pin_view(table: IcebergTable, selection: Selection) -> PinnedView | None:
    """Pins the newest snapshot with the selected partitions; None if there is none.

    Raises:
        InvalidOption: the selection names a column that is not a partition field, a text that is no value of
            it, or buckets.
    """
    table.refresh()
    return _newest(table, chosen_by(selection, table.name, table.metadata))


def repin_view(table: IcebergTable, groups: Collection[IcebergGroup]) -> PinnedView | None:
    """Pins the newest snapshot with the partitions of some groups: their files may have been replaced."""
    table.refresh()
    return _newest(table, chosen_with(groups))


def plan(table: IcebergTable, pinned: PinnedView, selection: Selection, clock: Clock) -> IcebergPlan:
    """Plans the files of a view, except groups that could not be compacted before.

    Minor units remain for another plan where files are rewritten: they are committed apart (see
    `TURNS_EQUALITY`), and later, as an equality delete goes with the last of its data files.
    """
    options = options_of(table, selection, clock)
    rewrites, objects = rewrites_of(pinned, options)
    rewritten = [*_units(pinned, rewrites, objects, options)]
    held = {unit.group.place for unit in rewritten if unit.group.is_held(selection.held)}
    if pinned.start.spec_id in pinned.metadata.unpartitioned_specs and OLDER_SPECS in held:
        held.add(WHOLE)
    # An equality delete would stay there, because a file needs it that cannot be rewritten.
    minor = [unit for unit in minor_units(pinned, rewrites, objects) if unit.group.place not in held]
    places = {unit.group.place for unit in (*rewritten, *minor)}
    resting = 0 if pinned.is_rest else len(rewrites.partitions) - len(places)
    reason = ONE_GOOD_FILE if options.rewrite_all else NO_TRIGGER
    blocks = partial(blocks_of, table.name, repeated=pinned.repeated)
    resting_by_reason = {reason: resting} if resting > 0 else {}
    found = minor if pinned.is_rest else rewritten or minor
    made = plan_of(pinned, found, resting_by_reason, selection.held, blocks)
    if rewritten and minor and not pinned.is_rest:
        return replace(made, deferred=len(minor), remaining=replace(pinned, is_rest=True))
    if made.units or pinned.is_rest:
        return made  # its commit drops what dangles
    return replace(made, units=tuple(dropping_units(pinned, options)))


def rewrites_of(pinned: PinnedView, options: PlanningOptions) -> tuple[RewritePlan, FileObjects]:
    """What of a view is rewritten, on columns, and what makes objects of it."""
    view, metadata = pinned.view, pinned.metadata
    columns = schema_columns(metadata.schemas[metadata.schema_id])
    compared = compared_columns(view.deletes, columns)
    index = delete_index(view.data, view.deletes, metadata.unpartitioned_specs, compared)
    figures = figures_of(view, index, pinned.start.spec_id, metadata.commit_times)
    rewrites = plan_rewrites(view.data, figures, options, clustered_columns(metadata, pinned.order))
    return rewrites, FileObjects(view, index)


def options_of(table: IcebergTable, selection: Selection, clock: Clock) -> PlanningOptions:
    """The options of a plan: those of the run by Java's names, and the table's properties."""
    full = {REWRITE_ALL: "true"} if selection.strategy is Strategy.FULL else {}
    return planning_options({**table.overrides, **full}, table.properties).at(epoch_millis(clock.now()))


def _newest(table: IcebergTable, chosen: Chosen | None) -> PinnedView | None:
    """Pins the newest snapshot of metadata that was just loaded, with the data files of some partitions."""
    head = table.head()
    if head is None or head.manifest_list is None:
        return None
    pinned = pin_snapshot(table, head)
    spec = spec_of(pinned.metadata, pinned.start.spec_id)
    return replace(pinned, view=only(pinned.view, spec, chosen))


def pin_snapshot(table: IcebergTable, head: Snapshot) -> PinnedView:
    """Pins the newest snapshot of metadata that was just loaded; `head` may be `EMPTY`."""
    metadata, reader = table.metadata, ManifestReader(table.storage)
    order = row_order(metadata, table.properties)
    view, statistics = _view(reader, reader.manifests(head.manifest_list), metadata, order)
    start = Start(head.id, head.sequence, metadata.schema_id, metadata.spec_id, metadata.format_version)
    repeated = repeated_paths(view.data)
    dangling = np.flatnonzero(dangling_deletes(view.data, view.deletes, metadata.unpartitioned_specs))
    return PinnedView(metadata, start, view, order, statistics, repeated, dangling)


def _view(
    reader: ManifestReader, manifests: Sequence[ManifestFile], metadata: TableMetadata, order: RowOrder
) -> tuple[View, Statistics]:
    """The live files, with statistics of the columns that matter: equality deletes say which they compare."""
    marks = [each for each in manifests if each.content is ManifestContent.DELETES]
    marked = reader.view(marks)
    columns = schema_columns(metadata.schemas[metadata.schema_id])
    needed = needed_statistics(clustered_columns(metadata, order), compared_columns(marked.deletes, columns))
    return reader.view(manifests, needed, marked), needed


def _units(
    pinned: PinnedView, rewrites: RewritePlan, objects: FileObjects, options: PlanningOptions
) -> Iterator[IcebergUnit]:
    """A unit for each bin; full compactions leave files alone that would be written as they are."""
    metadata, spec_id = pinned.metadata, pinned.start.spec_id
    stored = spec_of(metadata, spec_id)
    typed = seam_spec(metadata, spec_id, stored)
    for unit in units(rewrites, objects):
        place = place_of(unit.partition, stored)
        partition = None if unit.partition is None else seam_values(typed, stored, unit.partition)
        if not (options.rewrite_all and unit.partition is not None and _is_good(unit.files, options)):
            yield _unit(pinned, unit, group_of(unit.files, place, partition))


def _unit(pinned: PinnedView, unit: RewriteUnit, group: IcebergGroup) -> IcebergUnit:
    fired = [verdict for verdict in unit.verdicts if verdict.fired]
    return IcebergUnit(
        group=group,
        files=unit.files,
        partition=unit.partition,
        split_size=unit.split_size,
        trigger=str(fired[0].trigger) if fired else FULL,
        reason=fired[0].detail if fired else f"{len(unit.files)} files",
        start=pinned.start,
    )


def _is_good(files: tuple[DataFile, ...], options: PlanningOptions) -> bool:
    return len(files) == 1 and not files[0].deletes and files[0].size <= options.max_size
