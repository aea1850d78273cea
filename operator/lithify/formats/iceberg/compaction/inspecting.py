"""What `lithify inspect` shows of an Iceberg table, from metadata alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lithify.clock import Clock
from lithify.formats.iceberg.compaction.plan import PinnedView
from lithify.formats.iceberg.compaction.planning import options_of, rewrites_of
from lithify.formats.iceberg.declarations import DATA_FILES, DELETES
from lithify.formats.iceberg.planning.figures import OTHER_SPECS
from lithify.formats.iceberg.planning.statistics import group_statistics
from lithify.formats.iceberg.planning.triggers import verdicts
from lithify.formats.iceberg.table.partition_paths import OLDER_SPECS, place_of, spec_of
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.inspection import GroupBlock, GroupInspection, TableInspection
from lithify.formats.protocol.model import TriggerVerdict


def inspect(
    table: IcebergTable, pinned: PinnedView | None, selection: Selection, clock: Clock
) -> TableInspection:
    """Describes the selected partitions of a pinned snapshot."""
    metadata = table.metadata
    return TableInspection(
        table=table.name,
        snapshot=None if pinned is None else pinned.snapshot_id,
        primary_key=(),
        partition_keys=tuple(field.name for field in spec_of(metadata, metadata.spec_id).fields),
        unsupported=table.refusals,
        groups=() if pinned is None else tuple(_groups(table, pinned, selection, clock)),
    )


def _groups(
    table: IcebergTable, pinned: PinnedView, selection: Selection, clock: Clock
) -> Iterator[GroupInspection]:
    options = options_of(table, selection, clock)
    plan, _ = rewrites_of(pinned, options)
    is_sorted = plan.clustering is not None and plan.clustering.column.is_sorted
    spec, partitions = spec_of(pinned.metadata, pinned.start.spec_id), pinned.view.partitions
    for row in group_statistics(plan).to_pylist():
        number = row["partition"]
        place = OLDER_SPECS if number == OTHER_SPECS else place_of(partitions.partition(number), spec)
        yield _inspection(place, row, tuple(verdicts(row, options, is_sorted=is_sorted)))


def _inspection(place: str, row: Mapping[str, Any], triggers: tuple[TriggerVerdict, ...]) -> GroupInspection:
    return GroupInspection(
        group=place,
        files=row["files"],
        bytes=row["bytes"],
        rows=row["rows"],
        small_files=row["small_files"],
        delete_ratio=row["deleted_rows"] / row["rows"] if row["rows"] else 0.0,
        triggers=triggers,
        due=next((str(each.trigger) for each in triggers if each.fired), None),
        blocks={
            DATA_FILES.name: GroupBlock({"files_to_rewrite": row["due_files"]}),
            DELETES.name: GroupBlock({"deletes_to_apply": row["delete_files"]}),
        },
    )
