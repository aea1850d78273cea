"""What `lithify inspect` shows of a keyed table, from metadata alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lithify.clock import Clock, epoch_millis
from lithify.formats.iceberg.table.partition_paths import WHOLE, spec_of
from lithify.formats.mixed.declarations import CHANGES
from lithify.formats.mixed.due import judged, verdicts_of
from lithify.formats.mixed.file_columns import files_of
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.mixed.view import MixedView
from lithify.formats.protocol.inspection import GroupBlock, GroupInspection, TableInspection
from lithify.formats.protocol.model import TriggerVerdict


def inspect(table: MixedTable, view: MixedView | None, clock: Clock) -> TableInspection:
    """Describes the partitions of a pinned state; `view` is None for tables that cannot be compacted."""
    metadata = table.base.metadata
    return TableInspection(
        table=table.name,
        snapshot=None if view is None else view.snapshot_id,
        primary_key=table.key,
        partition_keys=tuple(field.name for field in spec_of(metadata, metadata.spec_id).fields),
        unsupported=table.refusals,
        groups=() if view is None else tuple(_groups(table, view, clock)),
    )


def _groups(table: MixedTable, view: MixedView, clock: Clock) -> Iterator[GroupInspection]:
    metadata, options = table.base.metadata, table.options
    files = files_of(view, table.change_metadata, spec_of(metadata, metadata.spec_id))
    millis = epoch_millis(clock.now())
    for row in judged(files, options, millis).sort_by("group").to_pylist():
        yield _inspection(row, tuple(verdicts_of(row, options, millis)))


def _inspection(row: Mapping[str, Any], triggers: tuple[TriggerVerdict, ...]) -> GroupInspection:
    rows = row["base_rows"] + row["insert_rows"]
    return GroupInspection(
        group=row["group"] or WHOLE,
        files=row["base_files"] + row["change_files"],
        bytes=row["bytes"],
        rows=rows,
        small_files=row["small_base_files"],
        delete_ratio=min(1.0, (row["delete_rows"] + row["position_rows"]) / rows) if rows else 0.0,
        triggers=triggers,
        due=next((str(each.trigger) for each in triggers if each.fired), None),
        blocks={CHANGES.name: GroupBlock({"changes_to_merge": row["change_files"], "line_lag": row["lag"]})},
    )
