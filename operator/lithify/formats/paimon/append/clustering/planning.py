"""The plan of a run on a table whose rows are clustered: the files to sort in one pinned snapshot, and tasks.

Called by `compacting`. `planning.clustering` decides; this module provides its input from the table and turns
units into tasks for executors. It reads no data files and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial

from lithify.engine.pack.runs import parts_of
from lithify.engine.rewrite.sort_keys import SortKey
from lithify.formats.paimon.append.clustering.sorting import clustering_of, sort_key
from lithify.formats.paimon.append.clustering.task import ClusterTask
from lithify.formats.paimon.append.row_numbers import unordered
from lithify.formats.paimon.buckets.clustered import have_same_columns, rests, same_columns, taken_at_once
from lithify.formats.paimon.buckets.statistics import bucket_statistics
from lithify.formats.paimon.compaction.plan import BucketPlan, units_of
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.compaction.task_files import input_of, schemas_of, target_of
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import BucketId, DataFile
from lithify.formats.paimon.planning.clustering.plan import (
    HISTORY,
    ClusteredUnit,
    SameColumns,
    plan_bucket,
)
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions
from lithify.formats.paimon.planning.work import ALL_AT_TOP, Idle
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy
from lithify.formats.protocol.tasks import Sizing

ClusteringPlan = BucketPlan[ClusteredUnit]


def plan_run(planner: BucketPlanner) -> ClusteringPlan:
    """Plans the buckets of a planner."""
    table, view, strategy, now = planner.table, planner.view, planner.strategy, planner.now
    options, has_same_columns = clustering_of(table).planning, same_columns(table.schema, table.schema_of)

    def plan(bucket: BucketId, *, takes_history: bool = True) -> ClusteredUnit | Idle:
        files = view.bucket(bucket, lambda files: taken_at_once(files, options))
        return plan_bucket(files, options, strategy, now, has_same_columns, takes_history=takes_history)

    def check(unit: ClusteredUnit) -> None:
        planner.check_files(unit.bucket, unit.inputs)

    resting = _resting(view, options, strategy, now, has_same_columns)
    # Which partitions count as history depends on all of them.
    takes_all = options.history is not None and strategy is Strategy.MINOR
    planned = planner.plan(planner.buckets, plan, resting, takes_all=takes_all)
    too_much = [unit.bucket for unit in _too_much_history(units_of(planned), options)]
    planned |= planner.plan_again(too_much, partial(plan, takes_history=False))
    planner.check(planned, check)
    return planner.result(planned)


def _resting(
    view: View,
    options: ClusteringOptions,
    strategy: Strategy,
    now: datetime,
    has_same_columns: SameColumns,
) -> dict[BucketId, str]:
    """The buckets that certainly have no work, and why."""
    statistics = bucket_statistics(view.files, options.universal.small_file_size)
    same = strategy is Strategy.MINOR or have_same_columns(view.files, has_same_columns)
    buckets = view.buckets_of(statistics, rests(statistics, options, strategy, now, same_columns=same))
    return dict.fromkeys(buckets, ALL_AT_TOP if strategy is Strategy.FULL else NO_TRIGGER)


def _too_much_history(units: Iterable[ClusteredUnit], options: ClusteringOptions) -> list[ClusteredUnit]:
    """The units of partitions that count as history and exceed the limit; the oldest come first."""
    if options.history is None:
        return []
    top = options.universal.num_levels - 1
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
    share = sizing.task_bytes or int(4 * settings.planning.universal.target_file_size * sizing.share)
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
    return ClusterTask(
        files=tuple(input_of(table, entry) for entry in view.entries(unit.bucket, files)),
        key=key,
        numbers=unordered(files),
        schemas=schemas_of(table, files),
        target=target_of(table, unit.bucket, table.options.files, unit.output_level),
        storage=table.storage,
        budget=sizing.budget,
    )
