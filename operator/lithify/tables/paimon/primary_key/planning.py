"""The plan of a run: the units of the selected buckets in one pinned snapshot, and their tasks.

Called by `compacting`. `planning.merge_tree` decides; this module provides its input from the table
and turns units into tasks for executors. It reads footers of a few files and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, count

from lithify.clock import Clock
from lithify.planning.merge_tree.plan import Rest, Unit, plan_bucket
from lithify.planning.merge_tree.policy import Strategy
from lithify.planning.merge_tree.rewrites import Rewrite
from lithify.planning.merge_tree.sections import Section
from lithify.planning.merge_tree.tasks import KeySpan, TaskPlan, split_rewrite
from lithify.rewriting.budget import Budget
from lithify.rewriting.changelog import ChangelogSpec
from lithify.rewriting.functions import MergeFunction
from lithify.rewriting.order import decode_key
from lithify.rewriting.runs import Key, KeyRange
from lithify.tables.files.model import InputFile, VectorLocation
from lithify.tables.files.registry import Readers
from lithify.tables.files.types import order_kinds
from lithify.tables.format import Sizing
from lithify.tables.model import Bucket, BucketId, DataFile, OrderKey
from lithify.tables.paimon.compaction.blocking import Blocks
from lithify.tables.paimon.compaction.plan import NOTHING_HELD, BucketPlan, is_held, plan_of
from lithify.tables.paimon.data_files.expired_rows import ExpiredRows
from lithify.tables.paimon.data_files.writer import FileTarget
from lithify.tables.paimon.deletion_vectors.index_files import locations
from lithify.tables.paimon.metadata.entries import (
    APPEND_SOURCE,
    COMPACT_SOURCE,
    FileMeta,
    ManifestEntry,
)
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.observing.postponed import is_postponed
from lithify.tables.paimon.primary_key.changelog_task import ChangelogTask
from lithify.tables.paimon.primary_key.changelogs import changelog_of_rewrite, check_levels
from lithify.tables.paimon.primary_key.deletes import hold_deletes
from lithify.tables.paimon.primary_key.lookups import (
    function_of_rewrite,
    in_one_section,
    known_columns,
    known_run_number,
    known_runs,
    looks_up,
    new_files,
)
from lithify.tables.paimon.primary_key.merge_functions.choosing import merge_function
from lithify.tables.paimon.primary_key.merge_task import MergeTask
from lithify.tables.paimon.primary_key.postponed import (
    STUCK,
    PostponedUnit,
    plan_all_postponed,
    stuck_partitions,
    tasks_of_postponed,
)
from lithify.tables.paimon.primary_key.postponed_task import PostponedTask
from lithify.tables.paimon.schema.schema import merge_spec
from lithify.tables.paimon.table import PaimonTable

_FOOTER_READERS = 8

PlannedUnit = Unit | PostponedUnit
PlannedTask = MergeTask | PostponedTask | ChangelogTask
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
    waiting = {bucket: None for bucket in view.bucket_ids if is_held(view, bucket, held)}
    moving = plan_all_postponed(table, view, waiting, blocks)
    moved = {bucket.partition for bucket in moving}
    chosen = [
        bucket
        for bucket in view.bucket_ids
        if not (bucket in waiting or bucket.partition in moved or is_postponed(bucket.bucket))
    ]
    planned = {**moving, **_plan_buckets(table, view, chosen, strategy, clock, blocks)}
    return plan_of(view, planned, waiting, blocks, strategy)


def _plan_buckets(
    table: PaimonTable,
    view: View,
    chosen: Iterable[BucketId],
    strategy: Strategy,
    clock: Clock,
    blocks: Blocks,
) -> dict[BucketId, Unit | Rest]:
    """Plans real buckets none of whose rows are about to be moved."""
    now, policy = clock.now(), table.options.policy
    resting, stuck = view.resting(policy, strategy, now), stuck_partitions(table, view)
    planned: dict[BucketId, Unit | Rest] = {}

    def plan(bucket: BucketId, doubted: frozenset[int] = frozenset()) -> None:
        with blocks.isolate(bucket):
            files = _corrected(view.bucket(bucket), doubted)
            planned[bucket] = plan_bucket(files, policy, strategy, now)

    for bucket in chosen:
        if bucket.partition in stuck:
            planned[bucket] = Rest(bucket, STUCK)
        elif bucket in resting:
            planned[bucket] = Rest(bucket, resting[bucket])
        else:
            plan(bucket)
    doubted = _files_hiding_deletes(table, view, _units(planned), blocks)
    for bucket, handles in doubted.items():
        plan(bucket, handles)
    for unit in _units(planned):
        with blocks.isolate(unit.bucket):
            check_levels(unit, table.options.changelog, policy.num_levels)
            files = _read_files(table, unit)
            vectors = view.vectors(unit.bucket)
            table.check_files(unit.bucket, files, view.unusual(unit.bucket, files), vectors)
    return planned


def _units(planned: Mapping[BucketId, Unit | Rest]) -> list[Unit]:
    return [each for each in planned.values() if isinstance(each, Unit)]


def tasks_of(table: PaimonTable, plan: RunPlan, sizing: Sizing) -> Iterator[tuple[PlannedUnit, PlannedTask]]:
    """The tasks of all units, each with its unit; not assigned to an attempt yet (see `numbered`)."""
    task_bytes = sizing.task_bytes or int(4 * table.options.policy.target_file_size * sizing.share)
    chosen = merge_function(table.schema, ignore_deletes=table.options.ignore_deletes)
    for unit in plan.units:
        if isinstance(unit, PostponedUnit):
            for moving in tasks_of_postponed(table, plan.view, unit, task_bytes, sizing.budget):
                yield unit, moving
            continue
        files = _read_files(table, unit)
        found = plan.view.entries(unit.bucket, files)
        entries = {file.handle: entry for file, entry in zip(files, found, strict=True)}
        for rewrite in unit.work.rewrites:
            merging = _merging(table, chosen, unit, rewrite.files)
            for part in split_rewrite(rewrite, task_bytes):
                yield unit, _task(table, plan.view, entries, unit, part, merging, sizing.budget)
        for file, part in _upgraded_parts(table, unit, task_bytes):
            merging = _merging(table, chosen, unit, (file,))
            task = _task(table, plan.view, entries, unit, part, merging, sizing.budget)
            if task.changelog is not None or task.known:
                yield unit, replace(task, rewrites=False)


def _upgraded_parts(table: PaimonTable, unit: Unit, task_bytes: int) -> Iterator[tuple[DataFile, TaskPlan]]:
    """Files that only change level, and yet are read for the changelog or to look up their keys."""
    if table.options.vectors is None:
        for file in unit.logged:
            yield file, TaskPlan((Section(((file,),)),), KeySpan(), file.size, is_last=True)
        return
    for file in unit.work.upgrades:
        if file.level == 0:
            for part in split_rewrite(Rewrite((Section(((file,),)),)), task_bytes):
                yield file, part


def _merging(
    table: PaimonTable, chosen: MergeFunction, unit: Unit, files: Sequence[DataFile]
) -> tuple[MergeFunction, ChangelogSpec | None]:
    """How the rows of some files are merged, and how their changes are recorded."""
    function = function_of_rewrite(chosen, unit, files, table.options)
    return function, changelog_of_rewrite(table.options.changelog, function, unit, table.schema)


def _read_files(table: PaimonTable, unit: Unit) -> tuple[DataFile, ...]:
    """The files of a unit that are rewritten, upgraded, or in which keys are looked up."""
    policy = table.options.policy
    if not (policy.looks_up or policy.has_vectors or table.options.changelog.looks_up):
        return unit.inputs
    upper = (run.files for run in unit.levels.runs if run.level > unit.output_level)
    return (*unit.inputs, *chain.from_iterable(upper))


def _task(
    table: PaimonTable,
    view: View,
    entries: Mapping[int, ManifestEntry],
    unit: Unit,
    part: TaskPlan,
    merging: tuple[MergeFunction, ChangelogSpec | None],
    budget: Budget,
) -> MergeTask:
    function, changelog = merging
    known = [*known_runs(unit, part)] if looks_up(function) else []
    if known:
        part = in_one_section(part)

    vectors = _vector_locations(table, view, unit)

    def read(file: DataFile) -> InputFile:
        return _input_file(
            table, unit, entries[file.handle], vectors.get(file.name), is_inside=part.span.covers(file)
        )

    numbers = count()

    def look_up(file: DataFile) -> InputFile:
        return replace(read(file), number=next(numbers), is_inside=False)

    sections = tuple(tuple(tuple(map(read, run)) for run in section.runs) for section in part.sections)
    merged = (file for section in part.sections for file in section.files)
    schema_ids = {file.schema_id for file in (*merged, *chain.from_iterable(known))}
    target = FileTarget(
        folder=table.folder(unit.bucket),
        writer_id="",
        level=unit.output_level,
        schema=table.schema,
        options=table.options.files.at(unit.output_level),
        external_paths=table.locations.external_paths(unit.bucket),
        indexes=table.options.indexes,
    )
    return MergeTask(
        sections=sections,
        keys=KeyRange(_key(table, part.span.after), _key(table, part.span.upto)),
        is_last=part.is_last,
        spec=merge_spec(
            table.schema,
            table.options.sequence_fields,
            function,
            drop_deletes=unit.drop_deletes,
            changelog=changelog,
        ),
        schemas={schema_id: table.schema_of(schema_id) for schema_id in schema_ids},
        target=target,
        storage=table.storage,
        budget=budget,
        expired=_expired_rows(table, unit.expired_before),
        known=tuple(tuple(map(look_up, run)) for run in known),
        known_columns=known_columns(function, table.schema),
        known_keys=_known_keys(table, part),
        first_upper_run=len(unit.levels.level0),
        changelog=None if changelog is None else _changelog_target(table, target),
    )


def _changelog_target(table: PaimonTable, data: FileTarget) -> FileTarget | None:
    """Where and how a task writes its changelog."""
    options = table.options.changelog_files
    if options is None:
        return None
    return replace(data, options=options.at(data.level), source=APPEND_SOURCE)


def _known_keys(table: PaimonTable, part: TaskPlan) -> KeyRange:
    """A range that contains the keys of the task's level-0 files."""
    last = max((file.max_key for file in new_files(part)), default=None)
    upto = part.span.upto if last is None or (part.span.upto and part.span.upto < last) else last
    return KeyRange(_key(table, part.span.after), _key(table, upto))


