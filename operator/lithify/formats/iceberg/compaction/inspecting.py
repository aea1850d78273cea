"""What `lithify inspect` and observers show of an Iceberg table, from metadata alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import integers, whole
from lithify.formats.iceberg.compaction.groups import OLDER_SPECS, place_of, spec_of, values_of
from lithify.formats.iceberg.compaction.plan import PinnedView
from lithify.formats.iceberg.compaction.planning import options_of, rewrites_of
from lithify.formats.iceberg.planning.figures import OTHER_SPECS
from lithify.formats.iceberg.planning.plan import RewritePlan
from lithify.formats.iceberg.planning.statistics import group_statistics
from lithify.formats.iceberg.planning.triggers import verdicts
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.inspection import GroupInspection, TableInspection
from lithify.formats.protocol.model import TriggerVerdict


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Figures of a partition, or of all files of older specs.

    Attributes:
        place: where the files are, for people.
        values: the values of the partition as texts; empty for older specs and without partitions.
        row: a row of `planning.statistics`.
        triggers: the verdict of each trigger.
        written_millis: commit time of the newest of its files that is known.
    """

    place: str
    values: Mapping[str, str]
    row: Mapping[str, Any]
    triggers: tuple[TriggerVerdict, ...]
    written_millis: int

    @property
    def trigger(self) -> str | None:
        """The most telling trigger that fired; None if none did."""
        return next((str(each.trigger) for each in self.triggers if each.fired), None)

    @property
    def detail(self) -> str:
        """The numbers behind that trigger."""
        return next((each.detail for each in self.triggers if each.fired), "")


def inspect(table: IcebergTable, pinned: PinnedView | None, selection: Selection) -> TableInspection:
    """Describes the selected partitions of a pinned snapshot."""
    metadata = table.metadata
    fields = spec_of(metadata, metadata.spec_id).fields
    groups = [] if pinned is None else group_figures(table, pinned, selection)
    return TableInspection(
        table=table.name,
        snapshot=None if pinned is None else pinned.snapshot_id,
        primary_key=(),
        partition_keys=tuple(field.name for field in fields),
        unsupported=table.refusals,
        groups=tuple(map(_inspection, groups)),
    )


def group_figures(table: IcebergTable, pinned: PinnedView, selection: Selection) -> list[GroupFigures]:
    """The figures of each partition of a view."""
    view, options = pinned.view, options_of(table, selection)
    plan, _ = rewrites_of(pinned, options)
    is_sorted = plan.clustering is not None and plan.clustering.column.is_sorted
    spec, written = spec_of(pinned.metadata, pinned.start.spec_id), _written(pinned, plan)
    found = []
    for row, millis in zip(group_statistics(plan).to_pylist(), written, strict=True):
        is_older = row["partition"] == OTHER_SPECS
        partition = None if is_older else view.partitions.partition(row["partition"])
        found.append(
            GroupFigures(
                place=place_of(partition, spec) if partition is not None else OLDER_SPECS,
                values=values_of(partition, spec) if partition is not None else {},
                row=row,
                triggers=tuple(verdicts(row, options, is_sorted=is_sorted)),
                written_millis=millis,
            )
        )
    return found


def _written(pinned: PinnedView, plan: RewritePlan) -> list[int]:
    """The commit time of each group's newest file; files of expired snapshots count as old."""
    snapshots = pinned.metadata.snapshots
    known = pa.array([*snapshots], pa.int64())
    millis = np.array([0, *(each.millis for each in snapshots.values())], dtype=np.int64)
    numbers = pc.index_in(whole(pinned.view.data["snapshot_id"]), value_set=known)
    newest = np.zeros(len(plan.partitions), dtype=np.int64)
    np.maximum.at(newest, plan.groups, millis[integers(pc.add(numbers, 1))])
    times: list[int] = newest.tolist()
    return times


def _inspection(group: GroupFigures) -> GroupInspection:
    row = group.row
    return GroupInspection(
        group=group.place,
        files=row["files"],
        bytes=row["bytes"],
        rows=row["rows"],
        small_files=row["small_files"],
        delete_ratio=row["deleted_rows"] / row["rows"] if row["rows"] else 0.0,
        triggers=group.triggers,
        due=group.trigger,
    )
