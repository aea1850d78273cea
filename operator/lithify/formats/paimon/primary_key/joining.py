"""Joins adjacent small files that different tasks have written: data files of one rewrite, and changelogs.

Called by `step` when all tasks are done. A task appends a small remainder to its previous file, but has no
previous file if merging shrinks all of its rows to less than one file. A single task would have written those
rows to the same file as their neighbours, so a second wave of tasks reads and rewrites them; most runs need
none. Changelog files of a bucket are joined likewise, whichever tasks wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from lithify.columns.key_range import EVERYTHING
from lithify.columns.order_key import OrderKey
from lithify.engine.rewrite.functions import Deduplicate
from lithify.engine.rewrite.rolling import SMALL
from lithify.files.model import InputFile
from lithify.formats.paimon.manifests.entries import FileMeta
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.planning.merge_tree.plan import Unit
from lithify.formats.paimon.primary_key.changelog_task import ChangelogTask
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.protocol.results import TaskOutputs, TaskResult

UnitTask = tuple[Unit, MergeTask]


@dataclass(frozen=True, slots=True)
class Join:
    """A task that rewrites files of this attempt, which are obsolete once it is done."""

    unit: Unit
    task: MergeTask | ChangelogTask
    files: tuple[FileMeta, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """A file and the task that made it."""

    unit: Unit
    task: MergeTask
    file: FileMeta


def joins_of(work: Sequence[UnitTask], results: Sequence[TaskResult]) -> list[Join]:
    """The joins needed after all tasks; tasks of one rewrite are adjacent in `work`.

    The results may include those of other tasks; the joins are numbered behind all of them.
    """
    by_index = {result.index: result for result in results}
    joins: list[Join] = []
    files: list[Made] = []
    for unit, task in work:
        files += [Made(unit, task, file) for file in by_index[task.index].outputs.data]
        if task.is_last:
            first = len(results) + len(joins)
            joins += [_join(group, first + n) for n, group in enumerate(_neighbours(files))]
            files = []
    return joins


def changelog_joins_of(
    work: Sequence[UnitTask], results: Sequence[TaskResult], order: Callable[[bytes], OrderKey], first: int
) -> list[Join]:
    """The joins of changelog files needed after all tasks, numbered from `first`.

    Tasks of a bucket have disjoint key ranges, so that their files are in the order of their first keys. Each
    join makes one file of about the target size, and no file is joined that has that size already.

    Args:
        work: the tasks with their units.
        results: their results, and maybe those of other tasks.
        order: converts a key bound to an order key.
        first: number of the first join.
    """
    by_index = {result.index: result for result in results}
    made: dict[BucketId, list[Made]] = {}
    for unit, task in work:
        files = by_index[task.index].outputs.changelog
        made.setdefault(unit.bucket, []).extend(Made(unit, task, file) for file in files)
    ordered = (sorted(files, key=lambda each: order(each.file.min_key)) for files in made.values())
    groups = chain.from_iterable(map(_small_ones, ordered))
    return [_changelog_join(group, number) for number, group in enumerate(groups, first)]


def without_joined(results: Sequence[TaskResult], joins: Sequence[Join]) -> list[TaskResult]:
    """The results without the files that were joined."""
    joined = {file.name for join in joins for file in join.files}
    return [replace(result, outputs=_without(result.outputs, joined)) for result in results]


def _without(outputs: TaskOutputs, joined: Collection[str]) -> TaskOutputs:
    return replace(
        outputs,
        data=tuple(file for file in outputs.data if file.name not in joined),
        changelog=tuple(file for file in outputs.changelog if file.name not in joined),
    )


def _neighbours(files: Sequence[Made]) -> Iterator[list[Made]]:
    """Groups of adjacent small files; a group whose total is still small includes the next file."""
    group: list[Made] = []
    size = 0
    for made in files:
        small = SMALL * made.task.target.options.target_size
        if made.file.size < small or 0 < size < small:
            group.append(made)
            size += made.file.size
        if made.file.size >= small:
            yield from [group] if len(group) > 1 else []
            group, size = [], 0
    yield from [group] if len(group) > 1 else []


def _small_ones(files: Sequence[Made]) -> Iterator[list[Made]]:
    """Groups of adjacent small changelog files, each large enough together unless a large one follows."""
    group: list[Made] = []
    size = 0
    for made in files:
        small = SMALL * made.task.target.options.target_size
        size += made.file.size
        if made.file.size < small:
            group.append(made)
        if size >= small:
            yield from [group] if len(group) > 1 else []
            group, size = [], 0
    yield from [group] if len(group) > 1 else []


def _changelog_join(group: Sequence[Made], index: int) -> Join:
    first, files = group[0], tuple(made.file for made in group)
    target = first.task.changelog
    assert target is not None  # noqa: S101  # the task has written a changelog
    run = tuple(
        InputFile(file.path(target.folder), file.size, file.rows, target.schema.id, 0) for file in files
    )
    joining = ChangelogTask(
        index=index,
        prefix=first.task.prefix,
        schemas={target.schema.id: target.schema},
        storage=first.task.storage,
        budget=first.task.budget,
        files=run,
        target=target,
    )
    return Join(first.unit, joining, files)


def _join(group: Sequence[Made], index: int) -> Join:
    first, files = group[0], tuple(made.file for made in group)
    folder, newest = first.task.target.folder, first.task.target.schema
    run = tuple(InputFile(file.path(folder), file.size, file.rows, newest.id, 0) for file in files)
    joining = replace(
        first.task,
        index=index,
        sections=((run,),),
        keys=EVERYTHING,
        is_last=False,
        # Merging a record again may change it: a partial update leaves out values of groups without order.
        spec=replace(first.task.spec, function=Deduplicate(), changelog=None),
        known=(),
        known_columns=None,
        changelog=None,
        schemas={newest.id: newest},
    )
    return Join(first.unit, joining, files)