def _vector_locations(table: PaimonTable, view: View, unit: Unit) -> dict[str, VectorLocation]:
    """Where the deletion vectors of a unit's bucket are, by the names of their files."""
    folder = table.index_folder(unit.bucket) if view.vectors(unit.bucket) else ""
    return locations(folder, view.vectors(unit.bucket))


def _expired_rows(table: PaimonTable, before: int | None) -> ExpiredRows | None:
    expiry = table.options.expiry
    if expiry is None or before is None:
        return None
    return ExpiredRows(expiry.column, table.schema.column(expiry.column).type.root, before)


def _input_file(
    table: PaimonTable, unit: Unit, entry: ManifestEntry, vector: VectorLocation | None, *, is_inside: bool
) -> InputFile:
    """Describes a data file of a unit to a reader."""
    file = entry.file
    run = unit.run_numbers[file.name] if file.name in unit.run_numbers else known_run_number(unit, file.level)
    return InputFile(
        table.path(entry),
        file.size,
        file.rows,
        file.schema_id,
        run,
        is_inside,
        table.sequence_of(file),
        is_copyable=_is_copyable(table, file),
        vector=vector,
    )


def _is_copyable(table: PaimonTable, file: FileMeta) -> bool:
    """Whether rows of a file may be copied as they are: a compaction wrote it with the present options.

    Options are part of the schema, so the file has the codec, filters and layout that a new one would have.
    """
    return (
        file.source == COMPACT_SOURCE
        and file.delete_rows == 0
        and file.schema_id == table.schema.id
        and not table.options.snapshot_ordering
    )


def _key(table: PaimonTable, key: OrderKey | None) -> Key | None:
    if key is None:
        return None
    return decode_key(key, [kind for column in table.schema.key_types for kind in order_kinds(column)])


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
