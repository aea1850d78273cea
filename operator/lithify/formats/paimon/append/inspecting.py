"""Inspects the buckets of a table without a primary key: their small files, and which triggers fire.

Called by `compacting` for `lithify inspect`, and by `clustering.inspecting`. Reads metadata only, and writes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType

from lithify.engine.pack.triggers import verdicts
from lithify.formats.paimon.append.planning import packing_of
from lithify.formats.paimon.buckets.levels import check_levels
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import Bucket
from lithify.formats.paimon.planning.bin_packing import plan_bucket
from lithify.formats.paimon.planning.files import BY_SEQUENCE
from lithify.formats.paimon.planning.work import BucketWork, Idle
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.inspection import GroupBlock, GroupInspection
from lithify.formats.protocol.model import TriggerVerdict
from lithify.formats.protocol.strategy import Strategy


def inspector(table: PaimonTable, view: View, now: datetime) -> Callable[[Bucket], GroupInspection]:
    """Returns a function that inspects one bucket; it raises UnsupportedTable if files have levels."""
    del view
    options = packing_of(table)

    def inspect(bucket: Bucket) -> GroupInspection:
        check_levels(table.name, bucket.files)
        planned = plan_bucket(bucket, options, Strategy.MINOR, now)
        return inspection_of(
            bucket, options.small_file_size, verdicts(bucket.files, options, now, BY_SEQUENCE), planned
        )

    return inspect


def inspection_of(
    bucket: Bucket,
    small_file_size: int,
    triggers: Iterable[TriggerVerdict],
    planned: BucketWork | Idle,
    blocks: Mapping[str, GroupBlock] = MappingProxyType({}),
) -> GroupInspection:
    """The inspection of a bucket.

    Args:
        bucket: the bucket with all of its files.
        small_file_size: bytes below which a file counts as small.
        triggers: the verdict of each trigger.
        planned: the work of a minor compaction, or why there is none.
        blocks: figures of its levels, if its files have some.
    """
    return GroupInspection(
        group=bucket.id.path,
        files=len(bucket.files),
        bytes=bucket.size,
        rows=sum(file.rows for file in bucket.files),
        small_files=sum(file.size < small_file_size for file in bucket.files),
        delete_ratio=_delete_ratio(bucket),
        triggers=tuple(triggers),
        due=planned.trigger if isinstance(planned, BucketWork) else None,
        blocks=blocks,
    )


def _delete_ratio(bucket: Bucket) -> float | None:
    """The share of rows that deletion vectors delete; None if a writer did not count them."""
    counts = [file.deleted_rows for file in bucket.files]
    known = [count for count in counts if count is not None]
    rows = sum(file.rows for file in bucket.files)
    return sum(known) / max(1, rows) if len(known) == len(counts) else None
