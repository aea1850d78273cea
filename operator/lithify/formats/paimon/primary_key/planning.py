"""The plan of a run on a primary-key table: the units of the selected buckets in one pinned snapshot.

Called by `compacting`. `planning.merge_tree` decides; this module provides its input from the table. It reads
footers of a few files, unless the planner may open none, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial

from lithify.columns.column_groups import listed, with_columns
from lithify.files.registry import Readers
from lithify.formats.paimon.buckets.postponed import is_postponed
from lithify.formats.paimon.buckets.resting import resting_reasons
from lithify.formats.paimon.buckets.statistics import bucket_statistics
from lithify.formats.paimon.compaction.plan import BucketPlan, units_of
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.manifests.entries import COMPACT_SOURCE, ManifestEntry
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import PLACE, Bucket, BucketId, DataFile
from lithify.formats.paimon.planning.merge_tree.plan import Unit, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.work import Idle
from lithify.formats.paimon.primary_key.changelogs import check_levels
from lithify.formats.paimon.primary_key.deletes import hold_deletes
from lithify.formats.paimon.primary_key.lookups import files_of
from lithify.formats.paimon.primary_key.postponed import (
    STUCK,
    PostponedUnit,
    plan_all_postponed,
    stuck_partitions,
)
from lithify.formats.protocol.strategy import Strategy

_FOOTER_READERS = 8

PlannedUnit = Unit | PostponedUnit
RunPlan = BucketPlan[PlannedUnit]


def plan_run(planner: BucketPlanner) -> RunPlan:
    """Plans the buckets of a planner.

    Where a partition has postponed rows, these are moved to their buckets first, and the buckets are planned
    in the run's next round: a compaction may drop a delete that the user's order puts after a postponed row.

    A bucket is blocked by overlapping files of one level, a key bound without an order, an unsupported kind
    of file, or an unreadable file whose deletes must be counted.

    Raises:
        StorageError: the file system refuses access.
    """
    moving = plan_all_postponed(planner)
    moved = {bucket.partition for bucket in moving}
    chosen = [
        bucket for bucket in planner.buckets if not (bucket.partition in moved or is_postponed(bucket.bucket))
    ]
    return planner.result({**moving, **_plan_buckets(planner, chosen)})


def _plan_buckets(planner: BucketPlanner, chosen: Collection[BucketId]) -> dict[BucketId, Unit | Idle]:
    """Plans real buckets none of whose rows are about to be moved."""
    table, view, strategy = planner.table, planner.view, planner.strategy
    now, options, policy = planner.now, table.options, table.options.policy
    stuck = stuck_partitions(table, view)
    resting = _resting(view, policy, strategy, now)
    resting |= {bucket: STUCK for bucket in chosen if bucket.partition in stuck}

    def plan(doubted: Mapping[BucketId, frozenset[int]], bucket: BucketId) -> Unit | Idle:
        files = _corrected(view.bucket(bucket), doubted.get(bucket, frozenset()))
        return plan_bucket(files, policy, strategy, now)

    def check(unit: Unit) -> None:
        check_levels(unit, options.changelog, policy.num_levels)
        planner.check_files(unit.bucket, files_of(unit, options))

    planned = planner.plan(chosen, partial(plan, {}), resting)
    doubted = _files_hiding_deletes(planner, units_of(planned))
    planned |= planner.plan_again(doubted, partial(plan, doubted))
    planner.check(planned, check)
    return planned


def _resting(view: View, policy: MergeTreeOptions, strategy: Strategy, now: datetime) -> dict[BucketId, str]:
    """The buckets that certainly have no work, and why."""
    statistics = bucket_statistics(view.files, policy.small_file_size)
    reasons = resting_reasons(statistics, policy, strategy, now)
    known = with_columns(statistics.select(PLACE), reason=reasons).filter(reasons.is_valid())
    *places, why = map(listed, known.columns)
    found = dict(zip(zip(*places, strict=True), why, strict=True))
    if strategy is Strategy.FULL:  # files with deleted rows are rewritten at the top level, too
        for place in view.indexes.vectors:
            found.pop(place, None)
    ids = {(bucket.partition, bucket.bucket): bucket for bucket in view.spans}
    return {ids[place]: reason for place, reason in found.items() if place in ids}


def _files_hiding_deletes(planner: BucketPlanner, units: Iterable[Unit]) -> dict[BucketId, frozenset[int]]:
    """By bucket, the handles of files planned for upgrade that hold uncounted deletes but must not.

    Some writers (pypaimon among them) store deletes without counting them. A file that moves to another level
    is not rewritten for its deletes unless the table has deletion vectors. Files written by a
    compaction have correct counts and are not checked. Empty if the planner may not open data files.
    """
    table, view = planner.table, planner.view
    suspects = [
        (unit.bucket, file, entry)
        for unit in units
        if unit.output_level == unit.levels.max_level or table.options.policy.has_vectors
        for file, entry in zip(unit.work.upgrades, view.entries(unit.bucket, unit.work.upgrades), strict=True)
        if entry.file.source != COMPACT_SOURCE
    ]
    if not planner.reads_data:
        planner.leave_unread(len(suspects))
        return {}
    if not suspects:
        return {}
    footers = Readers(table.storage)
    found: dict[BucketId, set[int]] = {}

    def look(bucket: BucketId, file: DataFile, entry: ManifestEntry) -> None:
        with planner.isolate(bucket):
            if hold_deletes(footers, table.path(entry)):
                found.setdefault(bucket, set()).add(file.handle)

    with ThreadPoolExecutor(_FOOTER_READERS) as readers:
        list(readers.map(look, *zip(*suspects, strict=True)))
    return {bucket: frozenset(files) for bucket, files in found.items() if not planner.is_blocked(bucket)}


def _corrected(bucket: Bucket, doubted: frozenset[int]) -> Bucket:
    """The bucket with the delete count of the doubted files set to unknown."""
    return replace(bucket, files=tuple(_doubt(file, doubted) for file in bucket.files))


def _doubt(file: DataFile, doubted: frozenset[int]) -> DataFile:
    return replace(file, delete_rows=None) if file.handle in doubted else file
