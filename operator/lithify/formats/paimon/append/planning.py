"""The plan of a run on a table without a primary key: the files to join in one pinned snapshot, and tasks.

Called by `compacting`. `engine.pack` decides; this module provides its input from the table and
turns units into tasks for executors. It reads no data files and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from lithify.engine.pack.bins import Bin
from lithify.engine.pack.candidates import candidates, rests
from lithify.engine.pack.options import PackingOptions
from lithify.engine.pack.runs import chunks
from lithify.engine.pack.triggers import nothing_to_do
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.model import VectorLocation
from lithify.formats.paimon.append.pack_task import PackTask
from lithify.formats.paimon.append.row_numbers import RowNumbers, ordered, unordered
from lithify.formats.paimon.buckets.levels import check_levels
from lithify.formats.paimon.buckets.statistics import bucket_statistics
from lithify.formats.paimon.compaction.plan import BucketPlan
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.compaction.task_files import input_of, schemas_of, target_of
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex, locations
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import BucketId, DataFile
from lithify.formats.paimon.planning.bin_packing import PackedUnit, plan_bucket
from lithify.formats.paimon.planning.files import BY_SEQUENCE, in_order
from lithify.formats.paimon.planning.work import Idle
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy
from lithify.formats.protocol.tasks import Sizing

PackingPlan = BucketPlan[PackedUnit]
NO_VECTORS: Mapping[str, VectorLocation] = MappingProxyType({})
"""No file has a deletion vector."""


def packing_of(table: PaimonTable) -> PackingOptions:
    """The options that steer bin packing.

    Raises:
        UnsupportedTable: the table has a primary key.
    """
    if table.options.packing is None:
        raise UnsupportedTable(table.name, ("it has a primary key, so its files cannot just be joined",))
    return table.options.packing


def plan_run(planner: BucketPlanner) -> PackingPlan:
    """Plans the buckets of a planner."""
    table, view, strategy = planner.table, planner.view, planner.strategy
    options = packing_of(table)

    def plan(bucket: BucketId) -> PackedUnit | Idle:
        files = view.bucket(bucket, lambda files: candidates(files, options, strategy))
        return plan_bucket(files, options, strategy, planner.now)

    def check(unit: PackedUnit) -> None:
        check_levels(table.name, unit.inputs)
        planner.check_files(unit.bucket, unit.inputs)
        _check_vectors(view.vectors(unit.bucket))

    planned = planner.plan(planner.buckets, plan, _resting(view, options, strategy))
    planner.check(planned, check)
    return planner.result(planned)


def _resting(view: View, options: PackingOptions, strategy: Strategy) -> dict[BucketId, str]:
    """The buckets that certainly have no work, and why."""
    statistics = bucket_statistics(view.files, options.small_file_size)
    buckets = view.buckets_of(statistics, rests(statistics, options, strategy))
    return dict.fromkeys(buckets, nothing_to_do(options) if strategy is Strategy.FULL else NO_TRIGGER)


def _check_vectors(indexes: Iterable[VectorIndex]) -> None:
    """Checks that no file has two deletion vectors; Paimon refuses all commits then.

    Raises:
        CorruptTable: a file has.
    """
    found: set[str] = set()
    for index in indexes:
        if twice := found.intersection(index.ranges):
            raise CorruptTable(index.name, f"another index file has a deletion vector of {min(twice)}, too")
        found.update(index.ranges)


def tasks_of(table: PaimonTable, plan: PackingPlan, sizing: Sizing) -> Iterator[tuple[PackedUnit, PackTask]]:
    """The tasks of all units, each with its unit; not assigned to an attempt yet (see `numbered`)."""
    options = packing_of(table)
    for unit in plan.units:
        if options.is_ordered:
            yield from ((unit, task) for task in _ordered_tasks(table, plan.view, unit, options, sizing))
        else:
            vectors = _vector_locations(table, plan.view, unit.bucket)
            for files in unit.bins:
                yield unit, _task(table, plan.view, unit, files, unordered(files), sizing, vectors)


def _ordered_tasks(
    table: PaimonTable, view: View, unit: PackedUnit, options: PackingOptions, sizing: Sizing
) -> Iterator[PackTask]:
    """The tasks of an ordered bucket; parts of a run are written by tasks of their own."""
    share = sizing.task_bytes or int(4 * options.target_file_size * sizing.share)
    following = _following(in_order(view.bucket(unit.bucket).files))
    for run in unit.bins:
        for files in chunks(run, max(share, options.full_bin_size), BY_SEQUENCE):
            after = following.get(files[-1].name)
            task = _task(table, view, unit, files, ordered(files, after), sizing)
            # At the end of the bucket, a small rest is joined with the files to come.
            yield replace(task, absorbs_rest=after is not None)


def _following(files: Iterable[DataFile]) -> dict[str, DataFile]:
    """By name, the file that follows another one."""
    return {file.name: after for file, after in pairwise(files)}


def _vector_locations(table: PaimonTable, view: View, bucket: BucketId) -> dict[str, VectorLocation]:
    """Where the deletion vectors of a bucket are, by the names of their files."""
    vectors = view.vectors(bucket)
    return locations(table.index_folder(bucket), vectors) if vectors else {}


def _task(
    table: PaimonTable,
    view: View,
    unit: PackedUnit,
    files: Bin[DataFile],
    numbers: RowNumbers,
    sizing: Sizing,
    vectors: Mapping[str, VectorLocation] = NO_VECTORS,
) -> PackTask:
    entries = view.entries(unit.bucket, files)
    return PackTask(
        files=tuple(
            input_of(table, entry, vector=vectors.get(entry.file.name), is_copyable=True) for entry in entries
        ),
        numbers=numbers,
        schemas=schemas_of(table, files),
        target=target_of(table, unit.bucket, table.options.files),
        storage=table.storage,
        budget=sizing.budget,
    )
