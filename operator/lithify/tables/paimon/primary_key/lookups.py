"""Chooses the files in which a merge looks up keys: those above the output level.

Called by `planning` for tables with first-row or deletion vectors. These files are neither inputs nor
changed: a task reads them in the same pass as its inputs, only those that overlap its key range, and often
only their keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from lithify.planning.merge_tree.plan import Unit
from lithify.planning.merge_tree.rewrites import Rewrite
from lithify.planning.merge_tree.sections import Section
from lithify.planning.merge_tree.tasks import TaskPlan
from lithify.rewriting.functions import Deduplicate, MergeFunction
from lithify.tables.model import DataFile
from lithify.tables.paimon.options.table_options import TableOptions
from lithify.tables.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.tables.paimon.primary_key.merge_functions.superseding import Superseding
from lithify.tables.paimon.schema.schema import SYSTEM_COLUMNS, Schema


def function_of_rewrite(
    function: MergeFunction, unit: Unit, rewrite: Rewrite, options: TableOptions
) -> MergeFunction:
    """The table's merge function for one rewrite, with the run numbers that it needs set."""
    runs = unit.levels.runs
    looks_up = any(file.level == 0 for file in rewrite.files)
    first_upper_run = len(unit.levels.level0)
    first_known_run = sum(run.level <= unit.output_level for run in runs)
    if isinstance(function, FirstRow):
        return replace(
            function, looks_up=looks_up, first_upper_run=first_upper_run, first_known_run=first_known_run
        )
    is_lone_unchanged = first_known_run == len(runs) and isinstance(function, Deduplicate)
    if options.vectors is None or not looks_up or is_lone_unchanged:
        return function
    return Superseding(function, first_upper_run, first_known_run, merges_known=options.policy.looks_up)


def looks_up(function: MergeFunction) -> bool:
    """Whether the merge looks up keys in levels above the output."""
    return isinstance(function, Superseding) or (isinstance(function, FirstRow) and function.looks_up)


def known_columns(function: MergeFunction, schema: Schema) -> frozenset[str] | None:
    """The columns that are read where keys are looked up; None for all."""
    if isinstance(function, Superseding) and function.merges_known:
        return None
    return frozenset({*schema.primary_key, *SYSTEM_COLUMNS})


def known_runs(unit: Unit, part: TaskPlan) -> Iterator[tuple[DataFile, ...]]:
    """Runs above the output level, each restricted to files that may have the level-0 keys of the task."""
    files = [file for section in part.sections for file in section.files if file.level == 0]
    if not files:
        return
    first, last = min(file.min_key for file in files), max(file.max_key for file in files)
    for run in unit.levels.runs:
        if run.level > unit.output_level:
            within = (file for file in run.files if file.min_key <= last and file.max_key >= first)
            touched = tuple(file for file in within if part.span.touches(file))
            if touched:
                yield touched


def known_run_number(unit: Unit, level: int) -> int:
    """The run number of a level that the unit has not picked."""
    return next(number for number, run in enumerate(unit.levels.runs) if run.level == level)


def in_one_section(part: TaskPlan) -> TaskPlan:
    """The task with its sections concatenated into one, so that lookup files are read only once."""
    runs = zip_longest(*(section.runs for section in part.sections), fillvalue=())
    joined = tuple(tuple(file for files in run for file in files) for run in runs)
    return replace(part, sections=(Section(joined),))
