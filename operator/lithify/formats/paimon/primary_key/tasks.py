"""The tasks of a plan on a primary-key table: what each merges, where it looks up keys, and what it writes.

Called by `compacting`, on the driver. Reads nothing but the plan's view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

from lithify.columns.key_range import Key, KeyRange
from lithify.columns.order import decode_key
from lithify.columns.order_key import OrderKey
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.changelog import ChangelogSpec
from lithify.engine.rewrite.functions import MergeFunction
from lithify.files.model import InputFile, VectorLocation
from lithify.files.types import order_kinds
from lithify.formats.paimon.compaction.task_files import target_of
from lithify.formats.paimon.data_files.expired_rows import ExpiredRows
from lithify.formats.paimon.data_files.writer import FileTarget
from lithify.formats.paimon.deletion_vectors.index_files import locations
from lithify.formats.paimon.manifests.entries import (
    APPEND_SOURCE,
    COMPACT_SOURCE,
    FileMeta,
    ManifestEntry,
)
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.plan import Unit
from lithify.formats.paimon.planning.merge_tree.rewrites import Rewrite
from lithify.formats.paimon.planning.merge_tree.sections import Section
from lithify.formats.paimon.planning.merge_tree.tasks import KeySpan, TaskPlan, split_rewrite
from lithify.formats.paimon.primary_key.changelog_task import ChangelogTask
from lithify.formats.paimon.primary_key.changelogs import changelog_of_rewrite
from lithify.formats.paimon.primary_key.lookups import (
    files_of,
    function_of_rewrite,
    in_one_section,
    known_columns,
    known_run_number,
    known_runs,
    looks_up,
    new_files,
)
from lithify.formats.paimon.primary_key.merge_functions.choosing import merge_function
from lithify.formats.paimon.primary_key.merge_specs import merge_spec
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.paimon.primary_key.planning import PlannedUnit, RunPlan
from lithify.formats.paimon.primary_key.postponed import PostponedUnit, tasks_of_postponed
from lithify.formats.paimon.primary_key.postponed_task import PostponedTask
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.tasks import Sizing

PlannedTask = MergeTask | PostponedTask | ChangelogTask


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Describes the files of one unit to readers.

    Attributes:
        table: the table.
        unit: the unit.
        entries: the manifest entries of its files, by handle.
        vectors: where the deletion vectors of its bucket are, by file name.
    """

    table: PaimonTable
    unit: Unit
    entries: Mapping[int, ManifestEntry]
    vectors: Mapping[str, VectorLocation]

    @classmethod
    def of(cls, table: PaimonTable, view: View, unit: Unit) -> _Inputs:
        """The files of a unit in a view."""
        files, indexes = files_of(unit, table.options), view.vectors(unit.bucket)
        entries = zip(files, view.entries(unit.bucket, files), strict=True)
        folder = table.index_folder(unit.bucket) if indexes else ""
        return cls(table, unit, {file.handle: entry for file, entry in entries}, locations(folder, indexes))

    def merged(self, part: TaskPlan) -> tuple[tuple[tuple[InputFile, ...], ...], ...]:
        """The files that a task merges, by section and sorted run."""

        def read(file: DataFile) -> InputFile:
            return self._file(file, is_inside=part.span.covers(file))

        return tuple(tuple(tuple(map(read, run)) for run in section.runs) for section in part.sections)

    def known(self, runs: Sequence[Sequence[DataFile]]) -> tuple[tuple[InputFile, ...], ...]:
        """The files in which a task looks up keys, numbered."""
        numbers = count()
        return tuple(
            tuple(replace(self._file(file, is_inside=False), number=next(numbers)) for file in run)
            for run in runs
        )

    def _file(self, file: DataFile, *, is_inside: bool) -> InputFile:
        entry, numbers = self.entries[file.handle], self.unit.run_numbers
        stored = entry.file
        is_picked = file.name in numbers
        return InputFile(
            self.table.path(entry),
            stored.size,
            stored.rows,
            stored.schema_id,
            numbers[file.name] if is_picked else known_run_number(self.unit, stored.level),
            is_inside,
            self.table.sequence_of(stored),
            is_copyable=_is_copyable(self.table, stored),
            vector=self.vectors.get(file.name),
        )


def tasks_of(table: PaimonTable, plan: RunPlan, sizing: Sizing) -> Iterator[tuple[PlannedUnit, PlannedTask]]:
    """The tasks of all units, each with its unit; not assigned to an attempt yet (see `numbered`)."""
    task_bytes = sizing.task_bytes or int(4 * table.options.policy.target_file_size * sizing.share)
    chosen = merge_function(table.schema, ignore_deletes=table.options.ignore_deletes)
    for unit in plan.units:
        if isinstance(unit, PostponedUnit):
            for moving in tasks_of_postponed(table, plan.view, unit, task_bytes, sizing.budget):
                yield unit, moving
            continue
        inputs = _Inputs.of(table, plan.view, unit)
        for rewrite in unit.work.rewrites:
            merging = _merging(table, chosen, unit, rewrite.files)
            for part in split_rewrite(rewrite, task_bytes):
                yield unit, _task(inputs, part, merging, sizing.budget)
        for file, part in _upgraded_parts(table, unit, task_bytes):
            merging = _merging(table, chosen, unit, (file,))
            task = _task(inputs, part, merging, sizing.budget)
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


def _task(
    inputs: _Inputs, part: TaskPlan, merging: tuple[MergeFunction, ChangelogSpec | None], budget: Budget
) -> MergeTask:
    table, unit, (function, changelog) = inputs.table, inputs.unit, merging
    known = [*known_runs(unit, part)] if looks_up(function) else []
    if known:
        part = in_one_section(part)
    merged = (file for section in part.sections for file in section.files)
    schema_ids = {file.schema_id for file in (*merged, *chain.from_iterable(known))}
    level = unit.output_level
    target = target_of(table, unit.bucket, table.options.files.at(level), level)
    return MergeTask(
        sections=inputs.merged(part),
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
        known=inputs.known(known),
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


def _expired_rows(table: PaimonTable, before: int | None) -> ExpiredRows | None:
    expiry = table.options.expiry
    if expiry is None or before is None:
        return None
    return ExpiredRows(expiry.column, table.schema.column(expiry.column).type.root, before)


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
