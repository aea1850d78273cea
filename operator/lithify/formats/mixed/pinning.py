"""Pins the newest state of a keyed table: both stores and the line.

Called by the adapter and by observers. Reads manifests and the line, never data files.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.planning import pin_snapshot
from lithify.formats.iceberg.compaction.selecting import Chosen, chosen_by, chosen_with, only
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.partition_paths import spec_of
from lithify.formats.iceberg.table.snapshots import EMPTY
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.view import MixedView, keyed_columns
from lithify.formats.protocol.address import Selection


def pin_view(table: MixedTable, selection: Selection) -> MixedView | None:
    """Pins the newest state with the selected partitions; None if the table has no snapshot at all.

    Raises:
        InvalidOption: the selection names a column that is not a partition field, a text that is no value of
            it, or buckets.
    """
    table.refresh()
    return _pinned(table, chosen_by(selection, table.name, table.base.metadata))


def repin_view(table: MixedTable, groups: Collection[IcebergGroup]) -> MixedView | None:
    """Pins the newest state with the partitions of some groups."""
    table.refresh()
    return _pinned(table, chosen_with(groups))


def _pinned(table: MixedTable, chosen: Chosen | None) -> MixedView | None:
    """Pins the newest state of metadata that was just loaded, with the files of some partitions."""
    head, newest = table.base.head() or EMPTY, table.change_head
    if head is EMPTY and newest is EMPTY:
        return None
    base = pin_snapshot(table.base, head)
    reader = ManifestReader(table.stores[-1].storage)
    change = reader.view(reader.manifests(newest.manifest_list))
    specs = [spec_of(each, each.spec_id) for each in (table.base.metadata, table.change_metadata)]
    base = replace(base, view=only(base.view, specs[0], chosen))
    change = only(change, specs[1], chosen)
    line = table.read_line(table.base.metadata)
    files = keyed_columns(base.view, change, specs[0], specs[1], line)
    return MixedView(base, change, newest, line, files)
