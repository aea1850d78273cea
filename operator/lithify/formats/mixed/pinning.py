"""Pins the newest state of a keyed table: both stores and the line.

Called by the adapter and by observers. Reads manifests and the line, never data files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from lithify.columns.column_groups import flagged, integers
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.planning import pin_snapshot
from lithify.formats.iceberg.manifests.view import ManifestReader, View
from lithify.formats.iceberg.model import Partition
from lithify.formats.iceberg.table.partition_paths import PartitionSpec, place_of, spec_of
from lithify.formats.iceberg.table.partition_values import seam_spec, seam_values
from lithify.formats.iceberg.table.snapshots import EMPTY
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.view import MixedView, keyed_columns
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.partition import PartitionFilter

Chosen = Callable[[Partition, PartitionSpec], bool]


def pin_view(table: MixedTable, selection: Selection) -> MixedView | None:
    """Pins the newest state with the selected partitions; None if the table has no snapshot at all.

    Raises:
        InvalidOption: the selection names a column that is not a partition field, a text that is no value of
            it, or buckets.
    """
    selection.check_without_buckets(table.name, "partition")
    if not selection.partitions:
        return _pinned(table, None)
    metadata = table.base.metadata
    typed = seam_spec(metadata, metadata.spec_id, spec_of(metadata, metadata.spec_id))
    wanted = PartitionFilter(selection.partitions)
    wanted.check(table.name, (typed,))
    return _pinned(table, lambda each, spec: wanted.selects(seam_values(typed, spec, each)))


def repin_view(table: MixedTable, groups: Collection[IcebergGroup]) -> MixedView | None:
    """Pins the newest state with the partitions of some groups."""
    wanted = {group.place for group in groups}
    return _pinned(table, lambda partition, spec: place_of(partition, spec) in wanted)


def _pinned(table: MixedTable, chosen: Chosen | None) -> MixedView | None:
    table.refresh()
    head, newest = table.base.head() or EMPTY, table.change_head
    if head is EMPTY and newest is EMPTY:
        return None
    base = pin_snapshot(table.base, head)
    reader = ManifestReader(table.stores[-1].storage)
    change = reader.view(reader.manifests(newest.manifest_list))
    specs = [spec_of(each, each.spec_id) for each in (table.base.metadata, table.change_metadata)]
    if chosen is not None:
        base = replace(base, view=_selected(base.view, specs[0], chosen))
        change = _selected(change, specs[1], chosen)
    line = table.read_line(table.base.metadata)
    files = keyed_columns(base.view, change, specs[0], specs[1], line)
    return MixedView(base, change, newest, line, files)


def _selected(view: View, spec: PartitionSpec, chosen: Chosen) -> View:
    numbers = [n for n in range(len(view.partitions)) if chosen(view.partitions.partition(n), spec)]
    return replace(view, data=flagged(view.data, np.isin(integers(view.data["partition"]), numbers)))
