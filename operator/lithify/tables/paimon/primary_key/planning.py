"""The plan of a run: every selected bucket of one pinned snapshot, its units, and the tasks they make.

Called by `compacting` and by `lithify plan`. `planning.merge_tree` decides; this module feeds it from the
table and turns units into the tasks that executors get. It reads footers of a few files and writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lithify.clock import Clock
from lithify.planning.merge_tree.plan import Rest, Unit, plan_bucket
from lithify.planning.merge_tree.policy import Strategy
from lithify.planning.merge_tree.tasks import TaskPlan, split_rewrite
from lithify.rewriting.budget import Budget
from lithify.rewriting.order import decode_key
from lithify.rewriting.runs import Key, KeyRange
from lithify.tables.files.model import InputFile
from lithify.tables.files.registry import Readers
from lithify.tables.files.types import order_kinds
from lithify.tables.format import Block, Sizing
from lithify.tables.model import BlockedBucket, Bucket, BucketId, DataFile, OrderKey, SnapshotId
from lithify.tables.paimon.metadata.entries import COMPACT_SOURCE, ManifestEntry
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.primary_key.blocking import Blocks
from lithify.tables.paimon.primary_key.deletes import hold_deletes
from lithify.tables.paimon.primary_key.merge_functions.choosing import merge_function
from lithify.tables.paimon.primary_key.merge_task import MergeTask
from lithify.tables.paimon.primary_key.writer import FileTarget
from lithify.tables.paimon.schema.schema import merge_spec
from lithify.tables.paimon.table import PaimonTable

_FOOTER_READERS = 8
NOTHING_HELD: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run does, and where it does nothing.

    Attributes:
        view: the snapshot that it was made for.
        units: what is to be done.
        rests: buckets in which there is nothing to do.
        blocks: buckets that cannot be compacted.
        held: buckets that could not be compacted before, and whose files are the same as then: not tried.
        conflicts: buckets that others have compacted since the view was made, with the reason.
    """

    view: View
    units: tuple[Unit, ...]
    rests: tuple[Rest, ...]
    blocks: tuple[Block, ...] = ()
    held: tuple[BucketId, ...] = ()
    conflicts: Mapping[BucketId, str] = field(default_factory=dict)

    @property
    def snapshot_id(self) -> SnapshotId:
        """The snapshot that it was made for."""
        return self.view.snapshot_id

    @property
    def resting(self) -> Mapping[str, int]:
        """In how many buckets there is nothing to do, by reason."""
        return Counter(rest.reason for rest in self.rests)

    @property
    def blocked(self) -> tuple[BlockedBucket, ...]:
        """The buckets that cannot be compacted, as they are reported."""
        return tuple(block.told for block in self.blocks)


def plan_run(
    table: PaimonTable,
    view: View,
    strategy: Strategy,
    clock: Clock,
    held: Mapping[str, str] = NOTHING_HELD,
) -> RunPlan:
    """Plans every bucket of a view.

    What is wrong with the files of a bucket blocks that bucket only: files of one level that overlap, a key
    bound without an order, a file of a kind that is not rewritten, or one that cannot be read although its
    deletes have to be counted.

    Args:
        table: the table.
        view: its buckets.
        strategy: minor or full.
        clock: for triggers that depend on the time.
        held: fingerprints by bucket path: buckets that still have these files are left out.

    Raises:
        UnsupportedTable: something keeps all buckets from being compacted.
        StorageError: the file system refuses.
    """
    table.check_view(view)
    now, policy, blocks = clock.now(), table.options.policy, Blocks(table, view)
    waiting = {bucket: None for bucket in view.bucket_ids if _is_held(view, bucket, held)}
    resting = view.resting(policy, strategy, now)
    planned: dict[BucketId, Unit | Rest] = {}

    def plan(bucket: BucketId, doubted: frozenset[str] = frozenset()) -> None:
        with blocks.isolate(bucket):
            files = _corrected(view.bucket(bucket), doubted)
            planned[bucket] = plan_bucket(files, policy, strategy, now)

    for bucket in view.bucket_ids:
        if bucket in waiting:
            continue
        if bucket in resting:
            planned[bucket] = Rest(bucket, resting[bucket])
        else:
            plan(bucket)
    doubted = _files_hiding_deletes(table, view, _units(planned), blocks)
    for bucket, names in doubted.items():
        plan(bucket, names)
    for unit in _units(planned):
        with blocks.isolate(unit.bucket):
            table.check_files(unit.bucket, unit.inputs, view.unusual(unit.bucket))
    left = {bucket: each for bucket, each in planned.items() if bucket not in blocks.errors}
    blocked, conflicts = blocks.sorted_out()
    return RunPlan(
        view=view,
        units=tuple(_units(left)),
        rests=tuple(each for each in left.values() if isinstance(each, Rest)),
        blocks=blocked,
        held=tuple(waiting),
        conflicts=conflicts,
    )


