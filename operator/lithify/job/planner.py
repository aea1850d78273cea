"""The plan of a run: every selected bucket of one pinned snapshot, its units, and the tasks they make.

Called by `driver` and by `lithify plan`. Decisions are `planning`'s; this module feeds them from the table
and turns units into the tasks that executors get. It reads footers of a few files and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from lithify.clock import Clock
from lithify.job.task import MergeTask
from lithify.planning.plan import Rest, Unit, plan_bucket
from lithify.planning.policy import Strategy
from lithify.planning.tasks import TaskPlan, split_rewrite
from lithify.rewriting.budget import Budget
from lithify.rewriting.order import decode_key
from lithify.rewriting.runs import Key, KeyRange
from lithify.tables.model import Bucket, DataFile, OrderKey
from lithify.tables.paimon.entries import COMPACT_SOURCE, Entry
from lithify.tables.paimon.formats.model import InputFile
from lithify.tables.paimon.formats.registry import Readers
from lithify.tables.paimon.schema import merge_spec
from lithify.tables.paimon.table import PaimonTable
from lithify.tables.paimon.types import order_kinds
from lithify.tables.paimon.view import View
from lithify.tables.paimon.writer import FileTarget

_FOOTER_READERS = 8


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run does, and where it does nothing."""

    view: View
    units: tuple[Unit, ...]
    rests: tuple[Rest, ...]


@dataclass(frozen=True, slots=True)
class Sizing:
    """How work is cut.

    Attributes:
        task_bytes: about how much one task reads; None for four times the target file size.
        budget: memory of one task.
        share: the part of the usual size that one task reads, where `task_bytes` is None.
    """

    task_bytes: int | None = None
    budget: Budget = field(default_factory=Budget)
    share: float = 1.0


def plan_run(table: PaimonTable, view: View, strategy: Strategy, clock: Clock) -> RunPlan:
    """Plans every bucket of a view.

    Raises:
        CorruptTable: files of one level overlap, or a file whose deletes had to be counted cannot be read.
        UnsupportedTable: a file to be compacted is of a kind that this release does not rewrite.
    """
    now = clock.now()
    resting = view.resting(table.options.policy, strategy, now)
    buckets = [view.bucket(bucket) for bucket in view.bucket_ids if bucket not in resting]
    planned = [plan_bucket(bucket, table.options.policy, strategy, now) for bucket in buckets]
    doubted = _files_hiding_deletes(table, view, [unit for unit in planned if isinstance(unit, Unit)])
    if doubted:
        buckets = [_corrected(bucket, doubted) for bucket in buckets]
        planned = [plan_bucket(bucket, table.options.policy, strategy, now) for bucket in buckets]
    units = tuple(unit for unit in planned if isinstance(unit, Unit))
    table.check_files(view, (entry for unit in units for entry in _entries(view, unit)))
    rests = [rest for rest in planned if isinstance(rest, Rest)]
    return RunPlan(view, units, (*rests, *(Rest(bucket, reason) for bucket, reason in resting.items())))


def tasks_of(table: PaimonTable, plan: RunPlan, sizing: Sizing) -> Iterator[tuple[Unit, MergeTask]]:
    """The tasks of all units, each with its unit; they belong to no attempt yet (see `numbered`)."""
    task_bytes = sizing.task_bytes or int(4 * table.options.policy.target_file_size * sizing.share)
    for unit in plan.units:
        for rewrite in unit.work.rewrites:
            for part in split_rewrite(rewrite, task_bytes):
                yield unit, _task(table, plan.view, unit, part, sizing.budget)


def numbered(work: Iterable[tuple[Unit, MergeTask]], prefix: str) -> list[tuple[Unit, MergeTask]]:
    """The tasks as those of one attempt, after whose prefix their files will be named."""
    return [(unit, replace(task, index=index, prefix=prefix)) for index, (unit, task) in enumerate(work)]


def _task(table: PaimonTable, view: View, unit: Unit, part: TaskPlan, budget: Budget) -> MergeTask:
    entries = view.entries(unit.bucket)

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
            ignore_deletes=table.options.ignore_deletes,
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


def _input_file(table: PaimonTable, unit: Unit, entry: Entry, *, is_inside: bool) -> InputFile:
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


def _files_hiding_deletes(table: PaimonTable, view: View, units: Iterable[Unit]) -> frozenset[str]:
    """Files that would be upgraded to the top level as free of deletes but are not.

    Some writers (pypaimon among them) store deletes without counting them, and an upgrade to a level between
    keeps a file as it is. What a compaction has written is counted.
    """
    suspects = [
        entry
        for unit in units
        if unit.output_level == unit.levels.max_level
        for entry in _entries(view, unit, unit.work.upgrades)
        if entry.file.source != COMPACT_SOURCE
    ]
    if not suspects:
        return frozenset()
    with ThreadPoolExecutor(_FOOTER_READERS) as readers:
        verdicts = list(readers.map(Readers(table.storage).hold_deletes, map(table.path, suspects)))
        return frozenset(entry.file.name for entry, bad in zip(suspects, verdicts, strict=True) if bad)


def _entries(view: View, unit: Unit, files: Sequence[DataFile] | None = None) -> list[Entry]:
    """The manifest entries of some files of a unit, by default of all its inputs."""
    entries = view.entries(unit.bucket)
    return [entries[file.name] for file in (unit.inputs if files is None else files)]


def _corrected(bucket: Bucket, doubted: frozenset[str]) -> Bucket:
    """The bucket with the delete count of the doubted files unknown."""
    return replace(bucket, files=tuple(_doubt(file, doubted) for file in bucket.files))


def _doubt(file: DataFile, doubted: frozenset[str]) -> DataFile:
    return replace(file, delete_rows=None) if file.name in doubted else file


def total_bytes(units: Sequence[Unit]) -> int:
    """Bytes that the units read."""
    return sum(unit.rewritten_size for unit in units)
