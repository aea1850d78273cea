"""Chooses the merge function of a rewrite and the files in which it looks up keys.

Called by `planning`. The latter are the files above the output level. They are neither inputs nor changed: a
task reads those that overlap its key range in the same pass as its inputs, with first-row only their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest

from lithify.planning.merge_tree.plan import Unit
from lithify.planning.merge_tree.sections import Section
from lithify.planning.merge_tree.tasks import TaskPlan
from lithify.rewriting.functions import MergeFunction
from lithify.tables.model import DataFile
from lithify.tables.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.tables.paimon.primary_key.merge_functions.lookup import Lookup


def function_of_rewrite(
    function: MergeFunction, unit: Unit, files: Iterable[DataFile], *, looks_up: bool
) -> MergeFunction:
    """The table's merge function for the files of one rewrite, with the run numbers that it needs set.

    Args:
        function: the table's merge function.
        unit: the unit of the files.
        files: the files that are merged.
        looks_up: whether the table's compactions look up keys, with any merge engine.
    """
    has_new = any(file.level == 0 for file in files)
    first_upper, first_known = len(unit.levels.level0), _first_known_run(unit)
    if isinstance(function, FirstRow):
        return replace(function, looks_up=has_new, first_upper_run=first_upper, first_known_run=first_known)
    if not looks_up:
        return function
    return Lookup(function, has_new, first_upper, first_known)


def _first_known_run(unit: Unit) -> int:
    return sum(run.level <= unit.output_level for run in unit.levels.runs)


def looks_up(function: MergeFunction) -> bool:
    """Whether the merge looks up keys in levels above the output."""
    return isinstance(function, FirstRow | Lookup) and function.looks_up


def known_runs(unit: Unit, part: TaskPlan) -> Iterator[tuple[DataFile, ...]]:
    """Runs above the output level, each restricted to files that may have keys of the task's new files."""
    merged = (file for section in part.sections for file in section.files)
    files = [file for file in merged if file.level == 0]
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
