"""Chooses the merge function of a rewrite and the files in which it looks up keys.

Called by `planning` and `tasks`. Keys are looked up in the files above the output level (the known runs),
which are neither inputs nor changed: a task reads them in the same pass as its inputs, only those that
overlap its key range, and with first-row and some deletion vectors only their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, zip_longest

from lithify.engine.rewrite.functions import Deduplicate, MergeFunction
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.options.changelog_options import ChangelogProducer
from lithify.formats.paimon.options.table_options import TableOptions
from lithify.formats.paimon.planning.merge_tree.plan import Unit
from lithify.formats.paimon.planning.merge_tree.sections import Section
from lithify.formats.paimon.planning.merge_tree.tasks import TaskPlan
from lithify.formats.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.formats.paimon.primary_key.merge_functions.lookup import Lookup
from lithify.formats.paimon.primary_key.merge_functions.partial_update import PartialUpdate
from lithify.formats.paimon.primary_key.merge_functions.superseding import Superseding
from lithify.formats.paimon.schema.schema import SYSTEM_COLUMNS, Schema


def function_of_rewrite(
    function: MergeFunction, unit: Unit, files: Iterable[DataFile], options: TableOptions
) -> MergeFunction:
    """The table's merge function for the files of one rewrite, with the run numbers that it needs set.

    Args:
        function: the table's merge function.
        unit: the unit of the files.
        files: the files that are merged.
        options: the table's options.
    """
    has_new = any(file.level == 0 for file in files)
    first_upper, first_known = len(unit.levels.level0), first_known_run(unit)
    if isinstance(function, FirstRow):
        return replace(function, looks_up=has_new, first_upper_run=first_upper, first_known_run=first_known)
    records = options.changelog.producer is ChangelogProducer.LOOKUP
    if options.vectors is not None:
        is_alone = first_known == len(unit.levels.runs)
        if not has_new or (is_alone and isinstance(function, Deduplicate) and not records):
            return function
        if not is_alone:
            merges = options.policy.looks_up or records
            return Superseding(_of_all_records(function), first_upper, first_known, merges_known=merges)
    if options.vectors is not None or options.changelog.looks_up:
        return Lookup(_of_all_records(function), has_new, first_upper, first_known)
    return function


def _of_all_records(function: MergeFunction) -> MergeFunction:
    """The function for merges that call it with what is left of each key, which may be a single record."""
    return replace(function, merges_lone=True) if isinstance(function, PartialUpdate) else function


def first_known_run(unit: Unit) -> int:
    """The number of the first run above the output level."""
    return sum(run.level <= unit.output_level for run in unit.levels.runs)


def files_of(unit: Unit, options: TableOptions) -> tuple[DataFile, ...]:
    """The files of a unit that are rewritten, upgraded, or in which keys are looked up."""
    policy = options.policy
    if not (policy.looks_up or policy.has_vectors or options.changelog.looks_up):
        return unit.inputs
    upper = (run.files for run in unit.levels.runs if run.level > unit.output_level)
    return (*unit.inputs, *chain.from_iterable(upper))


def looks_up(function: MergeFunction) -> bool:
    """Whether the merge looks up keys in levels above the output."""
    if isinstance(function, Superseding):
        return True
    return isinstance(function, FirstRow | Lookup) and function.looks_up


def known_columns(function: MergeFunction, schema: Schema) -> frozenset[str] | None:
    """The columns that are read where keys are looked up; None for all."""
    if isinstance(function, Lookup) or (isinstance(function, Superseding) and function.merges_known):
        return None
    return frozenset({*schema.primary_key, *SYSTEM_COLUMNS})


def known_runs(unit: Unit, part: TaskPlan) -> Iterator[tuple[DataFile, ...]]:
    """Runs above the output level, each restricted to files that may have keys of the task's new files."""
    files = new_files(part)
    if not files:
        return
    first, last = min(file.min_key for file in files), max(file.max_key for file in files)
    for run in unit.levels.runs:
        if run.level > unit.output_level:
            within = (file for file in run.files if file.min_key <= last and file.max_key >= first)
            touched = tuple(file for file in within if part.span.touches(file))
            if touched:
                yield touched


def new_files(part: TaskPlan) -> list[DataFile]:
    """The files of level 0 among those that a task merges; their keys are looked up."""
    return [file for section in part.sections for file in section.files if file.level == 0]


def known_run_number(unit: Unit, level: int) -> int:
    """The run number of a level that the unit has not picked."""
    return next(number for number, run in enumerate(unit.levels.runs) if run.level == level)


def in_one_section(part: TaskPlan) -> TaskPlan:
    """The task with its sections concatenated into one, so that lookup files are read only once."""
    runs = zip_longest(*(section.runs for section in part.sections), fillvalue=())
    joined = tuple(tuple(file for files in run for file in files) for run in runs)
    return replace(part, sections=(Section(joined),))
