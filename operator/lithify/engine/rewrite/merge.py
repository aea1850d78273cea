"""The streaming k-way merge of sorted runs, vectorised by rounds.

Called by `passes` for every section. In each round everything at or below the smallest of the runs' last
buffered keys is complete: no run can still have a row of that range. Those rows are concatenated and ordered
by key, the merge function makes one record of each key, and the result is gathered, all in column kernels;
then all cursors are filled up again. Memory is what the cursors buffer, plus twice the round.

The order of records is key, then the layout's sequence fields. Records equal in all of these are ordered by
their run: that of the lower run number (the newer run) counts as newer, so the result does not depend on how
the merge is split into tasks and passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.offsets import concat, take
from lithify.columns.order import (
    IntPart,
    concat_parts,
    rank_rows,
    sorted_stably,
)
from lithify.engine.rewrite.changelog import ChangelogSpec, changes_of, changes_of_lone
from lithify.engine.rewrite.functions import LoneRecords, Merged, merge_groups
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask, RecordLayout
from lithify.engine.rewrite.runs import KeyedPiece, Piece, RunCursor
from lithify.engine.rewrite.spec import MergeSpec

_ONLY_RUN = 0

Record = Callable[[pa.RecordBatch], None]
"""Receives the rows of the changelog, in key order."""


def forget(changes: pa.RecordBatch) -> None:
    """Ignores the changelog."""
    del changes


def merge_cursors(
    cursors: Sequence[RunCursor], spec: MergeSpec, record: Record = forget
) -> Iterator[pa.RecordBatch]:
    """Merges all runs of a section: the results of the merge function, with strictly increasing keys.

    Args:
        cursors: the runs.
        spec: how records are merged, and how changes are recorded.
        record: receives the changes of each round before its results are yielded.

    Raises:
        CorruptTable: a run is not sorted.
        UnsupportedTable: a record has no order, or the function does not support it.
    """
    for taken in _rounds(cursors):
        yield from _merge_round(taken, spec, record)


def reduce_cursors(cursors: Sequence[RunCursor], spec: MergeSpec) -> Iterator[Piece]:
    """Merges some runs of a section into one: the records that the merge function still needs.

    They are ordered by key, sequence and run, and those of a key are always in one piece.

    Raises:
        CorruptTable: a run is not sorted.
        UnsupportedTable: a record has no order.
    """
    for taken in _rounds(cursors):
        yield from _reduce_round(taken, spec)


def merge_unsorted(batches: Sequence[pa.RecordBatch], spec: MergeSpec) -> Iterator[pa.RecordBatch]:
    """Merges rows of any order that are in memory: as `merge_cursors`.

    Sequence numbers must rise from row to row; fields before them in the layout's sequence need not.

    Raises:
        UnsupportedTable: the function does not support a record.
    """
    yield from _merged(_unsorted(batches, spec.layout), spec)


def reduce_unsorted(batches: Sequence[pa.RecordBatch], spec: MergeSpec) -> Iterator[Piece]:
    """Sorts rows of any order into a run of the records that the merge function still needs.

    As `reduce_cursors`; for the order of the rows see `merge_unsorted`.
    """
    yield from _reduced(_unsorted(batches, spec.layout), spec)


def _unsorted(batches: Sequence[pa.RecordBatch], layout: RecordLayout) -> list[KeyedPiece]:
    return [KeyedPiece(Piece(rows, _ONLY_RUN), layout.key_parts(rows)) for rows in batches]


def _rounds(cursors: Sequence[RunCursor]) -> Iterator[list[KeyedPiece]]:
    """The rows of each round: all records of all their keys."""
    while live := _filled(cursors):
        horizons = (cursor.horizon for cursor in live)
        horizon = min((key for key in horizons if key is not None), default=None)
        yield [piece for cursor in live for piece in cursor.take_upto(horizon)]


def _filled(cursors: Sequence[RunCursor]) -> list[RunCursor]:
    """Fills the cursors and returns those that have rows left."""
    for cursor in cursors:
        cursor.fill()
    return [cursor for cursor in cursors if not cursor.is_exhausted]


def _merge_round(taken: list[KeyedPiece], spec: MergeSpec, record: Record) -> Iterator[pa.RecordBatch]:
    """Makes one record per key; columns that are not compared are gathered once, at the end."""
    if len(taken) == 1 and _passes_by(taken[0].piece, spec):
        if spec.changelog is not None:
            changes = changes_of_lone(spec.changelog, spec.layout, taken[0].piece)
            if changes is not None:
                record(changes)
        yield _without_retractions(taken[0].piece.rows, spec)
    else:
        yield from _merged(taken, spec, record)


def _merged(taken: list[KeyedPiece], spec: MergeSpec, record: Record = forget) -> Iterator[pa.RecordBatch]:
    schema = taken[0].piece.rows.schema
    groups = _groups(taken, spec.layout)
    merged = merge_groups(spec.function, groups)
    if spec.changelog is not None:
        exists = ~_retracting(merged, groups)
        exists = exists if merged.kept is None else exists & merged.kept
        for changes in changes_of(spec.changelog, groups, merged, exists, schema):
            record(changes)
    if spec.drop_retractions:
        merged = merged.without(_retracting(merged, groups))
    merged = merged.compacted()
    yield from take(groups.rows, merged.records, schema, picked=merged.picked, computed=merged.computed)


def _reduce_round(taken: list[KeyedPiece], spec: MergeSpec) -> Iterator[Piece]:
    if len(taken) == 1:
        yield taken[0].piece
    else:
        yield from _reduced(taken, spec)


def _reduced(taken: list[KeyedPiece], spec: MergeSpec) -> Iterator[Piece]:
    schema = taken[0].piece.rows.schema
    groups = _groups(taken, spec.layout)
    needed = spec.function.reduce(groups)
    if needed is not None and spec.changelog is not None:
        needed = _with_previous(needed, groups, spec.changelog)
    places = groups.order if needed is None else needed
    begins = None if len(places) == len(groups) else _begins(groups, places)
    runs, start = groups.runs[places], 0
    for gathered in take(groups.rows, places, schema, begins=begins):
        stop = start + gathered.num_rows
        yield Piece(gathered, runs[start:stop], begins=None if begins is None else begins[start:stop])
        start = stop


def _groups(taken: list[KeyedPiece], layout: RecordLayout) -> Groups:
    """The rows of a round in groups; rows of older runs come first, so that they may be in order already.

    Empties `taken`: once the rows are concatenated, nothing may hold the pieces, or they would take memory
    until the next round.
    """
    taken.sort(key=lambda piece: -piece.piece.oldest_run)
    ranks = rank_rows(concat_parts([piece.keys for piece in taken]))
    pieces = [piece.piece for piece in taken]
    ordered, by_key = sorted_stably(ranks)
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    runs = np.concatenate([piece.run_numbers for piece in pieces])
    rises = _rises_by_run(pieces, layout)
    batches = [piece.rows for piece in pieces]
    taken.clear()
    pieces.clear()
    return Groups(concat(batches), layout, runs, by_key, starts, rises=rises)


def _rises_by_run(pieces: Sequence[Piece], layout: RecordLayout) -> bool:
    """Whether every record of a newer run has a higher sequence number than all of older runs.

    True unless several writers are at work. The order of the runs is then that of the records.
    """
    if len(layout.sequence) != 1 or not layout.sequence[0].ascending:
        return False
    highest = -(2**63)
    run: int | None = None
    floor = highest
    for piece in pieces:
        column = piece.rows.column(layout.sequence[0].name)
        if not isinstance(piece.run, int) or not pa.types.is_integer(column.type) or column.null_count:
            return False
        if piece.run != run:
            run, floor = piece.run, highest
        bounds = pc.min_max(column)
        if bounds["min"].as_py() <= floor:
            return False
        highest = max(highest, bounds["max"].as_py())
    return True


def _begins(groups: Groups, places: IntPart) -> Mask:
    """Mask of the records, in key order, that are the first ones of their group."""
    numbers = groups.numbers_of(places)
    return np.concatenate(([True], numbers[1:] != numbers[:-1]))


def _retracting(merged: Merged, groups: Groups) -> Mask:
    """Mask of the merged records that retract their key."""
    kinds = groups.layout.kinds
    if kinds is not None and kinds.column in merged.computed:
        return kinds.retracts(merged.computed[kinds.column])
    records = merged.records if kinds is None else merged.picked.get(kinds.column, merged.records)
    return groups.retracts[records]


def _with_previous(needed: IntPart, groups: Groups, changelog: ChangelogSpec) -> IntPart:
    """The needed records and those that the changelog needs, in the order of `groups.order`."""
    wanted = changelog.previous.needed(groups)
    wanted[needed] = True
    return groups.order[wanted[groups.order]]


def _passes_by(piece: Piece, spec: MergeSpec) -> bool:
    """Whether rows that no other run overlaps can be passed on without merging."""
    if piece.begins is not None or spec.function.lone_records is LoneRecords.MERGED:
        return False
    return spec.changelog is None or isinstance(piece.run, int)


def _without_retractions(rows: pa.RecordBatch, spec: MergeSpec) -> pa.RecordBatch:
    if not spec.drop_retractions:
        return rows
    dropped = spec.layout.retracts(rows)
    return rows.filter(pa.array(~dropped)) if dropped.any() else rows
