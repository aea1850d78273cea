"""The plan of a run on a primary-key table: the units of the selected buckets in one pinned snapshot.

Called by `compacting`. `planning.merge_tree` decides; this module provides its input from the table. It reads
footers of a few files and writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial

from lithify.clock import Clock
from lithify.planning.merge_tree.plan import Unit, plan_bucket
from lithify.planning.merge_tree.policy import MergeTreeOptions
from lithify.planning.work import Rest, Strategy
from lithify.tables.files.registry import Readers
from lithify.tables.model import Bucket, BucketId, DataFile
from lithify.tables.paimon.compaction.blocking import Blocks
from lithify.tables.paimon.compaction.plan import (
    NOTHING_HELD,
    BucketPlan,
    Portion,
    held_buckets,
    plan_buckets,
    plan_of,
    units_of,
)
from lithify.tables.paimon.metadata.column_groups import PLACE, listed, with_columns
from lithify.tables.paimon.metadata.entries import COMPACT_SOURCE, ManifestEntry
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.observing.bucket_statistics import bucket_statistics
from lithify.tables.paimon.observing.postponed import is_postponed
from lithify.tables.paimon.observing.resting import resting_reasons
from lithify.tables.paimon.primary_key.changelogs import check_levels
from lithify.tables.paimon.primary_key.deletes import hold_deletes
from lithify.tables.paimon.primary_key.lookups import files_of
from lithify.tables.paimon.primary_key.postponed import (
    STUCK,
    PostponedUnit,
    plan_all_postponed,
    stuck_partitions,
)
from lithify.tables.paimon.table import PaimonTable

_FOOTER_READERS = 8

PlannedUnit = Unit | PostponedUnit
RunPlan = BucketPlan[PlannedUnit]


def plan_run(
    table: PaimonTable,
    view: View,
    strategy: Strategy,
    clock: Clock,
    held: Mapping[str, str] = NOTHING_HELD,
) -> RunPlan:
    """Plans every bucket of a view.

    Where a partition has postponed rows, these are moved to their buckets first, and the buckets are planned
    in the run's next round: a compaction may drop a delete that the user's order puts after a postponed row.

    A problem with the files of a bucket blocks only that bucket: overlapping files of one level, a key bound
    without an order, an unsupported kind of file, or an unreadable file whose deletes must be counted.

    Args:
        table: the table.
        view: the snapshot and its buckets.
        strategy: minor or full.
        clock: source of the time for triggers that depend on it.
        held: fingerprints by bucket path: buckets that still have these files are left out.

    Raises:
        UnsupportedTable: a problem prevents the compaction of every bucket.
        StorageError: the file system refuses access.
    """
    table.check_view(view)
    blocks = Blocks(table, view)
    waiting = held_buckets(view, held)
    moving = plan_all_postponed(table, view, waiting, blocks)
    moved = {bucket.partition for bucket in moving}
    chosen = [
        bucket
        for bucket in view.bucket_ids
        if not (bucket in waiting or bucket.partition in moved or is_postponed(bucket.bucket))
    ]
    portion = Portion(view)
    planned = {**moving, **_plan_buckets(table, view, chosen, strategy, clock, blocks, portion)}
    return plan_of(view, planned, waiting, blocks, strategy, portion.rest)


def _plan_buckets(
    table: PaimonTable,
    view: View,
    chosen: Collection[BucketId],
    strategy: Strategy,
    clock: Clock,
    blocks: Blocks,
    portion: Portion,
) -> dict[BucketId, Unit | Rest]:
    """Plans real buckets none of whose rows are about to be moved, as many as the portion takes."""
    now, policy = clock.now(), table.options.policy
    stuck = stuck_partitions(table, view)
    resting = _resting(view, policy, strategy, now)
    resting |= {bucket: STUCK for bucket in chosen if bucket.partition in stuck}

    def plan(doubted: Mapping[BucketId, frozenset[int]], bucket: BucketId) -> Unit | Rest:
        files = _corrected(view.bucket(bucket), doubted.get(bucket, frozenset()))
        return plan_bucket(files, policy, strategy, now)

    planned = plan_buckets(chosen, resting, blocks, partial(plan, {}), portion)
    doubted = _files_hiding_deletes(table, view, units_of(planned), blocks)
    planned |= plan_buckets(doubted, {}, blocks, partial(plan, doubted))
    for unit in units_of(planned):
        with blocks.isolate(unit.bucket):
            check_levels(unit, table.options.changelog, policy.num_levels)
            files = files_of(unit, table.options)
            vectors = view.vectors(unit.bucket)
            table.check_files(unit.bucket, files, view.unusual(unit.bucket, files), vectors)
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


def _files_hiding_deletes(
    table: PaimonTable, view: View, units: Iterable[Unit], blocks: Blocks
) -> dict[BucketId, frozenset[int]]:
    """By bucket, the handles of files planned for upgrade that hold uncounted deletes but must not.

    Some writers (pypaimon among them) store deletes without counting them. A file that moves to another level
    is not rewritten for its deletes unless the table has deletion vectors. Files written by a
    compaction have correct counts and are not checked.
    """
    suspects = [
        (unit.bucket, file, entry)
        for unit in units
        if unit.output_level == unit.levels.max_level or table.options.policy.has_vectors
        for file, entry in zip(unit.work.upgrades, view.entries(unit.bucket, unit.work.upgrades), strict=True)
        if entry.file.source != COMPACT_SOURCE
    ]
    if not suspects:
        return {}
    footers = Readers(table.storage)
    found: dict[BucketId, set[int]] = {}

    def look(bucket: BucketId, file: DataFile, entry: ManifestEntry) -> None:
        with blocks.isolate(bucket):
            if hold_deletes(footers, table.path(entry)):
                found.setdefault(bucket, set()).add(file.handle)

    with ThreadPoolExecutor(_FOOTER_READERS) as readers:
        list(readers.map(look, *zip(*suspects, strict=True)))
    return {bucket: frozenset(files) for bucket, files in found.items() if bucket not in blocks.errors}


def _corrected(bucket: Bucket, doubted: frozenset[int]) -> Bucket:
    """The bucket with the delete count of the doubted files set to unknown."""
    return replace(bucket, files=tuple(_doubt(file, doubted) for file in bucket.files))


def _doubt(file: DataFile, doubted: frozenset[int]) -> DataFile:
    return replace(file, delete_rows=None) if file.handle in doubted else file
