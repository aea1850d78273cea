"""Merging any number of runs within a budget: what does not fit at once goes through local disk.

Called by the job's tasks for each section. If the readers of all runs do not fit into the budget together,
the smallest runs are merged first into a run on disk, until the rest does fit.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

import pyarrow as pa

from lithify.rewriting.budget import Budget
from lithify.rewriting.merge import merge_cursors
from lithify.rewriting.runs import EVERYTHING, KeyRange, Piece, RunCursor, RunSource
from lithify.rewriting.spec import MergeSpec
from lithify.rewriting.spill import SpilledRun, spill


def merge_section(
    sources: Sequence[RunSource],
    spec: MergeSpec,
    budget: Budget,
    spill_folder: Path,
    keys: KeyRange = EVERYTHING,
) -> Iterator[pa.RecordBatch]:
    """Merges the runs of a section into the rows of the output, in key order.

    Args:
        sources: the runs; each is read once.
        spec: how rows are ordered and merged.
        budget: bytes to hold at a time.
        spill_folder: an existing local folder that this merge may fill; emptied as it goes.
        keys: the part of the section to merge.

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
        with closing(_merge(runs, spec, budget, keys, last_pass=True)) as pieces:
            yield from (piece.rows for piece in pieces if piece.rows.num_rows)
    finally:
        _delete_spilled(runs)


def _fitting(runs: Sequence[RunSource], budget: Budget) -> int:
    """How many of the runs, from the first, can be merged at once; never fewer than two."""
    overheads = [run.overhead for run in runs]
    fitting = len(runs)
    while fitting > 2 and not budget.admits(overheads[:fitting]):
        fitting -= 1
    return fitting


def _merge(
    runs: Sequence[RunSource], spec: MergeSpec, budget: Budget, keys: KeyRange, *, last_pass: bool
) -> Generator[Piece]:
    piece_bytes = budget.piece_bytes([run.overhead for run in runs])
    cursors = [RunCursor(run, spec, piece_bytes, keys) for run in runs]
    try:
        yield from merge_cursors(cursors, spec, last_pass=last_pass)
    finally:
        for cursor in cursors:
            cursor.close()


def _merge_to_disk(
    runs: Sequence[RunSource], spec: MergeSpec, budget: Budget, path: Path, keys: KeyRange
) -> SpilledRun:
    with closing(_merge(runs, spec, budget, keys, last_pass=False)) as pieces:
        merged = spill(pieces, path)
    _delete_spilled(runs)
    return merged


def _delete_spilled(runs: Sequence[RunSource]) -> None:
    for run in runs:
        if isinstance(run, SpilledRun):
            run.delete()
