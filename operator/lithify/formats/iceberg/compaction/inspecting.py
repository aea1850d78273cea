"""What `lithify inspect` shows of an Iceberg table, from metadata alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lithify.formats.iceberg.commit.rules import unpartitioned_specs
from lithify.formats.iceberg.compaction.groups import OLDER_SPECS, place_of, spec_of
from lithify.formats.iceberg.compaction.plan import PinnedView
from lithify.formats.iceberg.compaction.planning import options_of
from lithify.formats.iceberg.manifests.delete_index import delete_index
from lithify.formats.iceberg.planning.figures import OTHER_SPECS, figures_of
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.iceberg.planning.plan import plan_rewrites
from lithify.formats.iceberg.planning.statistics import group_statistics
from lithify.formats.iceberg.planning.triggers import verdicts
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.inspection import GroupInspection, TableInspection


def inspect(table: IcebergTable, pinned: PinnedView | None, selection: Selection) -> TableInspection:
    """Describes the selected partitions of a pinned snapshot."""
    metadata = table.metadata
    fields = spec_of(metadata, metadata.spec_id).fields
    return TableInspection(
        table=table.name,
        snapshot=None if pinned is None else pinned.snapshot_id,
        primary_key=(),
        partition_keys=tuple(field.name for field in fields),
        unsupported=table.refusals,
        groups=() if pinned is None else tuple(_groups(table, pinned, selection)),
    )


def _groups(table: IcebergTable, pinned: PinnedView, selection: Selection) -> list[GroupInspection]:
    view, options = pinned.view, options_of(table, selection)
    index = delete_index(view.data, view.deletes, unpartitioned_specs(pinned.metadata))
    figures = figures_of(view, index, pinned.start.spec_id)
    statistics = group_statistics(plan_rewrites(view.data, figures, options))
    return [_group(pinned, row, options) for row in statistics.to_pylist()]


def _group(pinned: PinnedView, row: Mapping[str, Any], options: PlanningOptions) -> GroupInspection:
    number = row["partition"]
    spec = spec_of(pinned.metadata, pinned.start.spec_id)
    triggers = tuple(verdicts(row, options, is_sorted=False))
    return GroupInspection(
        group=OLDER_SPECS
        if number == OTHER_SPECS
        else place_of(pinned.view.partitions.partition(number), spec),
        files=row["files"],
        bytes=row["bytes"],
        rows=row["rows"],
        small_files=row["small_files"],
        delete_ratio=row["deleted_rows"] / row["rows"] if row["rows"] else 0.0,
        triggers=triggers,
        due=next((each.detail for each in triggers if each.fired), None),
    )
