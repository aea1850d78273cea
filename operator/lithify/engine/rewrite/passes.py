"""Merges any number of runs within a budget: runs that do not fit at once go through local disk.

Called by a run's tasks for each section. If the readers of all runs do not fit into the budget together,
the smallest runs are merged first into a run on disk, until the rest fits. Such a pass keeps every record
that the merge function may still need; the last one, which sees all runs, applies the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pyarrow as pa

from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.merge import (
    Record,
    forget,
    merge_cursors,
    reduce_cursors,
)
from lithify.engine.rewrite.runs import RunCursor, RunSource
from lithify.engine.rewrite.spec import MergeSpec
from lithify.engine.rewrite.spill import SpilledRun, spill


def merge_section(
    sources: Sequence[RunSource],
    spec: MergeSpec,
    budget: Budget,
    spill_folder: Path,
    keys: KeyRange = EVERYTHING,
    record: Record = forget,
) -> Iterator[pa.RecordBatch]:
    """Merges the runs of a section into the rows of the output, in key order.

    Args:
        sources: the runs; each is read once.
        spec: how rows are ordered and merged.
        budget: bytes to hold at a time.
        spill_folder: an existing local folder for runs on disk; they are deleted once read.
        keys: the part of the section to merge.
        record: receives the rows of the changelog, in key order.

    Raises:
        CorruptTable: a run is not sorted.
    """
    names = (spill_folder / f"run-{number}.arrow" for number in count())
    runs = sorted(sources, key=lambda run: run.size)
    while (together := _fitting(runs, budget)) < len(runs):
        small, runs = runs[:together], runs[together:]
        runs = sorted(
            [*runs, _merge_to_disk(small, spec, budget, next(names), keys)], key=lambda run: run.size
        )
    try:
        with _opened(runs, spec, budget, keys) as cursors:
            yield from (rows for rows in merge_cursors(cursors, spec, record) if rows.num_rows)
    finally:
        _delete_spilled(runs)


def _fitting(runs: Sequence[RunSource], budget: Budget) -> int:
    """The number of runs, from the first, that can be merged at once; at least two."""
    overheads = [run.overhead for run in runs]
    fitting = len(runs)
    while fitting > 2 and not budget.admits(overheads[:fitting]):
        fitting -= 1
    return fitting


@contextmanager
def _opened(
    runs: Sequence[RunSource], spec: MergeSpec, budget: Budget, keys: KeyRange
) -> Iterator[Sequence[RunCursor]]:
    piece_bytes = budget.piece_bytes([run.overhead for run in runs])
    cursors = [RunCursor(run, spec.layout, piece_bytes, keys) for run in runs]
    try:
        yield cursors
    finally:
        for cursor in cursors:
            cursor.close()


def _merge_to_disk(
    runs: Sequence[RunSource], spec: MergeSpec, budget: Budget, path: Path, keys: KeyRange
) -> SpilledRun:
    with _opened(runs, spec, budget, keys) as cursors:
        merged = spill(reduce_cursors(cursors, spec), path)
    _delete_spilled(runs)
    return merged


def _delete_spilled(runs: Sequence[RunSource]) -> None:
    for run in runs:
        if isinstance(run, SpilledRun):
            run.delete()
