"""The streaming k-way merge of sorted runs, vectorised by rounds.

Called by `passes` for every section. In each round everything at or below the smallest of the runs' last
buffered keys is complete: no run can still bring a row of that range. Those rows are put together, ordered
by key, reduced to one record a key and gathered, all in column kernels; then the runs that were emptied are
filled again. Memory is what the cursors buffer, plus twice the round.

The order of records is that of Paimon's `SortMergeReader`: key, then the user's sequence fields, then the
sequence number. Records equal in all of these are decided by their run: the lower run number (the newer run)
wins, so the outcome does not depend on how the merge is split into tasks and passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.rewriting.offsets import concat, take
from lithify.rewriting.order import IntPart, concat_parts, rank_rows
from lithify.rewriting.runs import KeyedPiece, Piece, RunCursor
from lithify.rewriting.spec import MergeSpec

Mask = npt.NDArray[np.bool_]


def merge_cursors(cursors: Sequence[RunCursor], spec: MergeSpec, *, last_pass: bool) -> Iterator[Piece]:
    """Merges runs into one run of strictly increasing keys.

    Records that retract their key are only removed by the last pass, the one that sees all runs.

    Raises:
        CorruptTable: a run is not sorted.
    """
    while live := _filled(cursors):
        horizon = min(cursor.horizon for cursor in live)
        yield from _merge_round(
            [piece for cursor in live for piece in cursor.take_upto(horizon)], spec, last_pass=last_pass
        )


def _filled(cursors: Sequence[RunCursor]) -> list[RunCursor]:
    """Fills the cursors that are empty and returns those that have rows left."""
    for cursor in cursors:
        cursor.fill()
    return [cursor for cursor in cursors if not cursor.is_exhausted]


@dataclass(frozen=True, slots=True)
class _Groups:
    """Rows in key order, in groups of equal keys.

    `order` lists row numbers in key order, `starts` the positions in it at which groups begin.
    """

    order: IntPart
    starts: IntPart

    @property
    def sizes(self) -> IntPart:
        return np.diff(self.starts, append=len(self.order))

    @property
    def ends(self) -> IntPart:
        return np.append(self.starts[1:], len(self.order))


def _merge_round(taken: list[KeyedPiece], spec: MergeSpec, *, last_pass: bool) -> Iterator[Piece]:
    """One record a key out of the rows of a round; the payload is gathered once, at the end."""
    if len(taken) == 1:
        yield _without_retracted(taken[0].piece, spec) if last_pass else taken[0].piece
        return
    taken.sort(key=lambda piece: -piece.piece.oldest_run)
    groups = _group_by_key(rank_rows(concat_parts([piece.keys for piece in taken])))
    rows = _concat([piece.piece for piece in taken])
    winners = groups.order[_last_of_each(groups, taken, rows, spec)]
    merged = _merged(rows, groups) if spec.ignore_deletes else None
    if last_pass:
        kept = ~_doomed(spec.retracts(rows.rows)[winners], merged, spec)
        winners, merged = winners[kept], None
    runs, start = rows.run_numbers[winners], 0
    for gathered in take(rows.rows, winners, taken[0].piece.rows.schema):
        stop = start + gathered.num_rows
        flags = None if merged is None else merged[start:stop]
        yield Piece(gathered, runs[start:stop], merged=flags)
        start = stop


def _group_by_key(ranks: IntPart) -> _Groups:
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return _Groups(order, starts)


def _last_of_each(groups: _Groups, taken: Sequence[KeyedPiece], rows: Piece, spec: MergeSpec) -> IntPart:
    """The position of the newest record of each group.

    The rows are in the order of their runs, oldest first, and stay so within a group. If the sequence numbers
    rise in the same order, as they do unless several writers are at work, the last row of a group is newest.
    """
    if _rises_by_run([piece.piece for piece in taken], spec):
        return groups.ends - 1
    sequence = _sequence(rows, spec)[groups.order]
    largest = np.repeat(np.maximum.reduceat(sequence, groups.starts), groups.sizes)
    return np.flatnonzero(sequence == largest)


def _rises_by_run(pieces: Sequence[Piece], spec: MergeSpec) -> bool:
    """Whether every record of a newer run has a higher sequence number than any of the older ones."""
    if spec.sequence_fields or spec.ignore_deletes:
        return False
    highest = -(2**63)
    run: int | None = None
    floor = highest
    for piece in pieces:
        if not isinstance(piece.run, int):
            return False
        if piece.run != run:
            run, floor = piece.run, highest
        bounds = pc.min_max(piece.rows.column(spec.sequence_number))
        if bounds["min"].as_py() <= floor:
            return False
        highest = max(highest, bounds["max"].as_py())
    return True


def _sequence(rows: Piece, spec: MergeSpec) -> IntPart:
    """One number a row: among the records of a key the largest wins, and no two of them are equal."""
    parts = [*spec.sequence_parts(rows.rows), -rows.run_numbers]
    if spec.ignore_deletes:
        parts.insert(0, (~spec.retracts(rows.rows)).astype(np.int64))
    return rank_rows(parts)


def _merged(rows: Piece, groups: _Groups) -> Mask:
    """Which records stand for several, now or from an earlier pass."""
    merged = groups.sizes > 1
    if rows.merged is not None:
        merged |= np.logical_or.reduceat(rows.merged[groups.order], groups.starts)
    return merged


def _doomed(retracts: Mask, merged: Mask | None, spec: MergeSpec) -> Mask:
    """Which records must not reach the output.

    With `ignore-delete` a lone delete passes but several deletes of a key leave nothing, as in Paimon's
    `ReducerMergeFunctionWrapper`; a pass over some of the runs cannot tell, so only the last one decides.
    """
    if spec.drop_deletes:
        return retracts
    return np.zeros_like(retracts) if merged is None else retracts & merged


def _without_retracted(piece: Piece, spec: MergeSpec) -> Piece:
    doomed = _doomed(spec.retracts(piece.rows), piece.merged, spec)
    if not doomed.any():
        return piece
    return Piece(piece.rows.filter(pa.array(~doomed)), piece.run_numbers[~doomed], piece.origin)


def _concat(pieces: Sequence[Piece]) -> Piece:
    merged = None
    if any(piece.merged is not None for piece in pieces):
        merged = np.concatenate([_flags(piece) for piece in pieces])
    return Piece(
        rows=concat([piece.rows for piece in pieces]),
        run=np.concatenate([piece.run_numbers for piece in pieces]),
        merged=merged,
    )


def _flags(piece: Piece) -> Mask:
    return np.zeros(piece.rows.num_rows, dtype=bool) if piece.merged is None else piece.merged
