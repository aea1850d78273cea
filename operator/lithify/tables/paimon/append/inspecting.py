"""Inspects a table without a primary key from metadata alone: small files, triggers.

Called by `compacting` for `lithify inspect`. Writes nothing.
"""

from __future__ import annotations

from datetime import datetime

from lithify.clock import Clock
from lithify.planning.bin_packing.plan import PackedUnit, plan_bucket, verdicts
from lithify.planning.bin_packing.policy import PackingOptions
from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.address import Selection
from lithify.tables.inspection import GroupInspection, TableInspection, TriggerState
from lithify.tables.model import BlockedBucket, Bucket
from lithify.tables.paimon.append.levels import check_levels
from lithify.tables.paimon.append.planning import packing_of
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.primary_key.blocking import Blocks
from lithify.tables.paimon.table import PaimonTable


def inspect_table(table: PaimonTable, selection: Selection, clock: Clock) -> TableInspection:
    """Describes the selected buckets in the newest snapshot, also for unsupported tables.

    Raises:
        InvalidOption, NotFound: the selection does not fit the table.
        CorruptTable: a snapshot or manifest is missing or unreadable.
    """
    view = table.view(selection)
    found, blocked = ([], ()) if view is None else _inspect_buckets(table, view, clock.now())
    return TableInspection(
        table=table.name,
        snapshot=view.snapshot_id if view else None,
        primary_key=(),
        partition_keys=table.schema.partition_keys,
        unsupported=table.refusals,
        groups=tuple(found),
        blocked=blocked,
    )


def _inspect_buckets(
    table: PaimonTable, view: View, now: datetime
) -> tuple[list[GroupInspection], tuple[BlockedBucket, ...]]:
    options, blocks, found = packing_of(table), Blocks(table, view), []
    for bucket_id in view.bucket_ids:
        with blocks.isolate(bucket_id):
            bucket = view.bucket(bucket_id)
            check_levels(table.name, bucket.files)
            found.append(_inspection(bucket, options, now))
    return found, tuple(block.told for block in blocks.sorted_out()[0])


def _inspection(bucket: Bucket, options: PackingOptions, now: datetime) -> GroupInspection:
    planned = plan_bucket(bucket, options, Strategy.MINOR, now)
    return GroupInspection(
        group=bucket.id.path,
        files=len(bucket.files),
        bytes=bucket.size,
        rows=sum(file.rows for file in bucket.files),
        small_files=sum(file.size < options.small_file_size for file in bucket.files),
        delete_ratio=0.0,
        triggers=tuple(
            TriggerState(each.trigger.value, each.fired, each.detail)
            for each in verdicts(bucket, options, now)
        ),
        due=planned.trigger if isinstance(planned, PackedUnit) else None,
    )
