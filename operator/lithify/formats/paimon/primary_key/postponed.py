"""Plans the postponed rows of a partition: a unit that moves all of them to their buckets, and its tasks.

Called by `planning` and `tasks` for buckets with the number -2. How rows are distributed follows Paimon's
compaction job of such tables: a partition keeps its number of buckets, a new one gets
`postpone.default-bucket-num`; files are read in the order of their creation times, and every row gets the
next sequence number of its bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate

from lithify.engine.pack.runs import parts_of
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import Deduplicate
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.buckets.postponed import is_postponed, postponed_verdict
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.compaction.task_files import input_of, schemas_of, target_of
from lithify.formats.paimon.manifests.entries import APPEND_SOURCE
from lithify.formats.paimon.manifests.partition_layouts import NO_FILES, PartitionLayout
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.options.bucket_key import bucket_key
from lithify.formats.paimon.options.merging.merge_options import has_order_of_its_own
from lithify.formats.paimon.planning.work import BucketWork
from lithify.formats.paimon.primary_key.merge_functions.choosing import merge_function
from lithify.formats.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.formats.paimon.primary_key.merge_specs import merge_spec
from lithify.formats.paimon.primary_key.postponed_task import PostponedTask, TargetBucket
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.model import TriggerVerdict

_PICKING = (Deduplicate, FirstRow)
"""Merge functions that pick a record, so that records may be merged in any portions."""
STUCK = "postponed rows of the partition cannot be moved, and come first"
"""Why a bucket is left alone; see `stuck_partitions`."""


@dataclass(frozen=True, slots=True)
class PostponedUnit(BucketWork):
    """The postponed rows of one partition.

    Attributes:
        bucket: the postponed bucket.
        files: its files, in the order in which their rows were written.
        count: number of real buckets of the partition.
        highest: the highest sequence number in each real bucket that has files.
        verdict: how much is postponed.
        output_level: new files are in level 0, as those of writers.
        drop_deletes: deletes must reach the rows that are in the buckets already.
    """

    bucket: BucketId
    files: tuple[DataFile, ...]
    count: int
    highest: tuple[tuple[int, int], ...]
    verdict: TriggerVerdict
    output_level: int | None = field(default=0, init=False)
    drop_deletes: bool = field(default=False, init=False)

    @property
    def merges(self) -> tuple[tuple[DataFile, ...], ...]:
        """All files: they are read one after the other."""
        return (self.files,)

    @property
    def targets(self) -> range:
        """Numbers of the real buckets."""
        return range(self.count)


def plan_all_postponed(planner: BucketPlanner) -> dict[BucketId, PostponedUnit]:
    """Plans the postponed buckets of all partitions, except those that are held; records blocked ones."""
    table, view = planner.table, planner.view
    found: dict[BucketId, PostponedUnit] = {}
    for bucket in planner.buckets:
        if is_postponed(bucket.bucket):
            with planner.isolate(bucket):
                unit = plan_postponed(table, view, view.bucket(bucket))
                planner.check_files(bucket, unit.inputs)
                found[bucket] = unit
    return found


def stuck_partitions(table: PaimonTable, view: View) -> set[bytes]:
    """The partitions whose buckets must not be compacted before their postponed rows are moved.

    Only an order of the user's can put a postponed row before a delete that a compaction would drop.
    """
    if not has_order_of_its_own(table.schema.options):
        return set()
    return {bucket.partition for bucket in view.bucket_ids if is_postponed(bucket.bucket)}


def plan_postponed(table: PaimonTable, view: View, bucket: Bucket) -> PostponedUnit:
    """Plans the postponed bucket of one partition.

    Raises:
        UnsupportedTable: the table's options do not postpone rows, or the number of real buckets is unclear.
    """
    options, layout = table.options.postponed, view.layouts.get(bucket.id.partition, NO_FILES)
    if options is None:
        problem = "it has postponed rows (bucket -2), but its option bucket is not -2 now"
        raise UnsupportedTable(table.name, (problem,))
    return PostponedUnit(
        bucket=bucket.id,
        files=tuple(sorted(bucket.files, key=lambda file: file.created_millis)),
        count=_count(table, layout, options.first_buckets),
        highest=tuple(sorted(layout.highest.items())),
        verdict=postponed_verdict(len(bucket.files), bucket.size),
    )


def _count(table: PaimonTable, layout: PartitionLayout, first: int) -> int:
    if not layout.counts:
        return first
    if len(layout.counts) > 1 or layout.counts[0] < 1:
        counts = " and ".join(map(str, sorted(layout.counts)))
        problem = f"files of the partition belong to {counts} buckets, so the buckets of new rows are unclear"
        raise UnsupportedTable(table.name, (problem,))
    return layout.counts[0]


def tasks_of_postponed(
    table: PaimonTable, view: View, unit: PostponedUnit, task_bytes: int, budget: Budget
) -> Iterator[PostponedTask]:
    """The tasks of a unit; not assigned to an attempt yet.

    If there are several tasks, the sequence numbers of each begin behind all rows of those before, whatever
    their buckets are, so that no task has to wait for another. Where the result of a merge depends on which
    records were merged before (a retraction that an aggregate has absorbed is lost), there is a single task.
    """
    function = merge_function(table.schema, ignore_deletes=table.options.ignore_deletes)
    spec = merge_spec(table.schema, table.options.sequence_fields, function, drop_deletes=False)
    options, highest = table.options.postponed, dict(unit.highest)
    assert options is not None  # noqa: S101  # otherwise there is no such unit
    buckets = [table.bucket_id(unit.bucket.partition, number) for number in range(unit.count)]
    written = table.options.files.at(0)
    targets = {bucket: replace(target_of(table, bucket, written), source=APPEND_SOURCE) for bucket in buckets}
    parts = [*parts_of(unit.inputs, task_bytes)] if isinstance(function, _PICKING) else [unit.inputs]
    rows_before = accumulate((sum(file.rows for file in part) for part in parts), initial=0)
    for part, before in zip(parts, rows_before, strict=False):
        yield PostponedTask(
            files=tuple(input_of(table, entry) for entry in view.entries(unit.bucket, part)),
            key=bucket_key(table.schema),
            targets=tuple(
                TargetBucket(bucket, targets[bucket], highest.get(bucket.bucket, -1) + 1 + before)
                for bucket in buckets
            ),
            ignored_kinds=options.ignored_kinds,
            spec=spec,
            schemas=schemas_of(table, part),
            storage=table.storage,
            budget=budget,
        )
