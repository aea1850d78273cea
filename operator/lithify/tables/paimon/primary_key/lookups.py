"""Chooses the files in which a first-row merge looks up keys: those above the output level.

Called by `planning`. These files are neither inputs nor changed: a task reads only keys from the files
that overlap its key range, in the same pass as its inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from lithify.planning.merge_tree.plan import Unit
from lithify.planning.merge_tree.rewrites import Rewrite
from lithify.planning.merge_tree.sections import Section
from lithify.planning.merge_tree.tasks import TaskPlan
from lithify.rewriting.functions import MergeFunction
from lithify.tables.model import DataFile
from lithify.tables.paimon.primary_key.merge_functions.first_row import FirstRow


def function_of_rewrite(function: MergeFunction, unit: Unit, rewrite: Rewrite) -> MergeFunction:
    """The table's merge function for one rewrite, with the run numbers that it needs set."""
    if not isinstance(function, FirstRow):
        return function
    runs = unit.levels.runs
    return replace(
        function,
        looks_up=any(file.level == 0 for file in rewrite.files),
        first_upper_run=len(unit.levels.level0),
        first_known_run=sum(run.level <= unit.output_level for run in runs),
    )


def looks_up(function: MergeFunction) -> bool:
    """Whether the merge looks up keys in levels above the output."""
    return isinstance(function, FirstRow) and function.looks_up


def known_runs(unit: Unit, part: TaskPlan) -> Iterator[tuple[DataFile, ...]]:
    """Runs above the output level, each restricted to files that may have keys of the task."""
    files = [file for section in part.sections for file in section.files]
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
