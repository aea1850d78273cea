"""Restricts a view to the partitions of a run: those of a selection, or those of some groups.

Called by what pins views, here and in formats that stand on Iceberg's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from lithify.columns.column_groups import flagged, integers
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.model import Partition
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import OLDER_SPECS, PartitionSpec, place_of, spec_of
from lithify.formats.iceberg.table.partition_values import seam_spec, seam_values
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.partition import wanted_partitions

Chosen: TypeAlias = Callable[[Partition, PartitionSpec], bool]
"""Whether a partition of a spec is taken."""


def chosen_by(selection: Selection, table: str, metadata: TableMetadata) -> Chosen | None:
    """What a selection takes; None for all.

    Args:
        selection: the selection.
        table: the table's name.
        metadata: its metadata.

    Raises:
        InvalidOption: it names a column that is not a partition field, a text that is no value of it, or
            buckets.
    """
    if not selection.partitions:
        selection.check_without_buckets(table, "partition")
        return None
    typed = seam_spec(metadata, metadata.spec_id, spec_of(metadata, metadata.spec_id))
    wanted = wanted_partitions(selection, table, typed)
    return lambda each, spec: wanted.selects(seam_values(typed, spec, each))


def chosen_with(groups: Collection[IcebergGroup]) -> Chosen | None:
    """The partitions of some groups: their files may have been replaced; None for all."""
    wanted = {group.place for group in groups}
    return None if OLDER_SPECS in wanted else lambda each, spec: place_of(each, spec) in wanted


def only(view: View, spec: PartitionSpec, chosen: Chosen | None) -> View:
    """A view with the data files of some partitions of a spec."""
    if chosen is None:
        return view
    partitions = view.partitions
    numbers = [each for each in partitions.of_spec(spec.id) if chosen(partitions.partition(each), spec)]
    return replace(view, data=flagged(view.data, np.isin(integers(view.data["partition"]), numbers)))
