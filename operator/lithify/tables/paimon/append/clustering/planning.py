"""The plan of a run on a table whose rows are clustered: the files to sort in one pinned snapshot, and tasks.

Called by `compacting`. `planning.clustering` decides; this module provides its input from the table and
turns units into tasks for executors. It reads no data files and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from lithify.clock import Clock
from lithify.planning.clustering.plan import HISTORY, ClusteredUnit, SameColumns, plan_bucket
from lithify.planning.clustering.policy import ClusteringOptions
from lithify.planning.merge_tree.plan import ALL_AT_TOP, NO_TRIGGER, Rest
from lithify.planning.merge_tree.policy import Strategy
from lithify.planning.work import parts_of
from lithify.rewriting.sort_keys import SortKey
from lithify.tables.files.model import InputFile
from lithify.tables.format import Sizing
from lithify.tables.model import Bucket, BucketId, DataFile
from lithify.tables.paimon.append.clustering.resting import have_same_columns, rests, taken_at_once
from lithify.tables.paimon.append.clustering.sorting import clustering_of, same_columns, sort_key
from lithify.tables.paimon.append.clustering.task import ClusterTask
from lithify.tables.paimon.append.row_numbers import unordered
from lithify.tables.paimon.compaction.blocking import Blocks
from lithify.tables.paimon.compaction.plan import NOTHING_HELD, BucketPlan, Portion, is_held, plan_of
from lithify.tables.paimon.data_files.writer import FileTarget
from lithify.tables.paimon.metadata.column_groups import flagged, listed
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.observing.bucket_statistics import PLACE, bucket_statistics
from lithify.tables.paimon.table import PaimonTable

ClusteringPlan = BucketPlan[ClusteredUnit]


def plan_run(
    table: PaimonTable,
    view: View,
    strategy: Strategy,
    clock: Clock,
    held: Mapping[str, str] = NOTHING_HELD,
) -> ClusteringPlan:
    """Plans every bucket of a view. A problem with the files of a bucket blocks only that bucket.

    Args:
        table: the table.
        view: the snapshot and its buckets.
        strategy: minor or full.
        clock: source of the time for triggers that depend on it.
        held: fingerprints by bucket path: buckets that still have these files are left out.

    Raises:
        UnsupportedTable: a problem prevents the compaction of every bucket.
    """
    table.check_view(view)
    now, options, blocks = clock.now(), clustering_of(table).planning, Blocks(table, view)
    has_same_columns, portion = same_columns(table), Portion()
    # Which partitions count as history depends on all of them.
    takes_all = options.history is not None and strategy is Strategy.MINOR
    waiting = {bucket: None for bucket in view.bucket_ids if is_held(view, bucket, held)}
    planned: dict[BucketId, ClusteredUnit | Rest] = {}
    resting = _resting(view, options, strategy, now, has_same_columns)
    for bucket in view.bucket_ids:
        if bucket in waiting:
            continue
        if bucket in resting:
            planned[bucket] = Rest(bucket, ALL_AT_TOP if strategy is Strategy.FULL else NO_TRIGGER)
            continue
        if view.is_due and portion.is_full:
            portion.leave(bucket)
            continue
        with blocks.isolate(bucket):
            work = plan_bucket(_files(view, bucket, options), options, strategy, now, has_same_columns)
            if takes_all or portion.takes(work):
                planned[bucket] = work
    for unit in _too_much_history(_units(planned.values()), options):
        with blocks.isolate(unit.bucket):
            planned[unit.bucket] = plan_bucket(
                _files(view, unit.bucket, options),
                options,
                strategy,
                now,
                has_same_columns,
                takes_history=False,
            )
    for unit in _units(planned.values()):
        with blocks.isolate(unit.bucket):
            table.check_files(unit.bucket, unit.inputs, view.unusual(unit.bucket, unit.inputs))
    return plan_of(view, planned, waiting, blocks, strategy, portion.rest_of(view))


def _files(view: View, bucket: BucketId, options: ClusteringOptions) -> Bucket:
    return view.bucket(bucket, lambda files: taken_at_once(files, options))


def _resting(
    view: View,
    options: ClusteringOptions,
    strategy: Strategy,
    now: datetime,
    has_same_columns: SameColumns,
) -> frozenset[BucketId]:
    """The buckets that certainly have no work."""
    statistics = bucket_statistics(view.files, options.tree.small_file_size)
    same = strategy is Strategy.MINOR or have_same_columns(view.files, has_same_columns)
    places = flagged(statistics, rests(statistics, options, strategy, now, same_columns=same)).select(PLACE)
    found = set(zip(*map(listed, places.columns), strict=True))
    return frozenset(bucket for bucket in view.spans if (bucket.partition, bucket.bucket) in found)


def _units(planned: Iterable[ClusteredUnit | Rest]) -> list[ClusteredUnit]:
    return [each for each in planned if isinstance(each, ClusteredUnit)]


def _too_much_history(units: Iterable[ClusteredUnit], options: ClusteringOptions) -> list[ClusteredUnit]:
    """The units of partitions that count as history and exceed the limit; the oldest come first."""
    if options.history is None:
        return []
    top = options.tree.num_levels - 1
    history = [unit for unit in units if unit.trigger == HISTORY]
    history.sort(key=lambda unit: max(file.created_millis for file in unit.inputs if file.level < top))
    return history[max(0, options.history.limit) :]


def tasks_of(
    table: PaimonTable, plan: ClusteringPlan, sizing: Sizing
) -> Iterator[tuple[ClusteredUnit, ClusterTask]]:
    """The tasks of all units, each with its unit; not assigned to an attempt yet (see `numbered`).

    A unit is one task, so that its files are one sequence, unless the table asks for less.
    """
    settings, key = clustering_of(table), sort_key(table)
    share = sizing.task_bytes or int(4 * settings.planning.tree.target_file_size * sizing.share)
    for unit in plan.units:
        for files in [unit.inputs] if settings.is_global else parts_of(unit.inputs, share):
            yield unit, _task(table, plan.view, unit, files, key, sizing)


def _task(
    table: PaimonTable,
    view: View,
    unit: ClusteredUnit,
    files: tuple[DataFile, ...],
    key: SortKey,
    sizing: Sizing,
) -> ClusterTask:
    entries = view.entries(unit.bucket, files)
    return ClusterTask(
        files=tuple(
            InputFile(table.path(entry), entry.file.size, entry.file.rows, entry.file.schema_id, 0)
            for entry in entries
        ),
        key=key,
        numbers=unordered(files),
        schemas={file.schema_id: table.schema_of(file.schema_id) for file in files},
        target=FileTarget(
            folder=table.folder(unit.bucket),
            writer_id="",
            level=unit.output_level,
            schema=table.schema,
            options=table.options.files,
            external_paths=table.locations.external_paths(unit.bucket),
            indexes=table.options.indexes,
        ),
        storage=table.storage,
        budget=sizing.budget,
    )
