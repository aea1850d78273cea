"""Inspects buckets of a table without a primary key from metadata alone: small files, triggers.

Called by `compacting` for `lithify inspect`. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from lithify.planning.bin_packing.plan import PackedUnit, plan_bucket, verdicts
from lithify.planning.bin_packing.policy import PackingOptions
from lithify.planning.work import Strategy
from lithify.tables.inspection import GroupInspection
from lithify.tables.model import Bucket
from lithify.tables.paimon.append.levels import check_levels
from lithify.tables.paimon.append.planning import packing_of
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.table import PaimonTable


def inspector(table: PaimonTable, view: View, now: datetime) -> Callable[[Bucket], GroupInspection]:
    """Returns a function that inspects one bucket; it raises UnsupportedTable if files have levels."""
    del view
    options = packing_of(table)

    def inspect(bucket: Bucket) -> GroupInspection:
        check_levels(table.name, bucket.files)
        return _inspection(bucket, options, now)

    return inspect


def _inspection(bucket: Bucket, options: PackingOptions, now: datetime) -> GroupInspection:
    planned = plan_bucket(bucket, options, Strategy.MINOR, now)
    return GroupInspection(
        group=bucket.id.path,
        files=len(bucket.files),
        bytes=bucket.size,
        rows=sum(file.rows for file in bucket.files),
        small_files=sum(file.size < options.small_file_size for file in bucket.files),
        delete_ratio=_delete_ratio(bucket),
        triggers=tuple(verdicts(bucket, options, now)),
        due=planned.trigger if isinstance(planned, PackedUnit) else None,
    )


def _delete_ratio(bucket: Bucket) -> float | None:
    """The share of rows that deletion vectors delete; None if a writer did not count them."""
    counts = [file.deleted_rows for file in bucket.files]
    known = [count for count in counts if count is not None]
    rows = sum(file.rows for file in bucket.files)
    return sum(known) / max(1, rows) if len(known) == len(counts) else None