def _units(planned: Mapping[BucketId, Unit | Rest]) -> list[Unit]:
    return [each for each in planned.values() if isinstance(each, Unit)]


def _is_held(view: View, bucket: BucketId, held: Mapping[str, str]) -> bool:
    known = held.get(bucket.path)
    return known is not None and known == view.fingerprint(bucket)


def tasks_of(table: PaimonTable, plan: RunPlan, sizing: Sizing) -> Iterator[tuple[Unit, MergeTask]]:
    """The tasks of all units, each with its unit; they belong to no attempt yet (see `numbered`)."""
    task_bytes = sizing.task_bytes or int(4 * table.options.policy.target_file_size * sizing.share)
    for unit in plan.units:
        entries = plan.view.entries(unit.bucket, unit.inputs)
        for rewrite in unit.work.rewrites:
            for part in split_rewrite(rewrite, task_bytes):
                yield unit, _task(table, entries, unit, part, sizing.budget)


def numbered(work: Iterable[tuple[Unit, MergeTask]], prefix: str) -> list[tuple[Unit, MergeTask]]:
    """The tasks as those of one attempt, after whose prefix their files will be named."""
    return [(unit, replace(task, index=index, prefix=prefix)) for index, (unit, task) in enumerate(work)]


def _task(
    table: PaimonTable, entries: Mapping[str, ManifestEntry], unit: Unit, part: TaskPlan, budget: Budget
) -> MergeTask:
    def read(file: DataFile) -> InputFile:
        return _input_file(table, unit, entries[file.name], is_inside=part.span.covers(file))

    sections = tuple(tuple(tuple(map(read, run)) for run in section.runs) for section in part.sections)
    schema_ids = {file.schema_id for section in part.sections for file in section.files}
    return MergeTask(
        index=0,
        prefix="",
        sections=sections,
        keys=KeyRange(_key(table, part.span.after), _key(table, part.span.upto)),
        is_last=part.is_last,
        spec=merge_spec(
            table.schema,
            table.options.sequence_fields,
            merge_function(table.schema, ignore_deletes=table.options.ignore_deletes),
            drop_deletes=unit.drop_deletes,
        ),
        schemas={schema_id: table.schema_of(schema_id) for schema_id in schema_ids},
        target=FileTarget(
            folder=table.folder(unit.bucket),
            writer_id="",
            level=unit.output_level,
            schema=table.schema,
            options=table.options.files.at(unit.output_level),
            outside=table.places.outside(unit.bucket),
        ),
        storage=table.storage,
        budget=budget,
    )


def _input_file(table: PaimonTable, unit: Unit, entry: ManifestEntry, *, is_inside: bool) -> InputFile:
    """What a reader has to know of a data file of a unit."""
    file = entry.file
    run = unit.run_numbers[file.name]
    return InputFile(
        table.path(entry), file.size, file.rows, file.schema_id, run, is_inside, table.sequence_of(file)
    )


def _key(table: PaimonTable, key: OrderKey | None) -> Key | None:
    if key is None:
        return None
    return decode_key(key, [kind for column in table.schema.key_types for kind in order_kinds(column)])


def _files_hiding_deletes(
    table: PaimonTable, view: View, units: Iterable[Unit], blocks: Blocks
) -> dict[BucketId, frozenset[str]]:
    """By bucket, the files that would be upgraded to the top level as free of deletes but are not.

    Some writers (pypaimon among them) store deletes without counting them, and an upgrade to a level between
    keeps a file as it is. What a compaction has written is counted.
    """
    suspects = [
        (unit.bucket, entry)
        for unit in units
        if unit.output_level == unit.levels.max_level
        for entry in view.entries(unit.bucket, unit.work.upgrades).values()
        if entry.file.source != COMPACT_SOURCE
    ]
    if not suspects:
        return {}
    footers = Readers(table.storage)
    found: dict[BucketId, set[str]] = {}

    def look(bucket: BucketId, entry: ManifestEntry) -> None:
        with blocks.isolate(bucket):
            if hold_deletes(footers, table.path(entry)):
                found.setdefault(bucket, set()).add(entry.file.name)

    with ThreadPoolExecutor(_FOOTER_READERS) as readers:
        list(readers.map(look, *zip(*suspects, strict=True)))
    return {bucket: frozenset(names) for bucket, names in found.items() if bucket not in blocks.errors}


def _corrected(bucket: Bucket, doubted: frozenset[str]) -> Bucket:
    """The bucket with the delete count of the doubted files unknown."""
    return replace(bucket, files=tuple(_doubt(file, doubted) for file in bucket.files))


def _doubt(file: DataFile, doubted: frozenset[str]) -> DataFile:
    return replace(file, delete_rows=None) if file.name in doubted else file
